//! Runs other programs from the repository's root, with stdin closed and a deadline.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::failure::Failure;
use crate::{repository, say};

/// Default time limit of a program. A clean `cargo xtask ci` must end within 40 minutes, so no part of it may take 30.
const MINUTES_MAX: u64 = 30;

/// The beginnings of the variables by which Cargo describes a program to itself.
const OF_CARGO: [&str; 2] = ["CARGO_MANIFEST_", "CARGO_PKG_"];

/// How often a running program is polled.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// A program about to run.
#[derive(Debug)]
pub(crate) struct Program {
    command: Command,
    shown: String,
    time_limit: Duration,
}

impl Program {
    /// `path` without arguments.
    pub(crate) fn new(path: impl AsRef<OsStr>) -> Self {
        let shown =
            Path::new(path.as_ref()).file_name().unwrap_or(path.as_ref()).to_string_lossy().into_owned();
        let mut command = Command::new(path);
        command.current_dir(repository::root()).stdin(Stdio::null());
        Self { command, shown, time_limit: Duration::from_mins(MINUTES_MAX) }
    }

    /// Cargo with these arguments, separated by spaces, in the environment of a shell: `cargo xtask` describes this program to it,
    /// and a build script that looks at that, as ring's does, builds all behind it anew.
    #[expect(
        clippy::disallowed_methods,
        reason = "the environment of this program is looked through, not its settings"
    )]
    pub(crate) fn cargo(arguments: &str) -> Self {
        let mut cargo = Self::new("cargo").arguments(arguments.split_whitespace());
        for (name, _) in std::env::vars_os() {
            if OF_CARGO.iter().any(|begin| name.to_string_lossy().starts_with(begin)) {
                cargo.command.env_remove(name);
            }
        }
        cargo
    }

    pub(crate) fn arguments<W: AsRef<OsStr>>(mut self, words: impl IntoIterator<Item = W>) -> Self {
        for word in words {
            self.shown.push(' ');
            self.shown.push_str(&word.as_ref().to_string_lossy());
            self.command.arg(word);
        }
        self
    }

    pub(crate) fn variable(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.command.env(name, value);
        self
    }

    pub(crate) fn time_limit(mut self, time_limit: Duration) -> Self {
        self.time_limit = time_limit;
        self
    }

    /// Clears the environment of keys and settings, and sets the home.
    pub(crate) fn scrubbed(mut self, home: &Path) -> Self {
        self.command.env_clear().env("HOME", home).env("LANG", "C.UTF-8").env("NO_COLOR", "1");
        self
    }

    /// Runs it with its output on the terminal. Fails on any exit code but 0.
    pub(crate) fn run(mut self) -> Result<(), Failure> {
        say::note(&format!("$ {}", self.shown));
        let mut child = self.start()?;
        self.finish(&mut child)
    }

    /// Runs it silently and returns its stdout; a failure quotes stderr.
    ///
    /// The output goes through files: a pipe could fill up and block the program, because this thread watches the time.
    pub(crate) fn output(mut self) -> Result<String, Failure> {
        let scratch = Scratch::new()?;
        self.command.stdout(scratch.writer("stdout")?).stderr(scratch.writer("stderr")?);
        let mut child = self.start()?;
        self.finish(&mut child).map_err(|failure| {
            let errors = scratch.text("stderr").unwrap_or_default();
            let last = errors.trim_end().lines().last().unwrap_or("it printed no error").to_owned();
            Failure::new(format!("{failure}: {last}"))
        })?;
        scratch.text("stdout")
    }

    /// Starts it beside whatever comes next, with its output in a file until [`Running::end`].
    pub(crate) fn begin(mut self) -> Result<Running, Failure> {
        say::note(&format!("$ {} &", self.shown));
        let scratch = Scratch::new()?;
        self.command.stdout(scratch.writer("stdout")?).stderr(scratch.writer("stderr")?);
        let child = self.start()?;
        Ok(Running { program: self, child, scratch })
    }

    fn start(&mut self) -> Result<Child, Failure> {
        self.command.spawn().map_err(|error| Failure::new(format!("cannot start `{}`: {error}", self.shown)))
    }

    fn finish(&self, child: &mut Child) -> Result<(), Failure> {
        let begun = now();
        loop {
            let polled = child.try_wait();
            let status =
                polled.map_err(|error| Failure::new(format!("cannot watch `{}`: {error}", self.shown)))?;
            match status {
                Some(status) if status.success() => return Ok(()),
                Some(status) => return Err(Failure::new(format!("`{}` ended with {status}", self.shown))),
                None if begun.elapsed() > self.time_limit => {
                    // Both fail only if the child has just ended by itself.
                    child.kill().ok();
                    child.wait().ok();
                    let seconds = self.time_limit.as_secs();
                    return Err(Failure::new(format!("`{}` ran longer than {seconds} s", self.shown)));
                }
                None => std::thread::park_timeout(POLL_INTERVAL),
            }
        }
    }
}

