//! The user's check command: a program that gets an answer on stdin and accepts it by its exit code.
//!
//! Answers are untrusted. Invariants: no part of one enters the program's arguments or environment, and neither
//! does a key; of the program's output only a score and the start of stderr are kept, the latter on one line for
//! people. Nothing here is a sandbox: what the program does with the text is its own concern.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use parallel_llm_engine::port::{AnswerToCheck, Checker, Grade};
use parallel_llm_engine::value::next::{Advice, Limit, Next};
use parallel_llm_engine::{Code, Failure};
use tokio::process::Command;

use parallel_llm_engine::text::safe;
use parallel_llm_settings::child_process::{self, ChildError, ChildProgram, Descendants};
use parallel_llm_settings::private_files;
use parallel_llm_settings::settings::{CheckSettings, SEAT};

/// The prefix of a check's folder.
const FOLDER: &str = "parallel-llm-check-";
/// The longest kept excerpt of stderr, in characters: the first error of a compiler or a test.
const STDERR_CHARS_MAX: usize = 1_000;
/// The most attempts to remove a folder. After that it stays.
const REMOVALS_MAX: usize = 3;

/// The check command of the settings.
#[derive(Clone, Debug)]
pub struct CheckCommand {
    settings: CheckSettings,
}

impl CheckCommand {
    /// The check command of these settings.
    pub const fn new(settings: CheckSettings) -> Self {
        Self { settings }
    }

    async fn grade(&self, candidate: AnswerToCheck) -> Result<Grade, Failure> {
        let (folder, environment) = (&self.settings.folder, &self.settings.environment);
        let folder = CheckFolder::create(folder)
            .map_err(|error| Self::unavailable(&format!("has no folder to run in: {error}")))?;
        let mut command = Command::new(&self.settings.words[0]);
        command.args(&self.settings.words[1..]).current_dir(&folder.path);
        command.env_clear().envs(environment.iter().cloned()).env(SEAT, candidate.seat.to_string());
        let wait_max = Duration::from_millis(self.settings.timeout_ms);
        let program =
            ChildProgram { command, input: Some(candidate.text), wait_max, descendants: Descendants::Kill };
        let ended = child_process::run(program).await;
        folder.remove().await;
        let ended = ended.map_err(|error| match error {
            ChildError::NotStarted(error) => Self::unavailable(&format!("cannot be started: {error}")),
            ChildError::TimedOut => self.late(),
        })?;
        let status = ended.status.map_err(|error| Self::unavailable(&format!("was lost: {error}")))?;
        let score = score(&ended.stdout).filter(|_| status.success());
        Ok(Grade { passed: status.success(), score, stderr: stderr_excerpt(&ended.stderr) })
    }

    /// The command is not named: the owner of the run may not be the owner of the command.
    fn unavailable(how: &str) -> Failure {
        Failure::new(Code::CheckUnavailable, format!("the check command {how}"))
            .with_next(Advice::TryCheckCommand)
    }

    fn late(&self) -> Failure {
        let ms = self.settings.timeout_ms;
        Failure::new(Code::Timeout, format!("the check command did not end within {ms} ms"))
            .with_retryable(false)
            .with_next(Next::Raise(Limit::Setting { name: "check_timeout_ms".into(), now: Some(ms) }))
    }
}

impl Checker for CheckCommand {
    fn check(&self, candidate: AnswerToCheck) -> BoxFuture<'static, Result<Grade, Failure>> {
        let this = self.clone();
        async move { this.grade(candidate).await }.boxed()
    }
}

/// The score in the first line of stdout, if it is a number from 0 to 1.
fn score(stdout: &[u8]) -> Option<f64> {
    let line = std::str::from_utf8(child_process::first_line(stdout)).ok()?;
    line.trim().parse().ok().filter(|score| (0.0..=1.0).contains(score))
}

/// The start of stderr for people. It may quote the answer, so control characters are removed.
fn stderr_excerpt(stderr: &[u8]) -> Option<Arc<str>> {
    let line = safe::excerpt(&String::from_utf8_lossy(stderr), STDERR_CHARS_MAX);
    (!line.is_empty()).then(|| line.into())
}

/// An empty folder for one check, removed with its content afterwards.
struct CheckFolder {
    path: PathBuf,
}

impl CheckFolder {
    fn create(parent: &Path) -> io::Result<Self> {
        let mut name = [0; 8];
        getrandom::fill(&mut name).map_err(io::Error::other)?;
        let path = parent.join(format!("{FOLDER}{:016x}", u64::from_le_bytes(name)));
        // Not recursive: an existing folder belongs to somebody else, and is an error.
        private_files::folder_builder().create(&path)?;
        Ok(Self { path })
    }
}

