//! The stage `conformance`: the protocol's own suite, against fixtures behind the product's listener and transport, and
//! against the real program.
//!
//! `conformance-server`, a binary of the testkit, has every fixture that the suite asks for. No failure is expected of it:
//! also what the suite runs without scoring it has to pass. The real program runs behind `proxy.mjs`, which puts its tools,
//! prompts and runs in the place of the suite's names; what it cannot pass stands with its reason in `conformance.toml`. A
//! machine that cannot have the suite skips the stage.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use serde_json::{Value, json};

use super::State;
use super::foreign::{self, Packages};
use super::report::Verdict;
use super::scene::{Process, Scene};
use crate::failure::Failure;
use crate::program::Program;
use crate::{built, say};

const SUITE: &str = "node_modules/@modelcontextprotocol/conformance/dist/index.js";

/// A revision of the protocol, and how many scenarios the suite runs for it. Fewer would be a suite that found nothing.
const REVISIONS: [(&str, usize); 2] = [("2025-11-25", 33), ("2026-07-28", 50)];

/// A revision takes twenty seconds.
const SUITE_DEADLINE: Duration = Duration::from_mins(4);

/// What the real program is expected to fail, with the reasons.
const EXPECTED: &str = include_str!("conformance.toml");

/// Models of `names.mjs` beside the fast and the slow one of every scene: one that takes a second, one that refuses.
const STEADY: &str = "google/gemini-4-argon";
const STEADY_MS: u64 = 1_000;
const FAILING: &str = "anthropic/claude-opus-5.5";

pub(super) fn run(state: &mut State) -> Result<Verdict, Failure> {
    let packages = match foreign::packages(foreign::CLIENTS) {
        Ok(packages) => packages,
        Err(failure) => return Ok(Verdict::Skipped(format!("the suite cannot be had: {failure}"))),
    };
    let results = built::target()?.join("conformance");
    // What an earlier run left is in nobody's way, and may not be there.
    std::fs::remove_dir_all(&results).ok();
    let failures =
        [fixtures(&packages, &results.join("fixtures")), program(&packages, &results.join("program"), state)];
    let wrong: Vec<String> =
        failures.into_iter().filter_map(Result::err).map(|failure| failure.to_string()).collect();
    if wrong.is_empty() { Ok(Verdict::Passed) } else { Err(Failure::new(wrong.join("; "))) }
}

/// The fixtures of the testkit, which pass everything.
fn fixtures(packages: &Packages, results: &Path) -> Result<(), Failure> {
    Program::cargo("build --locked -p parallel-llm-testkit --bin conformance-server").run()?;
    let name = format!("conformance-server{}", std::env::consts::EXE_SUFFIX);
    let mut command = Command::new(built::target()?.join("debug").join(name));
    command.args(["--http", "127.0.0.1:0"]);
    make(results)?;
    let (_server, said) = Process::start(command, &results.join("server.txt"), 1)?;
    judge("the fixtures", &Expected::default(), &suite(packages, &said[0], results)?)
}

/// The real program behind names of the suite's.
fn program(packages: &Packages, results: &Path, state: &State) -> Result<(), Failure> {
    let binary = binary(state)?;
    make(results)?;
    let scene = Scene::start(&binary, "conformance")?;
    scene.play(STEADY, &json!({"behaviour": {"ttft_ms": {"mean": STEADY_MS}, "tokens_per_s": 0}}))?;
    scene.play(FAILING, &json!({"fault": "bad_model"}))?;
    let mut command = Command::new(&packages.node);
    command.arg(packages.folder.join("proxy.mjs")).arg(scene.url());
    let (_proxy, said) = Process::start(command, &results.join("proxy.txt"), 1)?;
    judge("the program", &Expected::read(EXPECTED)?, &suite(packages, &said[0], results)?)
}

/// The program that is released, or else that of the tests.
fn binary(state: &State) -> Result<PathBuf, Failure> {
    if let Some(binary) = &state.binary {
        return Ok(binary.clone());
    }
    Program::cargo("build --locked -p parallel-llm-mcp").run()?;
    built::binary("debug")
}

