//! The stage `conformance`: the protocol's own suite against the product's listener and transport.
//!
//! `conformance-server`, a binary of the testkit, puts the fixtures the suite asks for behind them. No failure is
//! expected: also what the suite runs without scoring it has to pass. A machine that cannot have the suite skips the stage.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use serde_json::Value;

use super::foreign::{self, Packages};
use super::report::Verdict;
use super::scene::Process;
use crate::failure::Failure;
use crate::program::Program;
use crate::{built, say};

const SUITE: &str = "node_modules/@modelcontextprotocol/conformance/dist/index.js";

/// A revision of the protocol, and how many scenarios the suite runs for it. Fewer would be a suite that found nothing.
const REVISIONS: [(&str, usize); 2] = [("2025-11-25", 33), ("2026-07-28", 50)];

/// A revision takes twenty seconds.
const SUITE_DEADLINE: Duration = Duration::from_mins(4);

pub(super) fn run() -> Result<Verdict, Failure> {
    let packages = match foreign::packages(foreign::CLIENTS) {
        Ok(packages) => packages,
        Err(failure) => return Ok(Verdict::Skipped(format!("the suite cannot be had: {failure}"))),
    };
    Program::cargo("build --locked -p parallel-llm-testkit --bin conformance-server").run()?;
    let target = built::target()?;
    let name = format!("conformance-server{}", std::env::consts::EXE_SUFFIX);
    let mut command = Command::new(target.join("debug").join(name));
    command.args(["--http", "127.0.0.1:0"]);
    let results = target.join("conformance");
    let failed =
        |error: std::io::Error| Failure::new(format!("cannot write `{}`: {error}", results.display()));
    // What an earlier run left is in nobody's way, and may not be there.
    std::fs::remove_dir_all(&results).ok();
    std::fs::create_dir_all(&results).map_err(failed)?;
    let (_server, said) = Process::start(command, &results.join("server.txt"), 1)?;
    let wrong: Vec<String> = REVISIONS
        .iter()
        .filter_map(|revision| prove(&packages, &said[0], &results, *revision).err())
        .map(|failure| failure.to_string())
        .collect();
    if wrong.is_empty() { Ok(Verdict::Passed) } else { Err(Failure::new(wrong.join("; "))) }
}

fn prove(
    packages: &Packages,
    url: &str,
    results: &Path,
    (revision, scenarios_min): (&str, usize),
) -> Result<(), Failure> {
    let folder = results.join(revision);
    let suite = packages.script(SUITE).arguments(["server", "--url", url, "--requirements", revision, "-o"]);
    let outcome = suite.arguments([&folder]).deadline(SUITE_DEADLINE).output();
    let tally = Tally::of(&folder)?;
    say::note(&format!("{revision}: {tally}; {}", folder.display()));
    match outcome {
        _ if !tally.failed.is_empty() => {
            Err(Failure::new(format!("{revision} fails {}", tally.failed.join(", "))))
        }
        _ if tally.scenarios < scenarios_min => Err(Failure::new(format!(
            "{revision} ran {} scenarios, fewer than {scenarios_min}",
            tally.scenarios
        ))),
        Ok(_) => Ok(()),
        Err(failure) => Err(failure),
    }
}

/// What the suite found, counted from the files it leaves.
#[derive(Debug, Default, PartialEq)]
struct Tally {
    scenarios: usize,
    passed: usize,
    warned: usize,
    /// Scenarios and checks that failed.
    failed: Vec<String>,
}

impl Tally {
    /// Of a folder with a folder per scenario, each with its `checks.json`.
    fn of(folder: &Path) -> Result<Self, Failure> {
        let failed =
            |error: std::io::Error| Failure::new(format!("cannot read `{}`: {error}", folder.display()));
        let mut tally = Self::default();
        for entry in std::fs::read_dir(folder).map_err(failed)? {
            let path = entry.map_err(failed)?.path();
            let text = std::fs::read_to_string(path.join("checks.json")).map_err(failed)?;
            let scenario = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            tally
                .add(&scenario, &text)
                .map_err(|error| Failure::new(format!("the checks of {scenario} cannot be read: {error}")))?;
        }
        tally.failed.sort();
        Ok(tally)
    }

    fn add(&mut self, scenario: &str, checks: &str) -> Result<(), serde_json::Error> {
        let checks: Vec<Value> = serde_json::from_str(checks)?;
        self.scenarios += 1;
        for check in checks {
            match check["status"].as_str() {
                Some("SUCCESS") => self.passed += 1,
                Some("WARNING") => self.warned += 1,
                Some("INFO" | "SKIPPED") => {}
                _ => self.failed.push(format!("{scenario} ({}: {})", check["id"], check["errorMessage"])),
            }
        }
        Ok(())
    }
}

impl std::fmt::Display for Tally {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { scenarios, passed, warned, failed } = self;
        write!(
            formatter,
            "{scenarios} scenarios, {passed} checks passed, {} failed, {warned} warnings",
            failed.len()
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_known_to_be_harmless_does_not_fail() {
        let mut tally = Tally::default();
        let checks = r#"[{"id":"a","status":"SUCCESS"},{"id":"b","status":"INFO"},{"id":"c","status":"WARNING"},
            {"id":"d","status":"FAILURE","errorMessage":"no text"},{"id":"e","status":"ODD"}]"#;
        tally.add("tools-list", checks).unwrap();
        tally.add("ping", "[]").unwrap();
        assert_eq!(tally.to_string(), "2 scenarios, 1 checks passed, 2 failed, 1 warnings");
        assert_eq!(tally.failed, [r#"tools-list ("d": "no text")"#, r#"tools-list ("e": null)"#]);
        assert!(tally.add("broken", "no JSON").is_err());
    }
}
