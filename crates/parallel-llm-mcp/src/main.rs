//! The binary as it is shipped.

use std::process::ExitCode;

use parallel_llm_app::wire;
use parallel_llm_program::program;

/// Gives memory back after a burst of long answers; the system's allocator keeps most of it.
#[cfg(not(target_env = "msvc"))]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> ExitCode {
    program::run(wire)
}
