//! Fetches a key from a program of the user's, such as a password manager.
//!
//! It runs without a shell and without stdin, for a bounded time and with bounded output. Invariants: its stdout never
//! appears in a message. Of its stderr at most one line does, and only if it does not repeat stdout.

use std::time::Duration;

use futures_util::FutureExt;
use parallel_llm_engine::value::next::MachineStep;
use parallel_llm_engine::{Code, Failure, ProviderId};
use parallel_llm_provider::{ApiKey, KeyFetch};
use tokio::process::Command;

use crate::child_process::{
    self, ChildError, ChildOutput, ChildProgram, Descendants, OUTPUT_BYTES_MAX, first_line,
};
use parallel_llm_engine::text::safe;

/// Time limit of the program. An agent answers at once; a passphrase has to be entered beforehand.
const WAIT_MAX: Duration = Duration::from_secs(10);
/// Longest quote of its stderr, in characters.
const STDERR_CHARS_MAX: usize = 160;

/// Fetches the key of a provider from a program.
pub fn fetch(provider: &ProviderId, words: &[String]) -> KeyFetch {
    let command = KeyCommand { provider: provider.clone(), words: words.to_vec(), wait_max: WAIT_MAX };
    Box::new(move || {
        let command = command.clone();
        async move { command.key().await.map(Some) }.boxed()
    })
}

/// A provider and the program that prints its key.
#[derive(Clone, Debug)]
struct KeyCommand {
    provider: ProviderId,
    /// The program and its arguments. Never empty.
    words: Vec<String>,
    wait_max: Duration,
}

impl KeyCommand {
    async fn key(&self) -> Result<ApiKey, Failure> {
        let mut command = Command::new(&self.words[0]);
        command.args(&self.words[1..]);
        let program =
            ChildProgram { command, input: None, wait_max: self.wait_max, descendants: Descendants::Keep };
        let output = child_process::run(program).await.map_err(|error| match error {
            ChildError::NotStarted(cause) => self.failed(&format!("cannot be started: {cause}")),
            ChildError::TimedOut => {
                self.failed(&format!("did not end within {} ms", self.wait_max.as_millis()))
            }
        })?;
        let status = output.status.as_ref().map_err(|error| self.failed(&format!("was lost: {error}")))?;
        if !status.success() {
            return Err(self.failed(&format!("ended with {status}{}", stderr_line(&output))));
        }
        // Keys are under 300 bytes.
        if output.stdout.len() as u64 > OUTPUT_BYTES_MAX {
            return Err(self.failed(&format!("wrote more than {OUTPUT_BYTES_MAX} bytes")));
        }
        let line = first_line(&output.stdout);
        let key = std::str::from_utf8(line).ok().and_then(|text| ApiKey::parse(text).transpose());
        match key {
            Some(Ok(key)) => Ok(key),
            _ if line.trim_ascii().is_empty() => Err(self.failed("wrote no key on its first line")),
            _ => Err(self.failed("wrote a first line that cannot be a key")),
        }
    }

    fn failed(&self, how: &str) -> Failure {
        let (provider, program) = (&self.provider, &self.words[0]);
        let message = format!("the key of `{provider}` cannot be fetched: `{program}` {how}");
        Failure::new(Code::KeyMissing, message)
            .with_next(MachineStep::TryKeyCommand(provider.0.clone().into()))
    }
}

/// The first line of stderr for a message; empty if it repeats a line of stdout, which may be the key. Where failures
/// leave the provider, text that looks like a key is removed.
fn stderr_line(output: &ChildOutput) -> String {
    let line = String::from_utf8_lossy(first_line(&output.stderr)).into_owned();
    let stdout = String::from_utf8_lossy(&output.stdout);
    let repeats = stdout.lines().map(str::trim).any(|secret| !secret.is_empty() && line.contains(secret));
    match safe::excerpt(&line, STDERR_CHARS_MAX) {
        line if line.is_empty() || repeats => String::new(),
        line => format!(": {line}"),
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    /// Runs a line with `sh`, as an example of any program, with ample time.
    async fn check(line: &str, expected: &str) {
        let words = ["/bin/sh", "-c", line].map(str::to_owned).to_vec();
        check_words(words, Duration::from_secs(20), expected).await;
    }

    async fn check_words(words: Vec<String>, wait_max: Duration, expected: &str) {
        let command = KeyCommand { provider: ProviderId("team".to_owned()), words, wait_max };
        let outcome = match command.key().await {
            Ok(_) => "a key".to_owned(),
            Err(failure) => {
                assert_eq!(failure.code, Code::KeyMissing);
                assert_eq!(failure.next_step(), "try the `key_command` of `[providers.team]` by hand");
                let message = failure.message;
                message.replace("the key of `team` cannot be fetched: `/bin/sh` ", "")
            }
        };
        assert_eq!(outcome, expected);
    }

    #[tokio::test]
    async fn the_first_line_is_the_key() {
        check("echo 0000-0000", "a key").await;
        check("printf ' 0000 \\r\\nuser: me\\n'", "a key").await;
        check("echo 0000; head -c 100000 /dev/zero >&2", "a key").await;
    }

    #[tokio::test]
    async fn a_failure_of_a_key_program_does_not_quote_its_output() {
        check("echo 0000; echo 'locked' >&2; echo more >&2; exit 3", "ended with exit status: 3: locked")
            .await;
        check("echo 0000; echo 'is 0000' >&2; exit 1", "ended with exit status: 1").await;
        check("echo user; echo 0000; echo 'is 0000' >&2; exit 1", "ended with exit status: 1").await;
        check("kill -9 $$", "ended with signal: 9 (SIGKILL)").await;
        check("true", "wrote no key on its first line").await;
        check("echo; echo 0000", "wrote no key on its first line").await;
        check("echo 'two words'", "wrote a first line that cannot be a key").await;
        check("head -c 5000 /dev/zero", "wrote more than 4096 bytes").await;
        check("cat; exit 9", "ended with exit status: 9").await;
    }

    #[tokio::test]
    async fn a_missing_or_endless_key_program_is_a_failure() {
        let expected = "the key of `team` cannot be fetched: `/no/program` cannot be started: No such file or directory (os error 2)";
        check_words(vec!["/no/program".to_owned()], WAIT_MAX, expected).await;
        let endless = ["/bin/sh", "-c", "exec sleep 600"].map(str::to_owned).to_vec();
        check_words(endless, Duration::from_millis(50), "did not end within 50 ms").await;
    }

    #[tokio::test]
    async fn a_helper_left_behind_holds_nothing_up() {
        check("sleep 30 & echo 0000", "a key").await;
    }
}
