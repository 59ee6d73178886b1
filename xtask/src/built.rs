//! Where cargo puts what it builds.

use std::path::PathBuf;

use crate::failure::Failure;
use crate::program::Program;

/// The folder cargo builds into, as cargo says itself: a variable, a setting or the default.
pub(crate) fn target() -> Result<PathBuf, Failure> {
    let text = Program::cargo("metadata --locked --no-deps --format-version 1").output()?;
    let metadata: serde_json::Value = serde_json::from_str(&text)
        .map_err(|error| Failure::new(format!("`cargo metadata` printed no JSON: {error}")))?;
    metadata["target_directory"]
        .as_str()
        .map(PathBuf::from)
        .ok_or_else(|| Failure::new("`cargo metadata` names no target folder"))
}

/// The program's binary in `profile` (`debug` or `release`), whether it has been built or not.
pub(crate) fn binary(profile: &str) -> Result<PathBuf, Failure> {
    let name = format!("parallel-llm-mcp{}", std::env::consts::EXE_SUFFIX);
    Ok(target()?.join(profile).join(name))
}

/// A folder for what the program writes while it is asked or proved, apart from anything a person keeps.
pub(crate) fn home() -> Result<PathBuf, Failure> {
    let home = target()?.join("xtask-home");
    std::fs::create_dir_all(&home)
        .map_err(|error| Failure::new(format!("cannot make `{}`: {error}", home.display())))?;
    Ok(home)
}
