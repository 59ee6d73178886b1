//! The binary: the program, put together as it is shipped.

use std::process::ExitCode;

use parallel_llm_mcp::{app, program};
use tikv_jemallocator::Jemalloc;

/// The system's keeps what a burst of long answers took for as long as the program runs.
#[global_allocator]
static ALLOCATOR: Jemalloc = Jemalloc;

fn main() -> ExitCode {
    program::run(app::wire)
}
