//! Errors and warnings in the report, with their next steps.

use parallel_llm_engine::Failure;
use parallel_llm_engine::value::next::{self, Next, Vocabulary};
use parallel_llm_engine::value::warning::Warning;
use schemars::JsonSchema;
use serde::Serialize;

use super::SCHEMA;

/// An error or a warning.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ErrorReport {
    /// The stable code; see `explain`.
    pub code: String,
    /// What happened.
    pub message: String,
    /// What to do next.
    pub next: String,
    /// The next steps, typed, for a door's vocabulary.
    #[serde(skip)]
    #[schemars(skip)]
    pub steps: Vec<Next>,
    /// Whether the same request may succeed later.
    pub retryable: bool,
    /// The causes, from the outside in; left out if none is known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub causes: Vec<String>,
    /// The wait that the provider asked for, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_after_ms: Option<u64>,
    /// The run it happened in, if the context does not show it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run_id: Option<String>,
}

impl ErrorReport {
    /// The report of a failure.
    pub fn of(failure: &Failure) -> Self {
        Self {
            code: failure.code.to_string(),
            message: failure.message.clone(),
            next: failure.next_step(),
            steps: failure.next_steps().to_vec(),
            retryable: failure.retryable,
            causes: failure.causes().to_vec(),
            retry_after_ms: failure.retry_after_ms,
            run_id: failure.run_id.as_ref().map(ToString::to_string),
        }
    }

    /// The report of a warning.
    pub fn of_warning(warning: &Warning) -> Self {
        Self {
            code: warning.code.to_string(),
            message: warning.message.clone(),
            next: warning.next_step(),
            steps: warning.next_steps().to_vec(),
            retryable: warning.code.retryable(),
            causes: Vec::new(),
            retry_after_ms: None,
            run_id: None,
        }
    }

    /// The JSON object in place of a report, for a call that failed before there was a run.
    pub fn envelope(&self) -> serde_json::Value {
        serde_json::json!({ "schema": SCHEMA, "error": self })
    }

    /// A failure as that JSON object on one line, so that it also ends a stream of events.
    pub fn line(failure: &Failure, vocabulary: &Vocabulary) -> String {
        Self::of(failure).in_vocabulary(vocabulary).envelope().to_string()
    }

    /// The same error with its next step in a door's vocabulary.
    #[must_use]
    pub fn in_vocabulary(mut self, vocabulary: &Vocabulary) -> Self {
        self.next = next::render(&self.steps, vocabulary);
        self
    }
}
