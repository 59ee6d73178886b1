//! Why a measurement could not be made: one sentence for the person at the terminal.
//!
//! Nobody branches on it, so it carries no kind.

use std::fmt;

/// A sentence, lower-case and without a period.
#[derive(Debug)]
pub struct Failure(String);

/// What a step of the measurement gives.
pub type Outcome<T> = Result<T, Failure>;

impl Failure {
    /// A failure told in this sentence.
    pub fn new(sentence: impl Into<String>) -> Self {
        Self(sentence.into())
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl std::error::Error for Failure {}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Self {
        Self(error.to_string())
    }
}

impl From<serde_json::Error> for Failure {
    fn from(error: serde_json::Error) -> Self {
        Self(format!("a line is not the JSON that was expected: {error}"))
    }
}
