//! One start of the program: what it is given, and what it said.

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
use crate::stage::{Stage, WAIT_MAX};

/// Where the few tools are that the program may look for; the tester's own path stays outside.
const PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// Tells the program with failpoints (`src/bin/failpoints.rs`) at which of them it kills itself, the first being 1.
pub const KILL_AT: &str = "TESTKIT_KILL_AT";
/// Tells the same program that no file of a run is written while there is a file of this name.
pub const FREEZE_FILES: &str = "TESTKIT_FREEZE_FILES";
/// What it says on stderr before it does; `before append` and the like follow.
pub const KILLED: &str = "killed ";

/// Bytes read from a pipe at once.
const PIECE_BYTES: usize = 64 * 1024;

/// The program, ready to start.
pub struct Call<'a> {
    stage: &'a Stage,
    command: Command,
    stdin: Option<Vec<u8>>,
    listens: bool,
    deaf: bool,
    unread: bool,
}

impl Stage {
    /// The program with these arguments, ready to start.
    pub fn call<A: AsRef<str>>(&self, arguments: impl IntoIterator<Item = A>) -> Call<'_> {
        Call::new(self, arguments)
    }
}

impl<'a> Call<'a> {
    fn new<A: AsRef<str>>(stage: &'a Stage, arguments: impl IntoIterator<Item = A>) -> Self {
        let mut command = Command::new(stage.binary());
        command
            .args(arguments.into_iter().map(|argument| argument.as_ref().to_owned()))
            .env_clear()
            .env("HOME", stage.home())
            .env("PATH", PATH)
            .env("OPENROUTER_BASE_URL", stage.simulator().base_url())
            .env("OPENROUTER_API_KEY", stage.simulator().api_key())
            .current_dir(stage.home())
            .kill_on_drop(true);
        Self { stage, command, stdin: None, listens: false, deaf: false, unread: false }
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

    /// A variable of the environment, by its full name.
    #[must_use]
    pub fn env(mut self, name: &str, value: &str) -> Self {
        self.command.env(name, value);
        self
    }

    /// The environment without this variable.
    #[must_use]
    pub fn without(mut self, name: &str) -> Self {
        self.command.env_remove(name);
        self
    }

    /// Settings by their names in files, each put into the environment.
    #[must_use]
    pub fn settings<'s>(mut self, settings: impl IntoIterator<Item = (&'s str, &'s str)>) -> Self {
        for (name, value) in settings {
            self.command.env(format!("PARALLEL_LLM_{}", name.to_uppercase()), value);
        }
        self
    }

    /// Leaves stdin open, for [`Running::say`].
    #[must_use]
    pub const fn listening(mut self) -> Self {
        self.listens = true;
        self
    }

    /// Starts in this folder below the home.
    #[must_use]
    pub fn folder(mut self, name: &str) -> Self {
        self.command.current_dir(self.stage.home().join(name));
        self
    }

    /// What the program reads from stdin; nothing unless given.
    #[must_use]
    pub fn stdin(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.stdin = Some(bytes.into());
        self
    }

    /// On a terminal of its own, where the machine has `script`, the tool that makes one: all that is said, and drawn,
    /// is then on stdout.
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
        command.env("TERM", "xterm").current_dir(plain.get_current_dir().unwrap_or(self.stage.home()));
        self.command = command;
        Some(self)
    }

    /// In a shell that does this first, such as `ulimit -f 0`, and then becomes the program: what a process inherits.
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
            .current_dir(plain.get_current_dir().unwrap_or(self.stage.home()));
        command.envs(plain.get_envs().filter_map(|(name, value)| Some((name, value?))));
        self.command = command;
        self
    }

    /// Closes the reading end of stdout at once, as `| head -c 0` does.
    #[must_use]
    pub fn deaf(mut self) -> Self {
        self.deaf = true;
        self
    }

    /// Leaves stdout open and never reads it, as a pager does that nobody turns the pages of.
    #[must_use]
    pub const fn unread(mut self) -> Self {
        self.unread = true;
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
        let _inside = self.stage.runtime.enter();
        let mut child = self.command.spawn().expect("the program starts");
        if let Some(bytes) = self.stdin
            && let Some(mut pipe) = child.stdin.take()
        {
            self.stage.runtime.spawn(async move {
                // A program that stops reading has its reasons.
                let _ = pipe.write_all(&bytes).await;
            });
        }
        let stdout = child.stdout.take().filter(|_| !self.deaf);
        let (unread, stdout) = if self.unread { (stdout, None) } else { (None, stdout) };
        let stdout = Heard { _unread: unread, ..Heard::of(self.stage, stdout) };
        let stderr = Heard::of(self.stage, child.stderr.take());
        Running { stage: self.stage, child, stdout, stderr }
    }
}

