//! `cargo xtask test`, then `cargo xtask ci`: every proof of the repository, stage by stage, with a table at the end of each.
//!
//! `test` is what is worth waiting for after each change; `ci` is the rest, and `ci --long` does also what takes hours.
//! A stage that fails does not stop the later ones: one run tells everything that is wrong. A stage that cannot be run
//! says so loudly and counts as skipped, never as passed.

mod agents;
mod clients;
mod conformance;
mod coverage;
mod dependencies;
mod foreign;
mod fuzz;
mod inspector;
mod install;
mod readme;
mod release;
mod report;
mod scene;
mod suite;
mod upstreams;

use std::collections::BTreeMap;
use std::path::PathBuf;

use crate::failure::Failure;
use crate::program::Program;
use crate::{codegen, program, say, tidy};
use report::{Line, Verdict};

/// What the stages know about each other: what was asked, and what earlier stages left behind.
#[derive(Debug)]
struct State {
    /// Fail where the advisories cannot be checked, for want of a network and of a database on this machine.
    advisories: bool,
    /// Do also what takes long.
    long: bool,
    /// Seconds per fuzz target.
    fuzz_seconds: u64,
    /// The stages to run; all of them where none is named. `install` is always run.
    only: Vec<String>,
    /// The tools that are there, by name; a missing one has the reason in its place.
    tools: BTreeMap<&'static str, Result<PathBuf, String>>,
    /// The program's release binary, once it is built.
    binary: Option<PathBuf>,
}

impl Default for State {
    fn default() -> Self {
        Self {
            advisories: false,
            long: false,
            fuzz_seconds: fuzz::SECONDS,
            only: Vec::new(),
            tools: BTreeMap::new(),
            binary: None,
        }
    }
}

