//! The stage `install`: finds or builds the tools that later stages need.
//!
//! A tool of the right version on this machine is used; otherwise it is built once into `target/tools`, in a folder named
//! after its version. Tools are built without optimisation: on two cores this takes 35 s for `cargo-deny`, which runs for about a
//! second. If a tool is not available, this stage passes, and the stage that needs the tool is skipped with the reason.

use std::path::PathBuf;
use std::time::Duration;

use super::State;
use super::report::Verdict;
use crate::failure::Failure;
use crate::program::Program;
use crate::{built, say};

/// A tool and its version. The version is raised by hand, because a newer one may judge differently.
pub(super) struct Tool {
    name: &'static str,
    version: &'static str,
}

const TOOLS: &[Tool] = &[Tool { name: "cargo-deny", version: "0.20.2" }];
/// What only the stage `coverage` needs, and finds by itself.
pub(super) const COVERAGE: Tool = Tool { name: "cargo-llvm-cov", version: "0.9.1" };

/// Time limit for building a tool, ten times the measured time. Its stage is then skipped.
const BUILD_TIME_MAX: Duration = Duration::from_mins(6);

/// The Rust components that the stages need: the cargo command, and its name for `rustup`.
const COMPONENTS: &[(&str, &str)] = &[("fmt", "rustfmt"), ("clippy", "clippy")];

/// Installs missing Rust components.
pub(super) fn components() -> Result<(), Failure> {
    for (command, component) in COMPONENTS {
        if Program::cargo(&format!("{command} --version")).output().is_err() {
            Program::new("rustup").arguments(["component", "add", component]).run()?;
        }
    }
    Ok(())
}

/// Finds each tool, or builds it.
pub(super) fn run(state: &mut State) -> Verdict {
    for tool in TOOLS {
        let found = find(tool).map_err(|failure| format!("{} is not available: {failure}", tool.name));
        match &found {
            Ok(path) => say::note(&format!("{} {}: {}", tool.name, tool.version, path.display())),
            Err(why) => say::note(why),
        }
        state.tools.insert(tool.name, found);
    }
    Verdict::Passed
}

/// The path of the tool, which is built if necessary.
pub(super) fn find(tool: &Tool) -> Result<PathBuf, Failure> {
    let folder = built::target()?.join("tools").join(format!("{}-{}", tool.name, tool.version));
    let built = folder.join("bin").join(format!("{}{}", tool.name, std::env::consts::EXE_SUFFIX));
    if built.exists() {
        return Ok(built);
    }
    let here = Program::new(tool.name).arguments(["--version"]).output();
    if here.is_ok_and(|output| output.split_whitespace().any(|word| word == tool.version)) {
        return Ok(PathBuf::from(tool.name));
    }
    Program::cargo("install --locked --debug --quiet")
        .arguments(["--version", tool.version, tool.name, "--root"])
        .arguments([&folder])
        .variable("CARGO_PROFILE_DEV_DEBUG", "0")
        .time_limit(BUILD_TIME_MAX)
        .run()?;
    Ok(built)
}