/// What comes out of a pipe, as it comes.
struct Heard {
    bytes: Arc<Mutex<Vec<u8>>>,
    reading: JoinHandle<()>,
    /// Held open.
    _unread: Option<ChildStdout>,
}

impl Heard {
    fn of(stage: &Stage, pipe: Option<impl AsyncRead + Unpin + Send + 'static>) -> Self {
        let bytes = Arc::new(Mutex::new(Vec::new()));
        let heard = Arc::clone(&bytes);
        let reading = stage.runtime.spawn(async move {
            let Some(mut pipe) = pipe else { return };
            let mut piece = vec![0; PIECE_BYTES];
            // What was said before a pipe broke is what was said.
            while let Ok(length @ 1..) = pipe.read(&mut piece).await {
                heard.lock().extend_from_slice(&piece[..length]);
            }
        });
        Self { bytes, reading, _unread: None }
    }

    async fn whole(self) -> Vec<u8> {
        self.reading.await.expect("a pipe is read to its end");
        std::mem::take(&mut *self.bytes.lock())
    }
}

/// A program under way. It is killed when dropped.
pub struct Running<'a> {
    stage: &'a Stage,
    child: Child,
    stdout: Heard,
    stderr: Heard,
}

impl Running<'_> {
    /// stdout so far.
    pub fn said(&self) -> String {
        String::from_utf8_lossy(&self.stdout.bytes.lock()).into_owned()
    }

    /// Its arguments, as every user of the machine can list them.
    #[cfg(target_os = "linux")]
    pub fn command_line(&self) -> Vec<u8> {
        let id = self.child.id().expect("the program is under way");
        std::fs::read(format!("/proc/{id}/cmdline")).expect("a program under way is listed")
    }

    /// Sends a line to the program, which must be [listening](Call::listening).
    pub fn say(&mut self, line: &str) {
        let stdin = self.child.stdin.as_mut().expect("stdin is open");
        let written = self.stage.runtime.block_on(stdin.write_all(format!("{line}\n").as_bytes()));
        written.expect("the program reads");
    }

    /// Lets no file of the program grow beyond so many bytes from now on, or as far as it likes again: a disk that is
    /// full, and one that has room. The program must ignore the signal `XFSZ`.
    #[cfg(target_os = "linux")]
    pub fn limit_files(&self, bytes: Option<u64>) {
        self.limit(rustix::process::Resource::Fsize, bytes);
    }

    /// Lets the program have so many files and sockets open from now on, or as many as it likes again. Those it has
    /// already stay.
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

    /// Kills the program at this moment after now, unless it has ended by then, and waits for its end.
    pub fn kill_after(mut self, time: Duration) -> Output {
        let ended = self.stage.runtime.block_on(async { timeout(time, self.child.wait()).await.is_ok() });
        if !ended {
            self.child.start_kill().expect("a child that was not waited for can be killed");
        }
        self.wait()
    }

    /// Waits for the end; a program that does not end is killed, and the test fails.
    pub fn wait(mut self) -> Output {
        let ended = self.stage.runtime.block_on(async {
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
        let places = mask::Places::of(self.stage);
        Output {
            code: status.code(),
            stderr: text(&stderr),
            stdout,
            key: self.stage.simulator().api_key().to_owned(),
            places,
        }
    }
}

/// What a program that has ended said.
pub struct Output {
    /// The exit code; `None` after a signal that it did not handle.
    pub code: Option<i32>,
    /// stdout, exactly.
    pub stdout: Vec<u8>,
    /// stderr.
    pub stderr: String,
    pub(crate) key: String,
    pub(crate) places: mask::Places,
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

    /// stdout as JSON values, one a line.
    pub fn json_lines(&self) -> Vec<Value> {
        let read = |line| serde_json::from_str(line).expect("each line is one JSON value");
        self.text().lines().map(read).collect()
    }

    /// The exit code, then both streams, with placeholders for what differs from run to run.
    pub fn told(&self) -> String {
        let code = self.code.map_or_else(|| "none".to_owned(), |code| code.to_string());
        let told = format!("exit {code}\n--- stdout\n{}--- stderr\n{}", self.text(), self.stderr);
        self.places.mask(&told)
    }

    /// stderr without the lines that tell events as they happen, with placeholders.
    pub fn summary(&self) -> String {
        let lines = self.stderr.lines().filter(|line| !line.starts_with('[') && !line.is_empty());
        self.places.mask(&lines.collect::<Vec<_>>().join("\n"))
    }

    /// A text with placeholders for what differs from run to run.
    pub fn masked(&self, text: &str) -> String {
        self.places.mask(text)
    }
}