type Stage = (&'static str, fn(&mut State) -> Result<Verdict, Failure>);

/// What is proved after each change, in order.
const QUICK: &[Stage] = &[
    ("components", |_| install::components().map(|()| Verdict::Passed)),
    ("fmt", |_| cargo("fmt --all --check")),
    ("clippy", |_| cargo("clippy --workspace --all-targets --locked -- -D warnings")),
    ("tidy", |_| tidy::run(&[]).map(|()| Verdict::Passed)),
    ("tests", |_| suite::run()),
];

/// The rest, in order. The generated pages come after the release build because they are asked of its binary, which
/// saves a further build.
const STAGES: &[Stage] = &[
    ("install", |state| Ok(install::run(state))),
    ("rustdoc", |_| rustdoc()),
    ("licences, bans, sources", dependencies::permitted),
    ("advisories", dependencies::advisories),
    ("unused dependencies", dependencies::used),
    ("release build", release::run),
    ("codegen --check", generated),
    ("readme", readme::run),
    ("conformance", conformance::run),
    ("inspector", inspector::run),
    ("clients", clients::run),
    ("agents", agents::run),
    ("fuzz", fuzz::run),
    ("coverage", coverage::run),
    ("aimock", |_| upstreams::aimock()),
    ("litellm", |_| upstreams::litellm()),
    ("long tests", suite::long),
    ("dist build", release::shipped),
];

/// `cargo xtask test` without words.
pub(crate) fn quick() -> Result<(), Failure> {
    prove_all(QUICK, &mut State::default())
}

pub(crate) fn run(words: &[String]) -> Result<(), Failure> {
    let mut state = wishes(words)?;
    let wanted =
        |name: &str| state.only.is_empty() || name == "install" || state.only.iter().any(|only| only == name);
    let stages: Vec<Stage> = STAGES.iter().copied().filter(|(name, _)| wanted(name)).collect();
    prove_all(&stages, &mut state)
}

/// Runs stages one after the other, to the end even when one fails.
fn prove_all(stages: &[Stage], state: &mut State) -> Result<(), Failure> {
    let lines: Vec<Line> = stages.iter().map(|stage| prove(*stage, state)).collect();
    say::line(&report::table(&lines));
    let failed = lines.iter().filter(|line| matches!(line.verdict, Verdict::Failed(_))).count();
    if failed == 0 { Ok(()) } else { Err(Failure::new(format!("{failed} of {} stages failed", lines.len()))) }
}

/// What the words after `ci` ask for.
fn wishes(words: &[String]) -> Result<State, Failure> {
    let mut state = State::default();
    let mut words = words.iter();
    while let Some(word) = words.next() {
        match (word.as_str(), words.as_slice().first()) {
            ("--advisories", _) => state.advisories = true,
            ("--long", _) => state.long = true,
            ("--only", Some(name)) if STAGES.iter().any(|(stage, _)| stage == name) => {
                state.only.extend(words.next().cloned());
            }
            ("--only", _) => {
                let names: Vec<&str> = STAGES.iter().map(|(name, _)| *name).collect();
                return Err(Failure::new(format!("`--only` takes a stage: {}", names.join(" | "))));
            }
            ("--fuzz-seconds", Some(seconds)) => {
                let asked = seconds.parse().ok().filter(|seconds| (1..=fuzz::SECONDS_MAX).contains(seconds));
                let range = format!("`--fuzz-seconds` takes 1 to {}", fuzz::SECONDS_MAX);
                state.fuzz_seconds = asked.ok_or_else(|| Failure::new(range))?;
                words.next();
            }
            _ => {
                return Err(Failure::new(
                    "`ci` takes `--long`, `--advisories`, `--only STAGE` and `--fuzz-seconds N`",
                ));
            }
        }
    }
    Ok(state)
}

/// Runs one stage and says what came of it.
fn prove((name, run): Stage, state: &mut State) -> Line {
    say::note(&format!("\n=== {name}"));
    let begun = program::now();
    let verdict = run(state).unwrap_or_else(|failure| Verdict::Failed(failure.to_string()));
    match &verdict {
        Verdict::Passed => {}
        Verdict::Failed(why) => say::note(&format!("=== {name} FAILED: {why}")),
        Verdict::Skipped(why) => say::note(&format!("=== {name} SKIPPED: {why}")),
    }
    Line { name, verdict, minutes: begun.elapsed().as_secs_f64() / 60.0 }
}

fn cargo(arguments: &str) -> Result<Verdict, Failure> {
    Program::cargo(arguments).run().map(|()| Verdict::Passed)
}

fn rustdoc() -> Result<Verdict, Failure> {
    let documents =
        Program::cargo("doc --workspace --no-deps --locked").variable("RUSTDOCFLAGS", "-D warnings");
    documents.run().map(|()| Verdict::Passed)
}

fn generated(state: &mut State) -> Result<Verdict, Failure> {
    match &state.binary {
        Some(binary) => codegen::check(binary).map(|()| Verdict::Passed),
        None => Ok(Verdict::Skipped("there is no release binary to ask".to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(words: &str, expected: Result<(&[&str], u64), &str>) {
        let words: Vec<String> =
            words.split(',').filter(|word| !word.is_empty()).map(str::to_owned).collect();
        let wishes = wishes(&words).map_err(|failure| failure.to_string());
        let told = wishes.as_ref().map(|state| (state.only.clone(), state.fuzz_seconds));
        let told = told.map_err(String::as_str);
        assert_eq!(
            told,
            expected.map(|(only, seconds)| (only.iter().map(|&name| name.to_owned()).collect(), seconds))
        );
    }

    #[test]
    fn flags_are_read_in_any_order_and_bounded() {
        check("", Ok((&[], 20)));
        check("--only,fuzz,--fuzz-seconds,5", Ok((&["fuzz"], 5)));
        check("--only,release build,--only,readme", Ok((&["release build", "readme"], 20)));
        check("--fuzz-seconds,0", Err("`--fuzz-seconds` takes 1 to 43200"));
        check("--fast", Err("`ci` takes `--long`, `--advisories`, `--only STAGE` and `--fuzz-seconds N`"));
        check(
            "--fuzz-seconds",
            Err("`ci` takes `--long`, `--advisories`, `--only STAGE` and `--fuzz-seconds N`"),
        );
    }
}
