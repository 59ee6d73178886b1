//! The stage `release build`: the program as it is installed and shipped, with the limit of its size.

use super::State;
use super::report::Verdict;
use crate::failure::Failure;
use crate::program::Program;
use crate::{built, say};

/// What the stripped binary has at most: a download of a few seconds on a slow line. The bench names it as a target, too.
const BINARY_BYTES_MAX: u64 = 30 * 1000 * 1000;

/// Begins the build beside the stages before it: for minutes it is one thread that links.
pub(super) fn begin(state: &mut State) -> Result<Verdict, Failure> {
    state.build = Some(build().begin()?);
    Ok(Verdict::Passed)
}

fn build() -> Program {
    Program::cargo("build --release --locked -p parallel-llm-mcp")
}

pub(super) fn run(state: &mut State) -> Result<Verdict, Failure> {
    match state.build.take() {
        Some(begun) => begun.end()?,
        None => build().run()?,
    }
    let binary = built::binary("release")?;
    let bytes = std::fs::metadata(&binary)
        .map_err(|error| Failure::new(format!("cannot read the size of `{}`: {error}", binary.display())))?
        .len();
    // The later stages run it, too large or not.
    state.binary = Some(binary);
    say::note(&format!("the binary has {bytes} bytes; the limit is {BINARY_BYTES_MAX}"));
    if bytes > BINARY_BYTES_MAX {
        return Err(Failure::new(format!("the binary has {bytes} bytes, more than {BINARY_BYTES_MAX}")));
    }
    Ok(Verdict::Passed)
}
