//! The decision to retry a failed request, or not.

use serde::{Deserialize, Serialize};

/// What the engine does after a failed request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "retry", rename_all = "snake_case")]
pub enum Retry {
    /// Nothing: the seat has failed.
    Never,
    /// Send it again after a wait.
    After {
        /// How long, in milliseconds.
        ms: u64,
    },
    /// Send it again without a field the provider rejected.
    Without {
        /// Which field.
        field: String,
    },
}
