//! One start of the program: its input and its output.

use std::ffi::OsString;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;

use serde_json::Value;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::process::{Child, ChildStdout, Command};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use crate::mask;
use crate::sandbox::{Sandbox, WAIT_MAX};

/// The few tools that the program may look for; the tester's own path is not used.
const PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// The variable that tells the program with failpoints (`src/bin/failpoints.rs`) at which of them to kill itself, from
/// 1.
pub const KILL_AT: &str = "TESTKIT_KILL_AT";
/// The variable that tells the same program to write no file of a run while a file with this name exists.
pub const FREEZE_FILES: &str = "TESTKIT_FREEZE_FILES";
/// What it prints to stderr before it kills itself; `before append` and the like follow.
pub const KILLED: &str = "killed ";

/// Bytes read from a pipe at once.
const PIECE_BYTES: usize = 64 * 1024;

/// The program, ready to start.
pub struct Call<'a> {
    sandbox: &'a Sandbox,
    command: Command,
    stdin: Option<Vec<u8>>,
    listens: bool,
    closes_stdout: bool,
    ignores_stdout: bool,
}

impl Sandbox {
    /// The program with these arguments, ready to start.
    pub fn call<A: AsRef<str>>(&self, arguments: impl IntoIterator<Item = A>) -> Call<'_> {
        Call::new(self, arguments)
    }
}

/// Where a program built to measure coverage writes which lines it ran: all that it gets of the tests' own environment.
#[expect(clippy::disallowed_methods, reason = "the tests' environment, not the program's")]
fn coverage_profile() -> Option<(&'static str, OsString)> {
    const VARIABLE: &str = "LLVM_PROFILE_FILE";
    std::env::var_os(VARIABLE).map(|file| (VARIABLE, file))
}

impl<'a> Call<'a> {
    fn new<A: AsRef<str>>(sandbox: &'a Sandbox, arguments: impl IntoIterator<Item = A>) -> Self {
        let mut command = Command::new(sandbox.binary());
        command
            .args(arguments.into_iter().map(|argument| argument.as_ref().to_owned()))
            .env_clear()
            .env("HOME", sandbox.home())
            .env("PATH", PATH)
            .env("OPENROUTER_BASE_URL", sandbox.simulator().base_url())
            .env("OPENROUTER_API_KEY", sandbox.simulator().api_key())
            .envs(coverage_profile())
            .current_dir(sandbox.home())
            .kill_on_drop(true);
        Self { sandbox, command, stdin: None, listens: false, closes_stdout: false, ignores_stdout: false }
    }

