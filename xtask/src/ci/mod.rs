//! The stages of `cargo xtask test` and `cargo xtask ci`: all checks of the repository, each command with a final table.
//!
//! `test` runs the checks for every change, `ci` the rest; `ci --long` adds those that take long. A failed stage does not stop
//! the later ones, so that one run reports every problem. A stage that does not run is reported as skipped, never as passed.

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
    /// Whether to run the stages that take long, and the others at full size.
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

impl State {
    /// Whether `--only` names this stage.
    fn names(&self, stage: &str) -> bool {
        self.only.iter().any(|only| only == stage)
    }
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

/// A stage's name, when it runs, and what it does.
type Stage = (&'static str, When, fn(&mut State) -> Result<Verdict, Failure>);

/// When a stage runs. Any runs if `--only` names it.
#[derive(Debug, Clone, Copy)]
enum When {
    Always,
    /// With `--long`.
    Long,
    /// Never unasked, for this reason.
    Named(&'static str),
}
use When::{Always, Long, Named};

/// The stages of `test`, in order.
const QUICK: &[Stage] = &[
    ("components", Always, |_| install::components().map(|()| Verdict::Passed)),
    ("fmt", Always, |_| cargo("fmt --all --check")),
    ("clippy", Always, |_| cargo("clippy --workspace --all-targets --locked -- -D warnings")),
    ("tidy", Always, |_| tidy::run(&[]).map(|()| Verdict::Passed)),
    ("tests", Always, |_| suite::run()),
];

/// The stages of `ci`, in order: first those that need no release build, which is made meanwhile: on all cores beside the tests
/// that wait for a server, and on one while the others compile. Its binary also makes the generated pages that are checked.
const STAGES: &[Stage] = &[
    ("install", Always, |state| Ok(install::run(state))),
    ("release build begins", Always, release::begin),
    ("postgres", Always, postgres::run),
    ("rustdoc", Always, |_| rustdoc()),
    ("library", Long, |_| library::run()),
    ("licences, bans, sources", Always, dependencies::permitted),
    ("advisories", Always, dependencies::advisories),
    ("aimock", Always, |_| upstreams::aimock()),
    ("litellm", Always, |_| upstreams::litellm()),
    ("release build", Always, release::run),
    ("codegen --check", Always, generated),
    ("instructions", Long, instructions::run),
    ("readme", Always, readme::run),
    ("conformance", Always, conformance::run),
    ("inspector", Always, inspector::run),
    ("clients", Always, clients::run),
    ("endpoint", Always, endpoint::run),
    ("agents", Named("it fetches 800 MB"), agents::run),
    ("page", Always, page::run),
    ("fuzz", Long, fuzz::run),
    ("coverage", Long, |_| coverage::run()),
    ("real model", Always, real_model::run),
    ("long tests", Long, |_| suite::long()),
];

/// Runs the stages of `test`.
pub(crate) fn quick() -> Result<(), Failure> {
    prove_all(QUICK, &mut State::default())
}

pub(crate) fn run(words: &[String]) -> Result<(), Failure> {
    let mut state = parse(words)?;
    let is_selected = |name: &str| state.only.is_empty() || name == "install" || state.names(name);
    let stages: Vec<Stage> = STAGES.iter().copied().filter(|(name, ..)| is_selected(name)).collect();
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
            ("--only", Some(name)) if STAGES.iter().any(|(stage, ..)| stage == name) => {
                state.only.extend(words.next().cloned());
            }
            ("--only", _) => {
                let names: Vec<&str> = STAGES.iter().map(|(name, ..)| *name).collect();
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
fn prove((name, when, run): Stage, state: &mut State) -> Line {
    say::note(&format!("\n=== {name}"));
    let begun = program::now();
    let verdict = match why_not(name, when, state) {
        Some(why) => Verdict::Skipped(why),
        None => run(state).unwrap_or_else(|failure| Verdict::Failed(failure.to_string())),
    };
    match &verdict {
        Verdict::Passed => {}
        Verdict::Failed(why) => say::note(&format!("=== {name} FAILED: {why}")),
        Verdict::Skipped(why) => say::note(&format!("=== {name} SKIPPED: {why}")),
    }
    Line { name, verdict, minutes: begun.elapsed().as_secs_f64() / 60.0 }
}

/// Why a stage does not run, and what runs it.
fn why_not(name: &str, when: When, state: &State) -> Option<String> {
    match when {
        _ if state.names(name) => None,
        Long if !state.long => Some(format!("it takes long: `--long` or `--only {name:?}` runs it")),
        Named(why) => Some(format!("{why}: `--only {name:?}` runs it")),
        Always | Long => None,
    }
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
    fn a_stage_that_takes_long_runs_if_asked_for() {
        let only = |names: &[&str]| State {
            only: names.iter().map(|&name| name.to_owned()).collect(),
            ..State::default()
        };
        let fuzz = |state: &State| why_not("fuzz", Long, state);
        assert_eq!(fuzz(&State::default()).unwrap(), "it takes long: `--long` or `--only \"fuzz\"` runs it");
        assert_eq!(fuzz(&State { long: true, ..State::default() }), None);
        assert_eq!(fuzz(&only(&["fuzz"])), None);
        let agents = |state: &State| why_not("agents", Named("it is large"), state);
        assert_eq!(
            agents(&State { long: true, ..State::default() }).unwrap(),
            "it is large: `--only \"agents\"` runs it"
        );
        assert_eq!(agents(&only(&["agents", "fuzz"])), None);
        assert_eq!(why_not("page", Always, &State::default()), None);
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
