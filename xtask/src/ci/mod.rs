//! `cargo xtask ci`: every proof of the repository, stage by stage, with a table at the end.
//!
//! A stage that fails does not stop the later ones: one run tells everything that is wrong. A stage that cannot be run
//! says so loudly and counts as skipped, never as passed.

mod dependencies;
mod install;
mod readme;
mod release;
mod report;
mod suite;

use std::collections::BTreeMap;
use std::path::PathBuf;

use crate::failure::Failure;
use crate::program::Program;
use crate::{codegen, program, say, tidy};
use report::{Line, Verdict};

/// What the stages know about each other: what was asked, and what earlier stages left behind.
#[derive(Debug, Default)]
struct State {
    /// Check the advisories too, which needs a network or a database on this machine.
    advisories: bool,
    /// The tools that are there, by name; a missing one has the reason in its place.
    tools: BTreeMap<&'static str, Result<PathBuf, String>>,
    /// The program's release binary, once it is built.
    binary: Option<PathBuf>,
}

type Stage = (&'static str, fn(&mut State) -> Result<Verdict, Failure>);

/// The stages in order. The generated pages come after the release build because they are asked of its binary, which
/// saves a further build.
const STAGES: &[Stage] = &[
    ("install", install::run),
    ("fmt", |_| cargo("fmt --all --check")),
    ("clippy", |_| cargo("clippy --workspace --all-targets --locked -- -D warnings")),
    ("rustdoc", |_| rustdoc()),
    ("tidy", |_| tidy::run(&[]).map(|()| Verdict::Passed)),
    ("licences, bans, sources", dependencies::permitted),
    ("unused dependencies", dependencies::used),
    ("tests", |_| suite::run()),
    ("release build", release::run),
    ("codegen --check", generated),
    ("readme", readme::run),
];

pub(crate) fn run(words: &[String]) -> Result<(), Failure> {
    let advisories = match words {
        [] => false,
        [word] if word == "--advisories" => true,
        _ => return Err(Failure::new("`ci` takes only `--advisories`")),
    };
    let mut state = State { advisories, ..State::default() };
    let lines: Vec<Line> = STAGES.iter().map(|stage| prove(*stage, &mut state)).collect();
    say::line(&report::table(&lines));
    let failed = lines.iter().filter(|line| matches!(line.verdict, Verdict::Failed(_))).count();
    if failed == 0 { Ok(()) } else { Err(Failure::new(format!("{failed} of {} stages failed", lines.len()))) }
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
