//! What the reader should know although the run goes on.

use serde::{Deserialize, Serialize};

use crate::value::answer::Failure;
use crate::value::code::Code;

/// Something the reader should know although the run goes on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Warning {
    /// What kind of thing.
    pub code: Code,
    /// What happened.
    pub message: String,
    /// What to do next.
    pub next: String,
}

impl Warning {
    /// A failure that did not stop the run, told with what came before it.
    pub fn of(context: impl std::fmt::Display, failure: &Failure) -> Self {
        Self {
            code: failure.code,
            message: format!("{context}: {}", failure.message),
            next: failure.next_step().to_owned(),
        }
    }
}
