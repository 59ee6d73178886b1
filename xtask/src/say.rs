//! The one place of the xtask that prints.

/// Prints a line of a result to stdout.
#[expect(
    clippy::print_stdout,
    reason = "the commands of the repository talk to a terminal; this is their one mouth"
)]
pub(crate) fn line(text: &str) {
    println!("{text}");
}

/// Prints a line about the work to stderr.
#[expect(
    clippy::print_stderr,
    reason = "the commands of the repository talk to a terminal; this is their one mouth"
)]
pub(crate) fn note(text: &str) {
    eprintln!("{text}");
}
