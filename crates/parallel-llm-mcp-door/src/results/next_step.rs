//! The next step that a result suggests: a tool call with its arguments.

use std::collections::BTreeMap;
use std::fmt;

use schemars::JsonSchema;
use serde::Serialize;

pub(super) const GET_RUN: &str = "get_run";
pub(super) const RESUME_RUN: &str = "resume_run";

/// What to do next.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(untagged)]
pub(super) enum NextStep {
    /// A tool call.
    Call(NextCall),
    /// Advice, where no tool helps.
    Advice(String),
}

/// A tool call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub(super) struct NextCall {
    /// The tool's name.
    pub(super) tool: &'static str,
    /// Its arguments.
    #[schemars(with = "BTreeMap<String, String>")]
    pub(super) arguments: Arguments,
    /// The reason.
    pub(super) why: String,
}

/// The arguments of a suggested call. Those that are `None` are left out.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub(super) struct Arguments {
    pub(super) run_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) wait_s: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) part: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) offset: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) resend: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) strategy: Option<&'static str>,
}

impl Arguments {
    /// Those that name a run.
    pub(super) fn of_run(run_id: &str) -> Self {
        Self { run_id: run_id.to_owned(), ..Self::default() }
    }
}

impl NextStep {
    /// The call that fetches a part of a run, from a character on.
    pub(super) fn part(run_id: &str, part: impl Into<String>, offset: usize, why: impl Into<String>) -> Self {
        let offset = (offset > 0).then_some(offset);
        let arguments = Arguments { part: Some(part.into()), offset, ..Arguments::of_run(run_id) };
        Self::call(GET_RUN, arguments, why)
    }

    /// A tool call.
    pub(super) fn call(tool: &'static str, arguments: Arguments, why: impl Into<String>) -> Self {
        Self::Call(NextCall { tool, arguments, why: why.into() })
    }
}

impl fmt::Display for NextStep {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Call(NextCall { tool, arguments, why }) => {
                let arguments = serde_json::to_string(arguments).map_err(|_| fmt::Error)?;
                write!(out, "{why}: call {tool} with {arguments}")
            }
            Self::Advice(advice) => out.write_str(advice),
        }
    }
}