    pub(crate) const fn sandbox(&self) -> &'a Sandbox {
        self.sandbox
    }

    pub(crate) fn command(&self) -> &std::process::Command {
        self.command.as_std()
    }

    /// One more argument.
    #[must_use]
    pub fn arg(mut self, argument: &str) -> Self {
        self.command.arg(argument);
        self
    }

    /// Several more arguments.
    #[must_use]
    pub fn args<A: AsRef<str>>(mut self, arguments: impl IntoIterator<Item = A>) -> Self {
        self.command.args(arguments.into_iter().map(|argument| argument.as_ref().to_owned()));
        self
    }

    /// An environment variable, by its full name.
    #[must_use]
    pub fn env(mut self, name: &str, value: &str) -> Self {
        self.command.env(name, value);
        self
    }

    /// Removes an environment variable.
    #[must_use]
    pub fn without(mut self, name: &str) -> Self {
        self.command.env_remove(name);
        self
    }

    /// Settings by their names in the configuration file, each set in the environment.
    #[must_use]
    pub fn settings<'s>(mut self, settings: impl IntoIterator<Item = (&'s str, &'s str)>) -> Self {
        for (name, value) in settings {
            self.command.env(format!("PARALLEL_LLM_{}", name.to_uppercase()), value);
        }
        self
    }

    /// Leaves stdin open, for [`Running::send_line`].
    #[must_use]
    pub const fn listening(mut self) -> Self {
        self.listens = true;
        self
    }

    /// Starts in this folder below the home.
    #[must_use]
    pub fn folder(mut self, name: &str) -> Self {
        self.command.current_dir(self.sandbox.home().join(name));
        self
    }

    /// What the program reads from stdin; nothing by default.
    #[must_use]
    pub fn stdin(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.stdin = Some(bytes.into());
        self
    }

    /// Runs on a terminal, if the machine has the tool `script`: all output is then on stdout.
    #[must_use]
    pub fn on_terminal(mut self) -> Option<Self> {
        const SCRIPT: &str = "/usr/bin/script";
        if !std::path::Path::new(SCRIPT).is_file() {
            return None;
        }
        let plain = self.command.as_std();
        let words = std::iter::once(plain.get_program()).chain(plain.get_args());
        let quoted = words.map(|word| format!("'{}'", word.to_string_lossy().replace('\'', r"'\''")));
        let line = quoted.collect::<Vec<_>>().join(" ");
        let mut command = Command::new(SCRIPT);
        command.args(["-qec", &line, "/dev/null"]).env_clear().kill_on_drop(true);
        command.envs(plain.get_envs().filter_map(|(name, value)| Some((name, value?))));
        command.env("TERM", "xterm").current_dir(plain.get_current_dir().unwrap_or(self.sandbox.home()));
        self.command = command;
        Some(self)
    }

    /// Runs this shell command first, such as `ulimit -f 0`, and then becomes the program, which inherits the effect.
    #[must_use]
    pub fn under(mut self, first: &str) -> Self {
        let plain = self.command.as_std();
        let mut command = Command::new("/bin/sh");
        command
            .args(["-c", &format!("{first}; exec \"$0\" \"$@\"")])
            .arg(plain.get_program())
            .args(plain.get_args());
        command
            .env_clear()
            .kill_on_drop(true)
            .current_dir(plain.get_current_dir().unwrap_or(self.sandbox.home()));
        command.envs(plain.get_envs().filter_map(|(name, value)| Some((name, value?))));
        self.command = command;
        self
    }

    /// Closes the reading end of stdout at once, as `| head -c 0` does.
    #[must_use]
    pub fn closes_stdout(mut self) -> Self {
        self.closes_stdout = true;
        self
    }

    /// Leaves stdout open and never reads it, as a pager does while nobody scrolls.
    #[must_use]
    pub const fn ignores_stdout(mut self) -> Self {
        self.ignores_stdout = true;
        self
    }

    /// Starts the program and waits for its end.
    pub fn run(self) -> Output {
        self.start().wait()
    }

    /// Starts the program.
    pub fn start(mut self) -> Running<'a> {
        let stdin = if self.stdin.is_some() || self.listens { Stdio::piped() } else { Stdio::null() };
        self.command.stdin(stdin).stdout(Stdio::piped()).stderr(Stdio::piped());
        // A child and its pipes belong to the runtime they are made in.
        let _inside = self.sandbox.runtime.enter();
        let mut child = self.command.spawn().expect("the program starts");
        if let Some(bytes) = self.stdin
            && let Some(mut pipe) = child.stdin.take()
        {
            self.sandbox.runtime.spawn(async move {
                // The program may stop reading early.
                let _ = pipe.write_all(&bytes).await;
            });
        }
        let stdout = child.stdout.take().filter(|_| !self.closes_stdout);
        let (ignores_stdout, stdout) = if self.ignores_stdout { (stdout, None) } else { (None, stdout) };
        let stdout = PipeReader { _unread: ignores_stdout, ..PipeReader::of(self.sandbox, stdout) };
        let stderr = PipeReader::of(self.sandbox, child.stderr.take());
        Running { sandbox: self.sandbox, child, stdout, stderr }
    }
}

/// Collects what comes out of a pipe.
struct PipeReader {
    bytes: Arc<Mutex<Vec<u8>>>,
    reading: JoinHandle<()>,
    /// Only held open.
    _unread: Option<ChildStdout>,
}

impl PipeReader {
    fn of(sandbox: &Sandbox, pipe: Option<impl AsyncRead + Unpin + Send + 'static>) -> Self {
        let bytes = Arc::new(Mutex::new(Vec::new()));
        let received = Arc::clone(&bytes);
        let reading = sandbox.runtime.spawn(async move {
            let Some(mut pipe) = pipe else { return };
            let mut piece = vec![0; PIECE_BYTES];
            // What came before a pipe broke is kept.
            while let Ok(length @ 1..) = pipe.read(&mut piece).await {
                received.lock().extend_from_slice(&piece[..length]);
            }
        });
        Self { bytes, reading, _unread: None }
    }

    async fn whole(self) -> Vec<u8> {
        self.reading.await.expect("a pipe is read to its end");
        std::mem::take(&mut *self.bytes.lock())
    }
}

/// A running program. It is killed when dropped.
pub struct Running<'a> {
    sandbox: &'a Sandbox,
    child: Child,
    stdout: PipeReader,
    stderr: PipeReader,
}

