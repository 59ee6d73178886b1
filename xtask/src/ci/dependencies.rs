//! The stages about dependencies: whether each is permitted, and free of known vulnerabilities.
//!
//! `deny.toml` alone lists what is permitted. `cargo xtask tidy` bounds the size of the dependency graph, and finds
//! dependencies without use.

use std::path::PathBuf;
use std::time::Duration;

use super::State;
use super::report::Verdict;
use crate::failure::Failure;
use crate::program::Program;

/// Time limit for fetching the advisory database, some 20 MB. Without a network it fails at once, or hangs.
const FETCH_MAX: Duration = Duration::from_secs(90);

/// Checks licences, banned crates and sources, offline.
pub(super) fn permitted(state: &mut State) -> Result<Verdict, Failure> {
    // The check reads the crates of every platform. If they cannot be fetched, it reports that itself.
    let _ = Program::new("cargo").arguments(["fetch", "--locked"]).run();
    let checks = ["--locked", "--offline", "check", "licenses", "bans", "sources"];
    with_tool(state, "cargo-deny", |tool| tool.arguments(checks))
}

/// Checks dependencies for known vulnerabilities, with the newest advisory database or the copy fetched last. Without
/// either, the stage is skipped, or fails with `--advisories`.
pub(super) fn advisories(state: &mut State) -> Result<Verdict, Failure> {
    if let Some(Ok(tool)) = state.tools.get("cargo-deny") {
        let fetched = Program::new(tool).arguments(["fetch", "db"]).time_limit(FETCH_MAX).run();
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

/// Whether cargo's home has an advisory database from an earlier fetch.
#[expect(clippy::disallowed_methods, reason = "the builder's own environment, not the program's")]
fn has_copy() -> bool {
    let named = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = named.or_else(|| std::env::home_dir().map(|home| home.join(".cargo")));
    let databases = home.and_then(|home| std::fs::read_dir(home.join("advisory-dbs")).ok());
    // A failed fetch leaves a lock, and perhaps an empty folder.
    databases.into_iter().flatten().flatten().any(|database| database.path().join("crates").is_dir())
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
        state.tools.insert("cargo-deny", Err("cargo-deny is not available: no network".to_owned()));
        for stage in [permitted, advisories] {
            let verdict = stage(&mut state).unwrap();
            assert!(
                matches!(verdict, Verdict::Skipped(why) if why == "cargo-deny is not available: no network")
            );
        }
    }

    #[test]
    fn a_failing_tool_fails_the_stage() {
        let mut state = State::default();
        state.tools.insert("cargo-deny", Ok("false".into()));
        assert!(permitted(&mut state).is_err());
    }
}
