//! The binary as it is shipped.

use std::process::ExitCode;

use parallel_llm_app::wire;
use parallel_llm_program::program;

/// Gives memory back after a burst of long answers; the system's allocator keeps most of it.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    program::run(wire)
}
