//! The stages about other people's crates: may each be here, and is each still needed.
//!
//! What is permitted is said in `deny.toml` alone. That the graph stays small is counted by `cargo xtask tidy`, from the
//! lock file, on every machine.

use super::State;
use super::report::Verdict;
use crate::failure::Failure;
use crate::program::Program;

/// Licences, banned crates and sources, offline; the advisories only when they are asked for.
pub(super) fn permitted(state: &mut State) -> Result<Verdict, Failure> {
    let (network, checks) = if state.advisories {
        ([].as_slice(), ["check", "advisories", "licenses", "bans", "sources"].as_slice())
    } else {
        (["--offline"].as_slice(), ["check", "licenses", "bans", "sources"].as_slice())
    };
    with_tool(state, "cargo-deny", |tool| tool.arguments(["--locked"]).arguments(network).arguments(checks))
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
        let verdict = permitted(&mut state).unwrap();
        assert!(matches!(verdict, Verdict::Skipped(why) if why == "cargo-deny cannot be had: no network"));
    }

    #[test]
    fn a_tool_that_finds_fault_fails_the_stage() {
        let mut state = State::default();
        state.tools.insert("cargo-machete", Ok("false".into()));
        assert!(used(&mut state).is_err());
    }
}
