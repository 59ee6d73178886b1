//! The bundle: a report for diagnosing a problem, without questions and answers.
//!
//! Invariants: everything passes [`Anonymizer`]; of the log only the program's own messages are included,
//! because a provider's text may quote a question.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

use parallel_llm_engine::Failure;
use serde::Serialize;
use serde_json::Value;

use super::anonymizer::Anonymizer;
use super::diagnosis::Diagnosis;
use super::instruments::{Doctor, VERSION};
use parallel_llm_settings::clock;

/// The most lines of the log, the newest ones.
const LOG_LINES_MAX: usize = 200;
/// The bytes at the end of the log that are searched for them.
const LOG_BYTES_MAX: u64 = 256 * 1024;
/// The included fields of a line: numbers, names and codes of this program, never a provider's text.
const FACTS: [&str; 14] = [
    "run_id", "seat", "model", "attempt", "code", "retry", "ms", "seats", "reserved", "answered", "asked",
    "kind", "bytes", "cost",
];

#[derive(Serialize)]
struct Bundle<'a> {
    schema: u32,
    made_on: String,
    version: &'static str,
    system: &'static str,
    architecture: &'static str,
    /// The version of the database format; null if it cannot be opened.
    database_format: Option<u32>,
    database_bytes: Option<u64>,
    /// The number of runs by status.
    runs: BTreeMap<String, u64>,
    settings: Vec<SettingLine>,
    diagnosis: &'a Diagnosis,
    /// The newest lines of the log file; null if none is set.
    log: Option<Vec<String>>,
}

#[derive(Serialize)]
struct SettingLine {
    name: String,
    value: String,
    origin: String,
}

impl Doctor {
    /// The report, as one JSON object.
    pub async fn bundle(&self, diagnosis: &Diagnosis) -> Result<Value, Failure> {
        self.principal.check_owner()?;
        let settings = &self.settings;
        let state = match self.store.get().await {
            Ok(store) => store.state().await.ok(),
            // The findings say why it cannot be opened.
            Err(_) => None,
        };
        let log = match settings.log_file.clone() {
            Some(path) => tokio::task::spawn_blocking(move || log_lines(&path)).await.ok(),
            None => None,
        };
        let line = |shown: &parallel_llm_settings::settings::EffectiveValue| SettingLine {
            name: shown.name.clone(),
            value: shown.value.clone(),
            origin: shown.origin.to_string(),
        };
        let bundle = Bundle {
            schema: 1,
            made_on: clock::day(clock::unix_ms()),
            version: VERSION,
            system: std::env::consts::OS,
            architecture: std::env::consts::ARCH,
            database_format: state.as_ref().map(|state| state.format),
            database_bytes: state.as_ref().map(|state| state.bytes),
            runs: state.map(|state| state.runs).unwrap_or_default(),
            settings: settings.shown().iter().map(line).collect(),
            diagnosis,
            log,
        };
        let value = serde_json::to_value(bundle).expect("a bundle is plain data with string keys");
        Ok(Anonymizer::new(settings).value(value))
    }
}

/// The newest lines of a log, reduced to the program's own messages; empty if it cannot be read.
fn log_lines(path: &Path) -> Vec<String> {
    let text = tail(path).unwrap_or_default();
    let lines: Vec<String> = text.lines().filter_map(own_words).collect();
    lines[lines.len().saturating_sub(LOG_LINES_MAX)..].to_vec()
}

fn tail(path: &Path) -> std::io::Result<String> {
    let mut file = File::open(path)?;
    let bytes = file.metadata()?.len();
    file.seek(SeekFrom::Start(bytes.saturating_sub(LOG_BYTES_MAX)))?;
    let mut tail = Vec::new();
    file.take(LOG_BYTES_MAX).read_to_end(&mut tail)?;
    Ok(String::from_utf8_lossy(&tail).into_owned())
}

/// Time, level, the fixed part of the message, and the included fields; `None` for a line of another format.
fn own_words(line: &str) -> Option<String> {
    let (time, rest) = line.split_once(' ')?;
    let is_time = time.len() > 19 && time.ends_with('Z') && time.as_bytes()[10] == b'T';
    let (level, rest) = rest.trim_start().split_once(' ').filter(|_| is_time)?;
    if !matches!(level, "ERROR" | "WARN" | "INFO" | "DEBUG" | "TRACE") {
        return None;
    }
    let (message, facts) = rest.rfind(" run_id=").map_or((rest, ""), |at| rest.split_at(at));
    // With a code, the message is a failure's and may quote a stranger; without one, it is ours up to its first
    // quotation.
    let message = if facts.contains(" code=") {
        "…"
    } else {
        message.split([':', '`', '"']).next().unwrap_or_default().trim()
    };
    let facts: Vec<&str> = facts.split_whitespace().filter(|word| is_fact(word)).collect();
    Some([time, level, message, &facts.join(" ")].join(" ").trim_end().to_owned())
}

fn is_fact(word: &str) -> bool {
    let is_plain = |character: char| character.is_ascii_alphanumeric() || "._-:/~$\"@".contains(character);
    word.split_once('=').is_some_and(|(name, value)| FACTS.contains(&name) && value.chars().all(is_plain))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_is_included_without_foreign_text() {
        for (line, expected) in [
            (
                "2026-11-22T01:00:00.000000Z  INFO the run starts run_id=01ABC seats=5 reserved=$0.10",
                Some("2026-11-22T01:00:00.000000Z INFO the run starts run_id=01ABC seats=5 reserved=$0.10"),
            ),
            (
                "2026-11-22T01:00:00.000000Z  WARN no: my secret question run_id=x code=y run_id=01ABC seat=\"seat 1\" code=auth ms=7",
                Some("2026-11-22T01:00:00.000000Z WARN … run_id=01ABC seat=\"seat code=auth ms=7"),
            ),
            (
                "2026-11-22T01:00:00.000000Z ERROR a tool call panicked: byte 3 of `my secret question`",
                Some("2026-11-22T01:00:00.000000Z ERROR a tool call panicked"),
            ),
            (
                "2026-11-22T01:00:00.000000Z DEBUG accepted run_id=01ABC generation_id=my secret question ms=1",
                Some("2026-11-22T01:00:00.000000Z DEBUG accepted run_id=01ABC ms=1"),
            ),
            ("my secret question", None),
            ("2026-11-22T01:00:00.000000Z my secret question", None),
            ("", None),
        ] {
            assert_eq!(own_words(line).as_deref(), expected, "{line}");
        }
    }

    #[test]
    fn the_newest_lines_are_taken_and_a_missing_log_is_no_matter() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        assert!(log_lines(&path).is_empty());
        let line = |number: usize| format!("2026-11-22T01:00:00.000000Z  INFO line {number}\n");
        std::fs::write(&path, (0..20_000).map(line).collect::<String>()).unwrap();
        let lines = log_lines(&path);
        assert_eq!(
            (lines.len(), lines.last().map(String::as_str)),
            (200, Some("2026-11-22T01:00:00.000000Z INFO line 19999"))
        );
    }
}
