//! The results of the user's check command.

use parallel_llm_engine::run::outcome::Checked;
use schemars::JsonSchema;
use serde::Serialize;

/// The result of the check command for one answer.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct CheckReport {
    /// The seat.
    pub seat: u8,
    /// Whether the answer passes; null if the command could not tell.
    pub passed: Option<bool>,
    /// The score from 0 to 1; null if the answer does not pass or the command gives none.
    pub score: Option<f64>,
    /// The code of the failure, if the command could not tell; else left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// The start of the command's stderr, on one line; left out if empty.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[serde(rename = "said")]
    pub stderr: Option<String>,
    /// The duration of the check, in milliseconds.
    pub elapsed_ms: u64,
}

impl CheckReport {
    pub(super) fn of(checked: &Checked) -> Self {
        Self {
            seat: checked.seat.0,
            passed: checked.passed,
            score: checked.score,
            code: checked.failure.map(|code| code.as_str().to_owned()),
            stderr: checked.stderr.as_deref().map(str::to_owned),
            elapsed_ms: checked.elapsed_ms,
        }
    }
}
