//! The binary: the program, put together as it is shipped.

use std::process::ExitCode;

use parallel_llm_mcp::{app, program};

fn main() -> ExitCode {
    program::run(app::wire)
}
