//! The `install` stage: the tools the later stages need, where they can be had.
//!
//! A tool is taken from the machine when it has the wanted version there, else built once into `target/tools`, which is
//! keyed by version. They are built without optimisation: on two cores that is 35 s for `cargo-deny`, 29 s for
//! `cargo-llvm-cov` and 19 s for `cargo-machete`, and each of them runs for about a second. A tool that cannot be had is
//! not a failure here; the stage that needs it is skipped and says why.

use std::path::PathBuf;
use std::time::Duration;

use super::State;
use super::report::Verdict;
use crate::failure::Failure;
use crate::program::Program;
use crate::{built, say};

/// A tool and its version. A newer one may judge differently, so the version is raised by hand.
struct Tool {
    name: &'static str,
    version: &'static str,
}

const TOOLS: &[Tool] = &[
    Tool { name: "cargo-deny", version: "0.20.2" },
    Tool { name: "cargo-machete", version: "0.9.2" },
    Tool { name: "cargo-llvm-cov", version: "0.9.1" },
];

/// A tool that takes ten times as long as measured is not worth the wait; its stage is then skipped.
const BUILD_DEADLINE: Duration = Duration::from_mins(6);

/// The parts of the Rust installation the stages need: the cargo command, and its name for `rustup`.
const COMPONENTS: &[(&str, &str)] = &[("fmt", "rustfmt"), ("clippy", "clippy")];

/// The parts of the Rust installation that the quick stages need.
pub(super) fn components() -> Result<(), Failure> {
    for (command, component) in COMPONENTS {
        if Program::cargo(&format!("{command} --version")).output().is_err() {
            Program::new("rustup").arguments(["component", "add", component]).run()?;
        }
    }
    Ok(())
}

/// Looks for each tool, and builds it where it is missing.
pub(super) fn run(state: &mut State) -> Verdict {
    for tool in TOOLS {
        let found = find(tool).map_err(|failure| format!("{} cannot be had: {failure}", tool.name));
        match &found {
            Ok(path) => say::note(&format!("{} {}: {}", tool.name, tool.version, path.display())),
            Err(why) => say::note(why),
        }
        state.tools.insert(tool.name, found);
    }
    Verdict::Passed
}

/// Where the tool is, after building it if need be.
fn find(tool: &Tool) -> Result<PathBuf, Failure> {
    let folder = built::target()?.join("tools").join(format!("{}-{}", tool.name, tool.version));
    let built = folder.join("bin").join(format!("{}{}", tool.name, std::env::consts::EXE_SUFFIX));
    if built.exists() {
        return Ok(built);
    }
    let here = Program::new(tool.name).arguments(["--version"]).output();
    if here.is_ok_and(|said| said.split_whitespace().any(|word| word == tool.version)) {
        return Ok(PathBuf::from(tool.name));
    }
    Program::cargo("install --locked --debug --quiet")
        .arguments(["--version", tool.version, tool.name, "--root"])
        .arguments([&folder])
        .variable("CARGO_PROFILE_DEV_DEBUG", "0")
        .deadline(BUILD_DEADLINE)
        .run()?;
    Ok(built)
}
