//! What a measuring tool says at a terminal, and how it ends.

use std::io::Write;
use std::process::ExitCode;

use crate::failure::Outcome;

/// Prints a line at once.
pub fn print(line: &str) -> Outcome<()> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{line}")?;
    Ok(out.flush()?)
}

/// Ends the tool of this name; a failure is said.
pub fn end(tool: &str, done: Outcome<()>) -> ExitCode {
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            #[expect(clippy::print_stderr, reason = "a measuring tool prints to a terminal")]
            {
                eprintln!("{tool}: {failure}");
            }
            ExitCode::FAILURE
        }
    }
}
