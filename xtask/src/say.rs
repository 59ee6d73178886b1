//! Prints lines to stdout and stderr; no other module of the xtask prints.

/// Prints a line of the result to stdout.
#[expect(clippy::print_stdout, reason = "the repository's commands print to a terminal, only here")]
pub(crate) fn line(text: &str) {
    println!("{text}");
}

/// Prints a line about progress to stderr.
#[expect(clippy::print_stderr, reason = "the repository's commands print to a terminal, only here")]
pub(crate) fn note(text: &str) {
    eprintln!("{text}");
}
