//! The `release build` stage: the program as people get it, and how much of their disk it takes.

use super::State;
use super::report::Verdict;
use crate::failure::Failure;
use crate::program::Program;
use crate::{built, say};

/// The most the stripped binary may weigh: a download of a few seconds on a slow line.
const BINARY_BYTES_MAX: u64 = 30 * 1000 * 1000;

pub(super) fn run(state: &mut State) -> Result<Verdict, Failure> {
    Program::cargo("build --release --locked -p parallel-llm-mcp").run()?;
    let binary = built::binary("release")?;
    let bytes = std::fs::metadata(&binary)
        .map_err(|error| Failure::new(format!("cannot weigh `{}`: {error}", binary.display())))?
        .len();
    state.binary = Some(binary);
    say::note(&format!("the binary weighs {bytes} bytes; at most {BINARY_BYTES_MAX}"));
    if bytes > BINARY_BYTES_MAX {
        return Err(Failure::new(format!("the binary weighs {bytes} bytes, more than {BINARY_BYTES_MAX}")));
    }
    Ok(Verdict::Passed)
}
