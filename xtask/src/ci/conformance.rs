//! The stage `conformance`: the protocol's own suite, against fixtures and against the real program.
//!
//! `conformance-server`, a binary of the testkit, has every fixture of the suite behind the product's listener and transport.
//! It must pass everything, including the checks that the suite does not score. The real program runs behind `proxy.mjs`,
//! which maps the suite's names to its tools, prompts and runs; `conformance.toml` lists the checks that it cannot pass, with
//! reasons. If the suite is not available, the stage is skipped.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use serde_json::{Value, json};

use super::State;
use super::foreign::{self, Packages};
use super::report::Verdict;
use super::setup::{Process, Setup};
use crate::failure::Failure;
use crate::{built, say};

const SUITE: &str = "node_modules/@modelcontextprotocol/conformance/dist/index.js";

/// Revisions of the protocol, each with the minimum number of its scenarios, so that an empty run does not pass.
const REVISIONS: [(&str, usize); 2] = [("2025-11-25", 33), ("2026-07-28", 50)];

/// Time limit of a revision, which takes twenty seconds.
const SUITE_TIME_MAX: Duration = Duration::from_mins(4);

/// The checks that the real program is expected to fail, with reasons.
const EXPECTED: &str = include_str!("conformance.toml");

/// Further models of `names.mjs`: one answers after a second, one fails.
const STEADY: &str = "google/gemini-4-argon";
const STEADY_MS: u64 = 1_000;
const FAILING: &str = "anthropic/claude-opus-5.5";

pub(super) fn run(state: &mut State) -> Result<Verdict, Failure> {
    let packages = match foreign::packages(foreign::CLIENTS) {
        Ok(packages) => packages,
        Err(failure) => return Ok(Verdict::Skipped(format!("the suite is not available: {failure}"))),
    };
    let results = built::target()?.join("conformance");
    // Results of an earlier run; there may be none.
    std::fs::remove_dir_all(&results).ok();
    let failures =
        [fixtures(&packages, &results.join("fixtures")), program(&packages, &results.join("program"), state)];
    let wrong: Vec<String> =
        failures.into_iter().filter_map(Result::err).map(|failure| failure.to_string()).collect();
    if wrong.is_empty() { Ok(Verdict::Passed) } else { Err(Failure::new(wrong.join("; "))) }
}

/// Runs the suite against the fixtures of the testkit, which must pass everything.
fn fixtures(packages: &Packages, results: &Path) -> Result<(), Failure> {
    built::tests()?;
    let name = format!("conformance-server{}", std::env::consts::EXE_SUFFIX);
    let mut command = Command::new(built::target()?.join("debug").join(name));
    command.args(["--http", "127.0.0.1:0"]);
    make(results)?;
    let (_server, output) = Process::start(command, &results.join("server.txt"), 1)?;
    judge("the fixtures", &Expected::default(), &suite(packages, &output[0], results)?)
}

/// Runs the suite against the real program behind the proxy.
fn program(packages: &Packages, results: &Path, state: &State) -> Result<(), Failure> {
    let binary = binary(state)?;
    make(results)?;
    let setup = Setup::start(&binary, "conformance")?;
    setup.script(STEADY, &json!({"behaviour": {"ttft_ms": {"mean": STEADY_MS}, "tokens_per_s": 0}}))?;
    setup.script(FAILING, &json!({"fault": "bad_model"}))?;
    let mut command = Command::new(&packages.node);
    command.arg(packages.folder.join("proxy.mjs")).arg(setup.url());
    let (_proxy, output) = Process::start(command, &results.join("proxy.txt"), 1)?;
    judge("the program", &Expected::read(EXPECTED)?, &suite(packages, &output[0], results)?)
}

/// The release binary if it is built, else the debug binary.
fn binary(state: &State) -> Result<PathBuf, Failure> {
    if let Some(binary) = &state.binary {
        return Ok(binary.clone());
    }
    built::tests()?;
    built::binary("debug")
}

fn make(folder: &Path) -> Result<(), Failure> {
    std::fs::create_dir_all(folder)
        .map_err(|error| Failure::new(format!("cannot write `{}`: {error}", folder.display())))
}

/// Runs the suite against a server, once for each revision.
fn suite(packages: &Packages, url: &str, results: &Path) -> Result<Vec<(&'static str, Tally)>, Failure> {
    let mut tallies = Vec::new();
    for (revision, scenarios_min) in REVISIONS {
        let folder = results.join(revision);
        let arguments = ["server", "--url", url, "--requirements", revision, "-o"];
        let suite = packages.script(SUITE).arguments(arguments).arguments([&folder]);
        // The suite exits with a failure if a check fails; its files give the details.
        let outcome = suite.time_limit(SUITE_TIME_MAX).output();
        let tally = Tally::of(&folder)?;
        say::note(&format!("{revision}: {tally}; {}", folder.display()));
        if tally.scenarios < scenarios_min {
            let ran = tally.scenarios;
            return Err(Failure::new(format!("{revision} ran {ran} scenarios, fewer than {scenarios_min}")));
        }
        if tally.failed.is_empty() {
            outcome?;
        }
        tallies.push((revision, tally));
    }
    Ok(tallies)
}

/// Fails if a check fails unexpectedly, or if a check that is expected to fail does not.
fn judge(server: &str, expected: &Expected, tallies: &[(&str, Tally)]) -> Result<(), Failure> {
    let mut wrong = Vec::new();
    for (revision, tally) in tallies {
        let unexpected = tally.failed.iter().filter(|failed| !expected.0.contains(&failed.name));
        wrong.extend(
            unexpected.map(|failed| format!("{revision} fails {} ({})", failed.name, failed.message)),
        );
    }
    let failed = || tallies.iter().flat_map(|(_, tally)| &tally.failed);
    let stale = expected.0.iter().filter(|name| !failed().any(|failed| failed.name == **name));
    wrong.extend(stale.map(|name| format!("{name} is expected to fail but passes: remove it from the list")));
    if wrong.is_empty() { Ok(()) } else { Err(Failure::new(format!("{server}: {}", wrong.join("; ")))) }
}

