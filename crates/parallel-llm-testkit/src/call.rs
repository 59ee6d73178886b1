//! One start of the program: what it is given, and what it said.

use std::process::Stdio;

use serde_json::Value;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::process::{Child, Command};
use tokio::task::JoinHandle;

use crate::mask;
use crate::stage::{Stage, WAIT_MAX};

/// Where the few tools are that the program may look for; the tester's own path stays outside.
const PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// The program, ready to start.
pub struct Call<'a> {
    stage: &'a Stage,
    command: Command,
    stdin: Option<Vec<u8>>,
    deaf: bool,
}

impl<'a> Call<'a> {
    pub(crate) fn new<A: AsRef<str>>(stage: &'a Stage, arguments: impl IntoIterator<Item = A>) -> Self {
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
        Self { stage, command, stdin: None, deaf: false }
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

    /// What the program reads from stdin; nothing unless given.
    #[must_use]
    pub fn stdin(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.stdin = Some(bytes.into());
        self
    }

    /// Closes the reading end of stdout at once, as `| head -c 0` does.
    #[must_use]
    pub fn deaf(mut self) -> Self {
        self.deaf = true;
        self
    }

    /// Starts the program and waits for its end.
    pub fn run(self) -> Output {
        self.start().wait()
    }

    /// Starts the program.
    pub fn start(mut self) -> Running<'a> {
        let stdin = if self.stdin.is_some() { Stdio::piped() } else { Stdio::null() };
        self.command.stdin(stdin).stdout(Stdio::piped()).stderr(Stdio::piped());
        // A child and its pipes belong to the runtime they are made in.
        let _inside = self.stage.runtime.enter();
        let mut child = self.command.spawn().expect("the program starts");
        if let (Some(bytes), Some(mut pipe)) = (self.stdin, child.stdin.take()) {
            self.stage.runtime.spawn(async move {
                // A program that stops reading has its reasons.
                let _ = pipe.write_all(&bytes).await;
            });
        }
        let stdout = child.stdout.take().filter(|_| !self.deaf);
        let (stdout, stderr) = (self.stage.collect(stdout), self.stage.collect(child.stderr.take()));
        Running { stage: self.stage, child, stdout, stderr }
    }
}

impl Stage {
    fn collect(&self, pipe: Option<impl AsyncRead + Unpin + Send + 'static>) -> JoinHandle<Vec<u8>> {
        self.runtime.spawn(async move {
            let mut bytes = Vec::new();
            if let Some(mut pipe) = pipe {
                // What was said before a pipe broke is what was said.
                let _ = pipe.read_to_end(&mut bytes).await;
            }
            bytes
        })
    }
}

/// A program under way. It is killed when dropped.
pub struct Running<'a> {
    stage: &'a Stage,
    child: Child,
    stdout: JoinHandle<Vec<u8>>,
    stderr: JoinHandle<Vec<u8>>,
}

impl Running<'_> {
    /// Sends a signal by its name, such as `INT`, `TERM` or `KILL`.
    pub fn signal(&self, name: &str) {
        let id = self.child.id().expect("the program is under way").to_string();
        let sent = std::process::Command::new("sh").args(["-c", "kill -s \"$0\" \"$1\"", name, &id]).status();
        assert!(sent.is_ok_and(|status| status.success()), "the signal {name} cannot be sent");
    }

    /// Waits for the end; a program that does not end is killed, and the test fails.
    pub fn wait(mut self) -> Output {
        let ended = self.stage.runtime.block_on(async {
            let ended = tokio::time::timeout(WAIT_MAX, self.child.wait()).await;
            if ended.is_err() {
                let _ = self.child.kill().await;
            }
            let stdout = (&mut self.stdout).await.expect("a pipe is read to its end");
            let stderr = (&mut self.stderr).await.expect("a pipe is read to its end");
            (ended, stdout, stderr)
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
