//! What the reader should know although the run goes on.

use serde::{Deserialize, Serialize};

use crate::value::answer::Failure;
use crate::value::code::Code;
use crate::value::next::{self, Next};

/// Something the reader should know although the run goes on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Warning {
    /// What kind of thing.
    pub code: Code,
    /// What happened.
    pub message: String,
    /// What to do next, where it is more than the code's own advice: one of these.
    #[serde(default, skip_serializing_if = "Vec::is_empty", deserialize_with = "crate::value::next::stored")]
    pub next: Vec<Next>,
}

impl Warning {
    /// A warning with its code's own advice.
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), next: Vec::new() }
    }

    /// Says what to do next, in place of the code's own advice: one of these.
    #[must_use]
    pub fn with_next(mut self, next: impl Into<Vec<Next>>) -> Self {
        self.next = next.into();
        self
    }

    /// What to do next: one of these.
    pub fn next_steps(&self) -> &[Next] {
        if self.next.is_empty() { self.code.next() } else { &self.next }
    }

    /// The same in no door's words.
    pub fn next_step(&self) -> String {
        next::say(self.next_steps(), &next::PLAIN)
    }

    /// A failure that did not stop the run, told with what came before it.
    pub fn of(context: impl std::fmt::Display, failure: &Failure) -> Self {
        Self {
            code: failure.code,
            message: format!("{context}: {}", failure.message),
            next: failure.next.clone(),
        }
    }
}
