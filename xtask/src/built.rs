//! The paths of build output.

use std::path::PathBuf;

use crate::failure::Failure;
use crate::program::Program;

/// Cargo's target folder, as `cargo metadata` reports it.
pub(crate) fn target() -> Result<PathBuf, Failure> {
    let text = Program::cargo("metadata --locked --no-deps --format-version 1").output()?;
    let metadata: serde_json::Value = serde_json::from_str(&text)
        .map_err(|error| Failure::new(format!("`cargo metadata` printed no JSON: {error}")))?;
    metadata["target_directory"]
        .as_str()
        .map(PathBuf::from)
        .ok_or_else(|| Failure::new("`cargo metadata` names no target folder"))
}

/// Builds the tests and the binaries that they start, which takes a moment after `cargo xtask test`: a command for one package
/// would build its dependencies again with fewer features.
pub(crate) fn tests() -> Result<(), Failure> {
    Program::cargo("test --workspace --locked --no-run").run()
}

/// The path of the program's binary in `profile` (`debug`, `release` or `floor`), built or not.
pub(crate) fn binary(profile: &str) -> Result<PathBuf, Failure> {
    let name = format!("parallel-llm-mcp{}", std::env::consts::EXE_SUFFIX);
    Ok(target()?.join(profile).join(name))
}

/// A home folder for runs of the program in these commands, separate from the user's.
pub(crate) fn home() -> Result<PathBuf, Failure> {
    let home = target()?.join("xtask-home");
    std::fs::create_dir_all(&home)
        .map_err(|error| Failure::new(format!("cannot make `{}`: {error}", home.display())))?;
    Ok(home)
}
