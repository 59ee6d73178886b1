//! Running other programs: from the repository's root, with stdin closed and never for ever.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::failure::Failure;
use crate::{repository, say};

/// The longest a program may run. A clean `cargo xtask ci` must end within 40 minutes, so no part of it may take 30.
const MINUTES_MAX: u64 = 30;

/// How often a running program is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// A program about to run.
#[derive(Debug)]
pub(crate) struct Program {
    command: Command,
    shown: String,
    longest: Duration,
}

impl Program {
    /// `path` with no arguments yet.
    pub(crate) fn new(path: impl AsRef<OsStr>) -> Self {
        let shown =
            Path::new(path.as_ref()).file_name().unwrap_or(path.as_ref()).to_string_lossy().into_owned();
        let mut command = Command::new(path);
        command.current_dir(repository::root()).stdin(Stdio::null());
        Self { command, shown, longest: Duration::from_mins(MINUTES_MAX) }
    }

    /// Cargo with arguments written as one line.
    pub(crate) fn cargo(arguments: &str) -> Self {
        Self::new("cargo").arguments(arguments.split_whitespace())
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

    pub(crate) fn deadline(mut self, longest: Duration) -> Self {
        self.longest = longest;
        self
    }

    /// Nothing of this machine's environment: no key, no setting and a home of its own.
    pub(crate) fn scrubbed(mut self, home: &Path) -> Self {
        self.command.env_clear().env("HOME", home).env("LANG", "C.UTF-8").env("NO_COLOR", "1");
        self
    }

    /// Runs with its output on the terminal; anything but exit code 0 is a failure.
    pub(crate) fn run(mut self) -> Result<(), Failure> {
        say::note(&format!("$ {}", self.shown));
        let child = self.start()?;
        self.finish(child)
    }

    /// Runs quietly and gives its stdout; stderr is quoted when it fails.
    ///
    /// The output goes through files, so that a talkative program cannot fill a pipe that nobody empties while we
    /// keep the deadline.
    pub(crate) fn output(mut self) -> Result<String, Failure> {
        let scratch = Scratch::new()?;
        self.command.stdout(scratch.writer("stdout")?).stderr(scratch.writer("stderr")?);
        let child = self.start()?;
        self.finish(child).map_err(|failure| {
            let said = scratch.text("stderr").unwrap_or_default();
            let last = said.trim_end().lines().last().unwrap_or("it said nothing").to_owned();
            Failure::new(format!("{failure}: {last}"))
        })?;
        scratch.text("stdout")
    }

    fn start(&mut self) -> Result<Child, Failure> {
        self.command.spawn().map_err(|error| Failure::new(format!("cannot start `{}`: {error}", self.shown)))
    }

    fn finish(&self, mut child: Child) -> Result<(), Failure> {
        let begun = now();
        loop {
            let seen = child.try_wait();
            let seen =
                seen.map_err(|error| Failure::new(format!("cannot watch `{}`: {error}", self.shown)))?;
            match seen {
                Some(status) if status.success() => return Ok(()),
                Some(status) => return Err(Failure::new(format!("`{}` ended with {status}", self.shown))),
                None if begun.elapsed() > self.longest => {
                    // Both may only fail when the child has just ended by itself.
                    child.kill().ok();
                    child.wait().ok();
                    let seconds = self.longest.as_secs();
                    return Err(Failure::new(format!("`{}` ran longer than {seconds} s", self.shown)));
                }
                None => std::thread::park_timeout(LOOK_EVERY),
            }
        }
    }
}

/// The clock of the xtask: stages are measured, programs have deadlines.
#[expect(
    clippy::disallowed_methods,
    reason = "the xtask has no runtime, and real minutes are what it reports"
)]
pub(crate) fn now() -> Instant {
    Instant::now()
}

/// A folder for the output of one program, removed when it is dropped.
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
            .map_err(|error| Failure::new(format!("cannot keep a program's output: {error}")))
    }

    fn text(&self, name: &str) -> Result<String, Failure> {
        std::fs::read_to_string(self.0.join(name))
            .map_err(|error| Failure::new(format!("cannot read a program's output: {error}")))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // A folder left in the temporary directory harms nobody.
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
        let failure = Program::new("sleep").arguments(["60"]).deadline(Duration::ZERO).run().unwrap_err();
        assert_eq!(failure.to_string(), "`sleep 60` ran longer than 0 s");
    }

    #[test]
    fn a_program_that_is_not_there_is_a_sentence() {
        let failure = Program::new("no-such-program-here").output().unwrap_err().to_string();
        assert!(failure.starts_with("cannot start `no-such-program-here`"), "{failure}");
    }
}