impl CheckFolder {
    /// Removes the folder on a blocking thread, because a check may have built a whole program there. The caller waits,
    /// because the process may end with this run.
    async fn remove(mut self) {
        let path = std::mem::take(&mut self.path);
        // An error means that the runtime is ending; the folder then stays.
        let _ = tokio::task::spawn_blocking(move || remove(&path)).await;
    }
}

impl Drop for CheckFolder {
    /// For a cancelled check. Removes at once, because a runtime that ends waits for nothing.
    fn drop(&mut self) {
        if !self.path.as_os_str().is_empty() {
            remove(&self.path);
        }
    }
}

/// Tries several times: a process that was just killed may still write a last file.
fn remove(path: &Path) {
    let _ = (0..REMOVALS_MAX).any(|_| std::fs::remove_dir_all(path).is_ok());
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::ffi::OsString;
    use std::os::unix::fs::PermissionsExt;

    use parallel_llm_engine::SeatNumber;
    use tempfile::TempDir;

    use super::*;

    /// An answer longer than the buffer of a pipe.
    const LONG: usize = 1024 * 1024;

    /// A check by a line for `sh`, with ample time.
    struct Bench {
        root: TempDir,
        check: CheckCommand,
    }

    impl Bench {
        fn of(line: &str) -> Self {
            let root = tempfile::tempdir().unwrap();
            let settings = CheckSettings {
                words: ["/bin/sh", "-c", line].map(str::to_owned).to_vec(),
                timeout_ms: 20_000,
                environment: vec![
                    ("PATH", OsString::from("/usr/local/bin:/usr/bin:/bin")),
                    ("HOME", root.path().into()),
                ],
                folder: root.path().to_owned(),
                is_asked_for: false,
            };
            Self { root, check: CheckCommand::new(settings) }
        }

        fn within(mut self, timeout_ms: u64) -> Self {
            self.check.settings.timeout_ms = timeout_ms;
            self
        }

        async fn grade(&self, text: &str) -> Result<Grade, Failure> {
            self.check.check(AnswerToCheck { seat: SeatNumber(3), text: Arc::from(text) }).await
        }

        async fn described(&self, text: &str) -> String {
            match self.grade(text).await {
                Ok(Grade { passed, score, stderr }) => {
                    let score = score.map(|score| format!(" with {score}")).unwrap_or_default();
                    let stderr = stderr.map(|stderr| format!(": {stderr}")).unwrap_or_default();
                    format!("{}{score}{stderr}", if passed { "passes" } else { "does not pass" })
                }
                Err(failure) => format!("{}: {} ({})", failure.code, failure.message, failure.next_step()),
            }
        }

        /// The files that the program left in its home.
        fn left(&self, name: &str) -> String {
            std::fs::read_to_string(self.root.path().join(name)).unwrap()
        }
    }

    async fn check(line: &str, expected: &str) {
        assert_eq!(Bench::of(line).described("fn main() {}\n").await, expected, "{line}");
    }

    /// Waits for an effect of another process.
    async fn until(is_so: impl Fn() -> bool) {
        for _ in 0..2_000 {
            if is_so() {
                return;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!("it did not come to that");
    }

    #[tokio::test]
    async fn the_exit_code_determines_whether_an_answer_passes() {
        check("grep -q main", "passes").await;
        check("grep -q class", "does not pass").await;
        check("exit 3", "does not pass").await;
        check("kill -9 $$", "does not pass").await;
    }

    #[tokio::test]
    async fn the_beginning_of_its_stderr_is_kept_on_one_line() {
        check("echo wrong >&2; exit 1", "does not pass: wrong").await;
        check("printf 'a\\n\\033[2Jb\\377' >&2", "passes: a [2Jb\u{fffd}").await;
        let described = Bench::of("head -c 9000 /dev/zero | tr '\\0' x >&2; exit 1").described("x").await;
        assert_eq!(described, format!("does not pass: {}…", "x".repeat(STDERR_CHARS_MAX - 1)));
    }

    #[tokio::test]
    async fn the_first_line_may_be_a_score() {
        check("echo ' 0.75 '; echo 1", "passes with 0.75").await;
        check("printf 1", "passes with 1").await;
        check("echo 0.75; exit 1", "does not pass").await;
        for line in ["echo 7", "echo -1", "echo NaN", "echo ok; echo 0.5", "echo", "printf '\\377'"] {
            check(line, "passes").await;
        }
    }

    #[tokio::test]
    async fn an_answer_is_read_whole_and_nothing_is_added_to_it() {
        let bench = Bench::of("cat > \"$HOME/seen\"");
        let text = "ü\0\n".repeat(LONG / 4);
        assert_eq!(bench.described(&text).await, "passes");
        assert!(bench.left("seen") == text);
    }

    #[tokio::test]
    async fn a_check_may_ignore_its_input_or_write_without_end() {
        let long = "x".repeat(LONG);
        assert_eq!(Bench::of("exit 0").described(&long).await, "passes");
        assert_eq!(Bench::of("exec <&-; head -c 1 /dev/zero; exit 0").described(&long).await, "passes");
        let much = "echo 0.5; head -c 10000000 /dev/zero; head -c 10000000 /dev/zero >&2";
        assert_eq!(Bench::of(much).described(&long).await, "passes with 0.5");
    }

    #[tokio::test]
    async fn a_check_that_takes_too_long_is_ended_with_its_children() {
        let late = "timeout: the check command did not end within 1500 ms (raise the setting `check_timeout_ms` (now 1500))";
        assert_eq!(Bench::of("yes").within(1_500).described("x").await, late);
        let bench = Bench::of("sleep 600 & echo $! > \"$HOME/helper\"; wait").within(1_500);
        assert_eq!(bench.described("x").await, late);
        until_ended(&bench.left("helper")).await;
    }

    #[tokio::test]
    async fn processes_left_behind_by_a_check_are_ended_at_once() {
        let bench = Bench::of("sleep 600 & echo $! > \"$HOME/helper\"; echo 0.5");
        assert_eq!(bench.described("x").await, "passes with 0.5");
        until_ended(&bench.left("helper")).await;
    }

    #[tokio::test]
    async fn an_abandoned_check_is_ended() {
        let bench = Bench::of("echo $$ > \"$HOME/self\"; exec sleep 600");
        let written = bench.root.path().join("self");
        let is_written = || std::fs::read_to_string(&written).is_ok_and(|text| text.ends_with('\n'));
        tokio::select! {
            described = bench.described("x") => panic!("{described}"),
            () = until(is_written) => {}
        }
        until_ended(&bench.left("self")).await;
        until(|| folders(&bench).is_empty()).await;
    }

    /// Waits until a process has ended, even if its parent has not noticed.
    async fn until_ended(id: &str) {
        let id = rustix::process::Pid::from_raw(id.trim().parse().unwrap()).unwrap();
        let status = format!("/proc/{}/stat", id.as_raw_nonzero());
        let is_dead = || {
            let is_left = std::fs::read_to_string(&status).is_ok_and(|stat| stat.contains(") Z "));
            is_left || rustix::process::test_kill_process(id).is_err()
        };
        until(is_dead).await;
    }

    fn folders(bench: &Bench) -> Vec<OsString> {
        let entries = std::fs::read_dir(bench.root.path()).unwrap().map(|entry| entry.unwrap().file_name());
        entries.filter(|name| name.to_string_lossy().starts_with(FOLDER)).collect()
    }

    #[tokio::test]
    async fn it_runs_in_an_empty_folder_of_its_own_that_is_taken_away() {
        let bench = Bench::of("pwd > \"$HOME/where\"; ls -a | wc -l; mkdir -p a/b; echo x > a/b/c; exit 0");
        assert_eq!(bench.described("x").await, "passes", "two entries are no score");
        let folder = PathBuf::from(bench.left("where").trim());
        assert!(folder.file_name().unwrap().to_str().unwrap().starts_with(FOLDER));
        until(|| !folder.exists()).await;
        let own = CheckFolder::create(bench.root.path()).unwrap();
        assert_eq!(std::fs::metadata(&own.path).unwrap().permissions().mode() & 0o777, 0o700);
        let listed = Bench::of("[ -z \"$(ls -A)\" ]");
        assert_eq!(listed.described("x").await, "passes");
    }

    #[tokio::test]
    async fn a_check_gets_only_the_named_variables() {
        let bench = Bench::of("env > \"$HOME/env\"; cat > /dev/null");
        assert_eq!(bench.described("hostile=1").await, "passes");
        let seen = bench.left("env");
        // Variables that a shell sets by itself.
        let mut names: Vec<&str> = seen.lines().filter_map(|line| line.split('=').next()).collect();
        names.retain(|name| !["PWD", "OLDPWD", "SHLVL", "_"].contains(name));
        names.sort_unstable();
        assert_eq!(names, ["HOME", "PARALLEL_LLM_SEAT", "PATH"]);
        assert!(seen.lines().any(|line| line == "PARALLEL_LLM_SEAT=3"));
    }

    #[tokio::test]
    async fn a_check_that_cannot_start_is_a_failure() {
        let mut bench = Bench::of("");
        bench.check.settings.words = vec!["/no/program".to_owned(), "secret".to_owned()];
        let described = "check_unavailable: the check command cannot be started: No such file or directory (os error 2) (try the check command by hand)";
        assert_eq!(bench.described("x").await, described);
        bench.check.settings.folder = bench.root.path().join("gone");
        let described = "check_unavailable: the check command has no folder to run in: No such file or directory (os error 2) (try the check command by hand)";
        assert_eq!(bench.described("x").await, described);
    }
}
