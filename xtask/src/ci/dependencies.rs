//! The stages about other people's crates: may each be here, and is each still needed.
//!
//! What is permitted is said in `deny.toml` alone. That the graph stays small is counted by `cargo xtask tidy`, from the
//! lock file, on every machine.

use std::path::PathBuf;
use std::time::Duration;

use super::State;
use super::report::Verdict;
use crate::failure::Failure;
use crate::program::Program;

/// The longest that fetching the database of advisories may take, some 20 MB. Where there is no network it fails at once, or never.
const FETCH_MAX: Duration = Duration::from_secs(90);

/// Licences, banned crates and sources, offline.
pub(super) fn permitted(state: &mut State) -> Result<Verdict, Failure> {
    // It looks into the crates of every platform. Where they cannot be had it says so itself.
    let _ = Program::new("cargo").arguments(["fetch", "--locked"]).run();
    let checks = ["--locked", "--offline", "check", "licenses", "bans", "sources"];
    with_tool(state, "cargo-deny", |tool| tool.arguments(checks))
}

/// Known weaknesses of dependencies, wherever a database of them can be had: the newest, or the copy fetched last. Where
/// neither is there the table says so; with `--advisories` it is a failure.
pub(super) fn advisories(state: &mut State) -> Result<Verdict, Failure> {
    if let Some(Ok(tool)) = state.tools.get("cargo-deny") {
        let fetched = Program::new(tool).arguments(["fetch", "db"]).deadline(FETCH_MAX).run();
        if fetched.is_err() && !has_copy() {
            let why = "no advisory database: it cannot be fetched here, and there is no copy in cargo's home";
            return if state.advisories {
                Err(Failure::new(why))
            } else {
                Ok(Verdict::Skipped(why.to_owned()))
            };
        }
    }
    with_tool(state, "cargo-deny", |tool| tool.arguments(["--locked", "--offline", "check", "advisories"]))
}

/// Whether a database that was fetched before is in cargo's home.
#[expect(clippy::disallowed_methods, reason = "the builder's own environment, not the program's")]
fn has_copy() -> bool {
    let named = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = named.or_else(|| std::env::home_dir().map(|home| home.join(".cargo")));
    let databases = home.and_then(|home| std::fs::read_dir(home.join("advisory-dbs")).ok());
    // A fetch that failed leaves a lock there, and perhaps an empty folder.
    databases.into_iter().flatten().flatten().any(|database| database.path().join("crates").is_dir())
}

/// Every dependency of a manifest is named somewhere in its package. An exception stands in that manifest, under
/// `[package.metadata.cargo-machete]`.
pub(super) fn used(state: &mut State) -> Result<Verdict, Failure> {
    with_tool(state, "cargo-machete", |tool| tool.arguments(["--skip-target-dir"]))
}

fn with_tool(state: &State, name: &str, prepare: impl Fn(Program) -> Program) -> Result<Verdict, Failure> {
    match state.tools.get(name) {
        Some(Ok(path)) => prepare(Program::new(path)).run().map(|()| Verdict::Passed),
        Some(Err(why)) => Ok(Verdict::Skipped(why.clone())),
        None => Ok(Verdict::Skipped(format!("the install stage did not look for {name}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_tool_is_skipped_with_its_reason() {
        let mut state = State::default();
        state.tools.insert("cargo-deny", Err("cargo-deny cannot be had: no network".to_owned()));
        for stage in [permitted, advisories] {
            let verdict = stage(&mut state).unwrap();
            assert!(
                matches!(verdict, Verdict::Skipped(why) if why == "cargo-deny cannot be had: no network")
            );
        }
    }

    #[test]
    fn a_tool_that_finds_fault_fails_the_stage() {
        let mut state = State::default();
        state.tools.insert("cargo-machete", Ok("false".into()));
        assert!(used(&mut state).is_err());
    }
}
