//! A warning: a problem that does not stop the run.

use serde::{Deserialize, Serialize};

use crate::value::answer::Failure;
use crate::value::code::Code;
use crate::value::next::{self, Next};

/// A problem that does not stop the run but that the reader should know.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Warning {
    /// The kind of problem.
    pub code: Code,
    /// What happened.
    pub message: String,
    /// Steps to choose from; empty if those of the code apply.
    #[serde(default, skip_serializing_if = "Vec::is_empty", deserialize_with = "crate::value::next::stored")]
    pub next: Vec<Next>,
}

impl Warning {
    /// A warning with the next steps of its code.
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), next: Vec::new() }
    }

    /// Replaces the next steps of the code.
    #[must_use]
    pub fn with_next(mut self, next: impl Into<Vec<Next>>) -> Self {
        self.next = next.into();
        self
    }

    /// The steps to choose from.
    pub fn next_steps(&self) -> &[Next] {
        if self.next.is_empty() { self.code.next() } else { &self.next }
    }

    /// The next steps as one sentence, without the names of any door.
    pub fn next_step(&self) -> String {
        next::render(self.next_steps(), &next::PLAIN)
    }

    /// A warning about a failure that did not stop the run. `context` says where it happened.
    pub fn of(context: impl std::fmt::Display, failure: &Failure) -> Self {
        Self {
            code: failure.code,
            message: format!("{context}: {}", failure.message),
            next: failure.next.clone(),
        }
    }
}