fn make(folder: &Path) -> Result<(), Failure> {
    std::fs::create_dir_all(folder)
        .map_err(|error| Failure::new(format!("cannot write `{}`: {error}", folder.display())))
}

/// What the suite finds of a server, in each revision.
fn suite(packages: &Packages, url: &str, results: &Path) -> Result<Vec<(&'static str, Tally)>, Failure> {
    let mut tallies = Vec::new();
    for (revision, scenarios_min) in REVISIONS {
        let folder = results.join(revision);
        let arguments = ["server", "--url", url, "--requirements", revision, "-o"];
        let suite = packages.script(SUITE).arguments(arguments).arguments([&folder]);
        // It fails where a check does, which its files tell better.
        let outcome = suite.deadline(SUITE_DEADLINE).output();
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

/// Fails for what is wrong and not expected to be, and for what is expected and not wrong.
fn judge(whose: &str, expected: &Expected, tallies: &[(&str, Tally)]) -> Result<(), Failure> {
    let mut wrong = Vec::new();
    for (revision, tally) in tallies {
        let unexpected = tally.failed.iter().filter(|failed| !expected.0.contains(&failed.name));
        wrong.extend(
            unexpected.map(|failed| format!("{revision} fails {} ({})", failed.name, failed.message)),
        );
    }
    let failed = || tallies.iter().flat_map(|(_, tally)| &tally.failed);
    let stale = expected.0.iter().filter(|name| !failed().any(|failed| failed.name == **name));
    wrong.extend(
        stale.map(|name| format!("{name} is expected to fail and does not: take it out of the list")),
    );
    if wrong.is_empty() { Ok(()) } else { Err(Failure::new(format!("{whose}: {}", wrong.join("; ")))) }
}

/// Checks that fail for a reason, by name.
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
                let name = check.as_str().ok_or_else(|| unreadable("a check is no text"))?;
                if !names.insert(name.to_owned()) {
                    return Err(unreadable(&format!("`{name}` stands there twice")));
                }
            }
        }
        Ok(Self(names))
    }
}

/// A check that failed.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Failed {
    /// Of its scenario and itself.
    name: String,
    message: String,
}

/// What the suite found, counted from the files it leaves.
#[derive(Debug, Default, PartialEq)]
struct Tally {
    scenarios: usize,
    passed: usize,
    warned: usize,
    failed: Vec<Failed>,
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
    fn only_what_is_known_to_be_harmless_does_not_fail() {
        let mut tally = Tally::default();
        tally.add("tools-list", CHECKS).unwrap();
        tally.add("ping", "[]").unwrap();
        assert_eq!(tally.to_string(), "2 scenarios, 1 checks passed, 2 failed, 1 warnings");
        let names: Vec<&str> = tally.failed.iter().map(|failed| failed.name.as_str()).collect();
        assert_eq!(names, ["tools-list/d", "tools-list/e"]);
        assert!(tally.add("broken", "no JSON").is_err());
    }

    #[test]
    fn what_is_listed_has_to_fail_and_nothing_else_may() {
        let mut tally = Tally::default();
        tally.add("tools-list", CHECKS).unwrap();
        let tallies = [("2025-11-25", tally)];
        let check = |names: &[&str], expected: Option<&str>| {
            let listed = Expected(names.iter().map(|name| (*name).to_owned()).collect());
            let said = judge("it", &listed, &tallies).err().map(|failure| failure.to_string());
            assert_eq!(said.as_deref(), expected, "{names:?}");
        };
        check(&["tools-list/d", "tools-list/e"], None);
        check(&["tools-list/e"], Some("it: 2025-11-25 fails tools-list/d (no text)"));
        check(
            &["tools-list/a", "tools-list/d", "tools-list/e"],
            Some("it: tools-list/a is expected to fail and does not: take it out of the list"),
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
    fn a_scenario_is_known_by_its_folder() {
        assert_eq!(scenario("server-server-stateless-2026-11-22T20-08-26-908Z"), "server-stateless");
        assert_eq!(scenario("server-ping-2026-11-22T20-08-26-908Z"), "ping");
        assert_eq!(scenario("ping"), "ping");
    }
}