impl Running<'_> {
    /// stdout so far.
    pub fn stdout_so_far(&self) -> String {
        String::from_utf8_lossy(&self.stdout.bytes.lock()).into_owned()
    }

    /// stderr so far.
    pub fn stderr_so_far(&self) -> String {
        String::from_utf8_lossy(&self.stderr.bytes.lock()).into_owned()
    }

    /// Its arguments, as every user of the machine can list them.
    #[cfg(target_os = "linux")]
    pub fn command_line(&self) -> Vec<u8> {
        let id = self.child.id().expect("the program is under way");
        std::fs::read(format!("/proc/{id}/cmdline")).expect("a program under way is listed")
    }

    /// Sends a line to the program, which must be [listening](Call::listening).
    pub fn send_line(&mut self, line: &str) {
        let stdin = self.child.stdin.as_mut().expect("stdin is open");
        let written = self.sandbox.runtime.block_on(stdin.write_all(format!("{line}\n").as_bytes()));
        written.expect("the program reads");
    }

    /// Limits the size of the program's files from now on, or removes the limit: a full disk, and one with room.
    #[cfg(target_os = "linux")]
    pub fn limit_files(&self, bytes: Option<u64>) {
        self.limit(rustix::process::Resource::Fsize, bytes);
    }

    /// Limits the number of the program's open files and sockets from now on, or removes the limit. Those already open
    /// stay.
    #[cfg(target_os = "linux")]
    pub fn limit_open_files(&self, count: Option<u64>) {
        self.limit(rustix::process::Resource::Nofile, count);
    }

    #[cfg(target_os = "linux")]
    fn limit(&self, resource: rustix::process::Resource, current: Option<u64>) {
        use rustix::process::{Pid, Rlimit, getrlimit, prlimit};
        let id = self.child.id().and_then(|id| Pid::from_raw(id.try_into().ok()?));
        let maximum = getrlimit(resource).maximum;
        let limit = Rlimit { current: current.or(maximum), maximum };
        prlimit(Some(id.expect("the program is under way")), resource, limit).expect("its limit can be set");
    }

    /// Sends a signal by its name, such as `INT`, `TERM` or `KILL`.
    pub fn signal(&self, name: &str) {
        let id = self.child.id().expect("the program is under way").to_string();
        let sent = std::process::Command::new("sh").args(["-c", "kill -s \"$0\" \"$1\"", name, &id]).status();
        assert!(sent.is_ok_and(|status| status.success()), "the signal {name} cannot be sent");
    }

    /// Kills the program after this time, unless it has ended by then, and waits for its end.
    pub fn kill_after(mut self, time: Duration) -> Output {
        let ended = self.sandbox.runtime.block_on(async { timeout(time, self.child.wait()).await.is_ok() });
        if !ended {
            self.child.start_kill().expect("a child that was not waited for can be killed");
        }
        self.wait()
    }

    /// Waits for the end; a program that does not end is killed, and the test fails.
    pub fn wait(mut self) -> Output {
        let ended = self.sandbox.runtime.block_on(async {
            let ended = timeout(WAIT_MAX, self.child.wait()).await;
            if ended.is_err() {
                let _ = self.child.kill().await;
            }
            (ended, self.stdout.whole().await, self.stderr.whole().await)
        });
        let (status, stdout, stderr) = ended;
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let Ok(Ok(status)) = status else {
            panic!("the program did not end; it said:\n{}\n{}", text(&stdout), text(&stderr));
        };
        let placeholders = mask::Placeholders::of(self.sandbox);
        Output {
            code: status.code(),
            stderr: text(&stderr),
            stdout,
            key: self.sandbox.simulator().api_key().to_owned(),
            placeholders,
        }
    }
}

/// The output of a program that has ended.
pub struct Output {
    /// The exit code; `None` after a signal that it did not handle.
    pub code: Option<i32>,
    /// stdout, exactly.
    pub stdout: Vec<u8>,
    /// stderr.
    pub stderr: String,
    pub(crate) key: String,
    pub(crate) placeholders: mask::Placeholders,
}

impl Output {
    /// stdout as text.
    pub fn text(&self) -> &str {
        std::str::from_utf8(&self.stdout).expect("stdout is UTF-8")
    }

    /// stdout as one JSON value.
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.stdout).unwrap_or_else(|error| {
            panic!("stdout is no JSON: {error}\n{}\n{}", String::from_utf8_lossy(&self.stdout), self.stderr)
        })
    }

    /// stdout as JSON values, one per line.
    pub fn json_lines(&self) -> Vec<Value> {
        let read = |line| serde_json::from_str(line).expect("each line is one JSON value");
        self.text().lines().map(read).collect()
    }

    /// The exit code and both streams, with placeholders for what differs from run to run.
    pub fn transcript(&self) -> String {
        let code = self.code.map_or_else(|| "none".to_owned(), |code| code.to_string());
        let transcript = format!("exit {code}\n--- stdout\n{}--- stderr\n{}", self.text(), self.stderr);
        self.placeholders.mask(&transcript)
    }

    /// stderr without the lines that report events as they happen, with placeholders.
    pub fn summary(&self) -> String {
        let lines = self.stderr.lines().filter(|line| !line.starts_with('[') && !line.is_empty());
        self.placeholders.mask(&lines.collect::<Vec<_>>().join("\n"))
    }

    /// A text with placeholders for what differs from run to run.
    pub fn masked(&self, text: &str) -> String {
        self.placeholders.mask(text)
    }
}
