//! What the user's own check command says of the answers.

use parallel_llm_engine::run::outcome::Checked;
use schemars::JsonSchema;
use serde::Serialize;

/// What the check command says of one answer.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct CheckReport {
    /// Whose answer.
    pub seat: u8,
    /// Whether it passes; null where the command could not say.
    pub passed: Option<bool>,
    /// How well, from 0 to 1; null where it does not pass, or the command does not say.
    pub score: Option<f64>,
    /// The code of the reason why the command could not say; left out elsewhere.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// The beginning of what the command wrote to its stderr, on one line; left out where it wrote nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub said: Option<String>,
    /// How long the check took, in milliseconds.
    pub elapsed_ms: u64,
}

impl CheckReport {
    pub(super) fn of(checked: &Checked) -> Self {
        Self {
            seat: checked.seat.0,
            passed: checked.passed,
            score: checked.score,
            code: checked.failure.map(|code| code.as_str().to_owned()),
            said: checked.said.as_deref().map(str::to_owned),
            elapsed_ms: checked.elapsed_ms,
        }
    }
}
