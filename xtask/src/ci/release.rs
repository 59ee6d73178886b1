//! The stages `release build` and `dist build`: the program as built from a clone, and the shipped file with its size limit.

use super::State;
use super::report::Verdict;
use crate::failure::Failure;
use crate::program::Program;
use crate::{built, say};

/// The size limit of the shipped, stripped binary: a download of a few seconds on a slow line.
const BINARY_BYTES_MAX: u64 = 30 * 1000 * 1000;

pub(super) fn run(state: &mut State) -> Result<Verdict, Failure> {
    Program::cargo("build --release --locked -p parallel-llm-mcp").run()?;
    state.binary = Some(built::binary("release")?);
    Ok(Verdict::Passed)
}

/// Builds the shipped binary if requested, because whole-program optimisation takes minutes.
pub(super) fn shipped(state: &mut State) -> Result<Verdict, Failure> {
    if !state.long {
        return Ok(Verdict::Skipped("it takes minutes: `cargo xtask ci --long` builds it".to_owned()));
    }
    Program::cargo("build --profile dist --locked -p parallel-llm-mcp --features jemalloc").run()?;
    let binary = built::binary("dist")?;
    let bytes = std::fs::metadata(&binary)
        .map_err(|error| Failure::new(format!("cannot read the size of `{}`: {error}", binary.display())))?
        .len();
    say::note(&format!("the binary has {bytes} bytes; at most {BINARY_BYTES_MAX}"));
    if bytes > BINARY_BYTES_MAX {
        return Err(Failure::new(format!("the binary has {bytes} bytes, more than {BINARY_BYTES_MAX}")));
    }
    Ok(Verdict::Passed)
}
