//! The failure of a measurement: one sentence for the person at the terminal.
//!
//! No code branches on it, so it has no kind.

use std::fmt;

/// A sentence, lower-case and without a period.
#[derive(Debug)]
pub struct Failure(String);

/// The result of a step of the measurement.
pub type Outcome<T> = Result<T, Failure>;

impl Failure {
    /// A failure with this sentence.
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
        Self(format!("a line is not the expected JSON: {error}"))
    }
}

impl From<parallel_llm_engine::Failure> for Failure {
    fn from(failure: parallel_llm_engine::Failure) -> Self {
        Self(failure.message)
    }
}
