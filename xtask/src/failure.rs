//! The failure of a repository command: one sentence for the person at the terminal.
//!
//! No code branches on it, so it has no kind.

use std::fmt;

/// A sentence, lower-case and without a period.
#[derive(Debug)]
pub(crate) struct Failure(String);

impl Failure {
    pub(crate) fn new(sentence: impl Into<String>) -> Self {
        Self(sentence.into())
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}