/// A program that runs beside others, and is killed if nobody waits for its end.
#[derive(Debug)]
pub(crate) struct Running {
    program: Program,
    child: Child,
    scratch: Scratch,
}

impl Running {
    /// Waits for its end, within its time limit from now, and prints what it wrote. Fails on any exit code but 0.
    pub(crate) fn end(mut self) -> Result<(), Failure> {
        let ended = self.program.finish(&mut self.child);
        for written in ["stdout", "stderr"] {
            say::note(self.scratch.text(written)?.trim_end());
        }
        ended
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Both fail only if it has ended by itself.
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

/// The clock of the xtask, for durations of stages and time limits of programs.
#[expect(
    clippy::disallowed_methods,
    reason = "the xtask has no runtime, and real minutes are what it reports"
)]
pub(crate) fn now() -> Instant {
    Instant::now()
}

/// A folder for the output of one program, removed when it is dropped.
#[derive(Debug)]
struct Scratch(PathBuf);

impl Scratch {
    fn new() -> Result<Self, Failure> {
        use std::sync::atomic::{AtomicU64, Ordering};
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let folder = std::env::temp_dir().join(format!("xtask-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&folder)
            .map_err(|error| Failure::new(format!("cannot make `{}`: {error}", folder.display())))?;
        Ok(Self(folder))
    }

    fn writer(&self, name: &str) -> Result<std::fs::File, Failure> {
        std::fs::File::create(self.0.join(name))
            .map_err(|error| Failure::new(format!("cannot store a program's output: {error}")))
    }

    fn text(&self, name: &str) -> Result<String, Failure> {
        std::fs::read_to_string(self.0.join(name))
            .map_err(|error| Failure::new(format!("cannot read a program's output: {error}")))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // A folder left in the temporary directory does no harm.
        std::fs::remove_dir_all(&self.0).ok();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn output_is_what_the_program_printed() {
        assert!(Program::cargo("--version").output().unwrap().starts_with("cargo "));
    }

    #[test]
    fn a_failure_quotes_the_last_line_of_stderr() {
        let failure = Program::cargo("no-such-command-here").output().unwrap_err().to_string();
        assert!(failure.starts_with("`cargo no-such-command-here` ended with"), "{failure}");
    }

    #[test]
    fn a_program_that_does_not_end_is_killed() {
        let failure = Program::new("sleep").arguments(["60"]).time_limit(Duration::ZERO).run().unwrap_err();
        assert_eq!(failure.to_string(), "`sleep 60` ran longer than 0 s");
    }

    #[test]
    fn a_program_beside_others_ends_with_its_own_result() {
        Program::cargo("--version").begin().unwrap().end().unwrap();
        let failure = Program::cargo("no-such-command-here").begin().unwrap().end().unwrap_err().to_string();
        assert!(failure.starts_with("`cargo no-such-command-here` ended with"), "{failure}");
        // Its end is not waited for.
        drop(Program::new("sleep").arguments(["60"]).begin().unwrap());
    }

    #[test]
    fn a_program_that_is_not_there_is_a_sentence() {
        let failure = Program::new("no-such-program-here").output().unwrap_err().to_string();
        assert!(failure.starts_with("cannot start `no-such-program-here`"), "{failure}");
    }
}