/// The names of the checks that are expected to fail.
#[derive(Debug, Default)]
struct Expected(BTreeSet<String>);

impl Expected {
    fn read(text: &str) -> Result<Self, Failure> {
        let unreadable = |what: &str| Failure::new(format!("conformance.toml cannot be read: {what}"));
        let table: toml::Table =
            text.parse().map_err(|error: toml::de::Error| unreadable(&error.to_string()))?;
        let groups = table.get("expected").and_then(toml::Value::as_array);
        let mut names = BTreeSet::new();
        for group in groups.ok_or_else(|| unreadable("it has no `expected`"))? {
            let reason = group.get("reason").and_then(toml::Value::as_str).unwrap_or_default();
            let checks = group.get("checks").and_then(toml::Value::as_array);
            let checks = checks.filter(|_| !reason.is_empty());
            for check in checks.ok_or_else(|| unreadable("a group has no reason or no checks"))? {
                let name = check.as_str().ok_or_else(|| unreadable("a check is not a string"))?;
                if !names.insert(name.to_owned()) {
                    return Err(unreadable(&format!("`{name}` is listed twice")));
                }
            }
        }
        Ok(Self(names))
    }
}

/// A check that failed.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Failed {
    /// `scenario/check`.
    name: String,
    message: String,
}

/// The results of the suite, counted from its files.
#[derive(Debug, Default, PartialEq)]
struct Tally {
    scenarios: usize,
    passed: usize,
    warned: usize,
    failed: Vec<Failed>,
}

impl Tally {
    /// Reads a folder that has a folder for each scenario with its `checks.json`.
    fn of(folder: &Path) -> Result<Self, Failure> {
        let failed =
            |error: std::io::Error| Failure::new(format!("cannot read `{}`: {error}", folder.display()));
        let mut tally = Self::default();
        for entry in std::fs::read_dir(folder).map_err(failed)? {
            let path = entry.map_err(failed)?.path();
            let text = std::fs::read_to_string(path.join("checks.json")).map_err(failed)?;
            let folder = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let scenario = scenario(&folder);
            tally
                .add(scenario, &text)
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
                _ => self.failed.push(Failed {
                    name: format!("{scenario}/{}", check["id"].as_str().unwrap_or_default()),
                    message: check["errorMessage"].as_str().unwrap_or_default().to_owned(),
                }),
            }
        }
        Ok(())
    }
}

/// The scenario of a folder such as `server-ping-2026-11-22T20-08-26-908Z`.
fn scenario(folder: &str) -> &str {
    const STAMP: &str = "-2026-11-22T20-08-26-908Z";
    let is_stamped = folder.ends_with('Z') && folder.len() > STAMP.len();
    let unstamped = folder.len().checked_sub(STAMP.len()).filter(|_| is_stamped);
    let name = unstamped.and_then(|end| folder.get(..end)).unwrap_or(folder);
    name.strip_prefix("server-").unwrap_or(name)
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

    const CHECKS: &str = r#"[{"id":"a","status":"SUCCESS"},{"id":"b","status":"INFO"},{"id":"c","status":"WARNING"},
        {"id":"d","status":"FAILURE","errorMessage":"no text"},{"id":"e","status":"ODD"}]"#;

    #[test]
    fn an_unknown_status_is_a_failure() {
        let mut tally = Tally::default();
        tally.add("tools-list", CHECKS).unwrap();
        tally.add("ping", "[]").unwrap();
        assert_eq!(tally.to_string(), "2 scenarios, 1 checks passed, 2 failed, 1 warnings");
        let names: Vec<&str> = tally.failed.iter().map(|failed| failed.name.as_str()).collect();
        assert_eq!(names, ["tools-list/d", "tools-list/e"]);
        assert!(tally.add("broken", "no JSON").is_err());
    }

    #[test]
    fn listed_checks_must_fail_and_no_others_may() {
        let mut tally = Tally::default();
        tally.add("tools-list", CHECKS).unwrap();
        let tallies = [("2025-11-25", tally)];
        let check = |names: &[&str], expected: Option<&str>| {
            let listed = Expected(names.iter().map(|name| (*name).to_owned()).collect());
            let message = judge("it", &listed, &tallies).err().map(|failure| failure.to_string());
            assert_eq!(message.as_deref(), expected, "{names:?}");
        };
        check(&["tools-list/d", "tools-list/e"], None);
        check(&["tools-list/e"], Some("it: 2025-11-25 fails tools-list/d (no text)"));
        check(
            &["tools-list/a", "tools-list/d", "tools-list/e"],
            Some("it: tools-list/a is expected to fail but passes: remove it from the list"),
        );
    }

    #[test]
    fn each_group_of_the_list_has_a_reason() {
        assert!(!Expected::read(EXPECTED).unwrap().0.is_empty());
        for wrong in [
            "",
            "[[expected]]\nchecks = [\"a/b\"]",
            "[[expected]]\nreason = \"why\"",
            "[[expected]]\nreason = \"why\"\nchecks = [\"a/b\", \"a/b\"]",
        ] {
            assert!(Expected::read(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_scenario_is_named_by_its_folder() {
        assert_eq!(scenario("server-server-stateless-2026-11-22T20-08-26-908Z"), "server-stateless");
        assert_eq!(scenario("server-ping-2026-11-22T20-08-26-908Z"), "ping");
        assert_eq!(scenario("ping"), "ping");
    }
}
