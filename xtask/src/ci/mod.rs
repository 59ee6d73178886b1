//! The stages of `cargo xtask test` and `cargo xtask ci`: all checks of the repository, each command with a final table.
//!
//! `test` runs the checks for every change, `ci` the rest; `ci --long` adds those that take hours. A failed stage does not stop
//! the later ones, so that one run reports every problem. A stage that cannot run is reported as skipped, never as passed.

mod agents;
mod babble;
mod clients;
mod conformance;
mod coverage;
mod dependencies;
mod endpoint;
mod foreign;
mod fuzz;
mod inspector;
mod install;
mod instructions;
mod library;
mod page;
mod postgres;
mod readme;
mod real_model;
mod release;
mod report;
mod setup;
mod suite;
mod system;
mod upstreams;

use std::collections::BTreeMap;
use std::path::PathBuf;

use crate::failure::Failure;
use crate::program::{Program, Running};
use crate::{codegen, program, say, tidy};
use report::{Line, Verdict};

/// The state that stages share: the options, and the results of earlier stages.
#[derive(Debug)]
struct State {
    /// Whether to fail if advisories cannot be checked, without a network and a local database.
    advisories: bool,
    /// Whether to run the stages that take hours.
    long: bool,
    /// Whether to draw the documentation's pictures of the page anew.
    images: bool,
    /// Seconds per fuzz target.
    fuzz_seconds: u64,
    /// The stages to run, besides `install`; empty for all.
    only: Vec<String>,
    /// The path of each tool by name, or the reason why it is missing.
    tools: BTreeMap<&'static str, Result<PathBuf, String>>,
    /// The release build, if it is under way.
    build: Option<Running>,
    /// The program's release binary, if it is built.
    binary: Option<PathBuf>,
}

impl Default for State {
    fn default() -> Self {
        Self {
            advisories: false,
            long: false,
            images: false,
            fuzz_seconds: fuzz::SECONDS,
            only: Vec::new(),
            tools: BTreeMap::new(),
            build: None,
            binary: None,
        }
    }
}

type Stage = (&'static str, fn(&mut State) -> Result<Verdict, Failure>);

/// The stages of `test`, in order.
const QUICK: &[Stage] = &[
    ("components", |_| install::components().map(|()| Verdict::Passed)),
    ("fmt", |_| cargo("fmt --all --check")),
    ("clippy", |_| cargo("clippy --workspace --all-targets --locked -- -D warnings")),
    ("tidy", |_| tidy::run(&[]).map(|()| Verdict::Passed)),
    ("tests", |_| suite::run()),
];

/// The stages of `ci`, in order. Generated pages are checked after the release build, because its binary generates them, which
/// saves another build.
const STAGES: &[Stage] = &[
    ("install", |state| Ok(install::run(state))),
    ("release build begins", release::begin),
    ("rustdoc", |_| rustdoc()),
    ("library", |_| library::run()),
    ("licences, bans, sources", dependencies::permitted),
    ("advisories", dependencies::advisories),
    ("unused dependencies", dependencies::used),
    ("postgres", postgres::run),
    ("release build", release::run),
    ("codegen --check", generated),
    ("instructions", instructions::run),
    ("readme", readme::run),
    ("conformance", conformance::run),
    ("inspector", inspector::run),
    ("clients", clients::run),
    ("endpoint", endpoint::run),
    ("agents", agents::run),
    ("page", page::run),
    ("fuzz", fuzz::run),
    ("coverage", coverage::run),
    ("aimock", |_| upstreams::aimock()),
    ("litellm", |_| upstreams::litellm()),
    ("real model", real_model::run),
    ("long tests", suite::long),
];

/// Runs the stages of `test`.
pub(crate) fn quick() -> Result<(), Failure> {
    prove_all(QUICK, &mut State::default())
}

pub(crate) fn run(words: &[String]) -> Result<(), Failure> {
    let mut state = parse(words)?;
    let is_selected =
        |name: &str| state.only.is_empty() || name == "install" || state.only.iter().any(|only| only == name);
    let stages: Vec<Stage> = STAGES.iter().copied().filter(|(name, _)| is_selected(name)).collect();
    prove_all(&stages, &mut state)
}

/// Runs all stages one after the other. Fails at the end if any stage failed.
fn prove_all(stages: &[Stage], state: &mut State) -> Result<(), Failure> {
    let lines: Vec<Line> = stages.iter().map(|stage| prove(*stage, state)).collect();
    say::line(&report::table(&lines));
    let failed = lines.iter().filter(|line| matches!(line.verdict, Verdict::Failed(_))).count();
    if failed == 0 { Ok(()) } else { Err(Failure::new(format!("{failed} of {} stages failed", lines.len()))) }
}

/// Parses the options of `ci`.
fn parse(words: &[String]) -> Result<State, Failure> {
    let mut state = State::default();
    let mut words = words.iter();
    while let Some(word) = words.next() {
        match (word.as_str(), words.as_slice().first()) {
            ("--advisories", _) => state.advisories = true,
            ("--long", _) => state.long = true,
            ("--images", _) => state.images = true,
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
                    "`ci` takes `--long`, `--images`, `--advisories`, `--only STAGE` and `--fuzz-seconds N`",
                ));
            }
        }
    }
    Ok(state)
}

/// Runs one stage and prints its result.
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
        let parsed = parse(&words).map_err(|failure| failure.to_string());
        let options = parsed.as_ref().map(|state| (state.only.clone(), state.fuzz_seconds));
        let options = options.map_err(String::as_str);
        assert_eq!(
            options,
            expected.map(|(only, seconds)| (only.iter().map(|&name| name.to_owned()).collect(), seconds))
        );
    }

    #[test]
    fn options_are_parsed_in_any_order_and_bounded() {
        check("", Ok((&[], 20)));
        check("--only,fuzz,--fuzz-seconds,5", Ok((&["fuzz"], 5)));
        check("--only,release build,--only,readme", Ok((&["release build", "readme"], 20)));
        check("--fuzz-seconds,0", Err("`--fuzz-seconds` takes 1 to 43200"));
        check(
            "--fast",
            Err("`ci` takes `--long`, `--images`, `--advisories`, `--only STAGE` and `--fuzz-seconds N`"),
        );
        check(
            "--fuzz-seconds",
            Err("`ci` takes `--long`, `--images`, `--advisories`, `--only STAGE` and `--fuzz-seconds N`"),
        );
    }
}
