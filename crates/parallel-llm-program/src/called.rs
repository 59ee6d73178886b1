//! The name by which the program was called, for help pages and hints that a user types again.

use std::ffi::OsStr;
use std::path::Path;

use parallel_llm_settings::PROGRAM;

/// The short name, under which `src/bin/pllm.rs` starts the program.
const SHORT: &str = "pllm";

/// The name to type: `pllm` if the program was called by it, else `parallel-llm-mcp`.
pub fn name() -> &'static str {
    choose(PROGRAM, SHORT)
}

/// The first text, or the second if the program was called by its short name.
pub(crate) fn choose(full: &'static str, short: &'static str) -> &'static str {
    let first = std::env::args_os().next();
    let word = first.as_deref().map(Path::new).and_then(Path::file_stem);
    if word == Some(OsStr::new(SHORT)) { short } else { full }
}
