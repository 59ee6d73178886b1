//! A response, whole and in its states while it is streamed.

use std::collections::BTreeMap;

use parallel_llm_engine::RunId;
use parallel_llm_engine::request::StoreMode;
use parallel_llm_service::RunHandle;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};

use super::{Answer, Facts, FinishReason, ResponseUsage, created};
use crate::request::ResponsesRequest;

/// The parts of the request that the response repeats.
#[derive(Clone, Debug, Default)]
pub(crate) struct Settings {
    pub(crate) model: String,
    instructions: Option<String>,
    max_output_tokens: Option<u32>,
    temperature: Option<f64>,
    effort: Option<&'static str>,
    previous_response_id: Option<String>,
    /// Whether the texts are kept.
    stores: bool,
    metadata: BTreeMap<String, String>,
}

/// A response.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct Response {
    /// `resp_` and the id of the run.
    id: String,
    /// `response`.
    object: &'static str,
    /// When the run began, in seconds since 1970.
    created_at: u64,
    /// `completed`, or `incomplete` for a text that broke off; in a stream also `in_progress` and `failed`.
    status: OwnStatus,
    /// Always false.
    background: bool,
    /// Why there is no answer; null if there is one.
    error: Option<Value>,
    /// Why the text broke off; null if it did not.
    incomplete_details: Option<Value>,
    instructions: Option<String>,
    max_output_tokens: Option<u32>,
    /// The model as it was asked for.
    model: String,
    /// The answer.
    output: Vec<OutputItem>,
    parallel_tool_calls: bool,
    previous_response_id: Option<String>,
    reasoning: Value,
    store: bool,
    temperature: Option<f64>,
    text: Value,
    tool_choice: &'static str,
    tools: [(); 0],
    top_p: Option<f64>,
    truncation: &'static str,
    /// The tokens of all calls together; null if none is known.
    usage: Option<ResponseUsage>,
    user: Option<String>,
    metadata: BTreeMap<String, String>,
    /// What this program adds; null while the run goes on.
    parallel_llm: Option<Facts>,
}

/// The state of a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum OwnStatus {
    InProgress,
    Completed,
    Incomplete,
    Failed,
}

/// The answer as a message of the output.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(crate) enum OutputItem {
    /// The answer.
    Message {
        /// `msg_` and the id of the run.
        id: String,
        /// Its state.
        status: OwnStatus,
        /// `assistant`.
        role: &'static str,
        /// One text.
        content: Vec<OutputContent>,
    },
    /// The progress of the panel, if it is asked for as reasoning.
    Reasoning {
        /// `rs_` and the id of the run.
        id: String,
        /// Its state.
        status: OwnStatus,
        /// One text.
        summary: Vec<OutputContent>,
    },
}

/// A text of an item.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(crate) enum OutputContent {
    /// A text of the answer.
    OutputText {
        /// The text.
        text: String,
        /// None.
        annotations: [(); 0],
        /// None.
        logprobs: [(); 0],
    },
    /// A text of the progress.
    SummaryText {
        /// The text.
        text: String,
    },
}

impl Settings {
    /// The parts of a request.
    pub(crate) fn of(request: &ResponsesRequest) -> Self {
        Self {
            model: request.model.clone().unwrap_or_default(),
            instructions: request.instructions.clone(),
            max_output_tokens: request.max_output_tokens,
            temperature: request.temperature,
            effort: request.effort(),
            previous_response_id: request.previous_response_id.clone(),
            stores: true,
            metadata: request.metadata.clone().unwrap_or_default(),
        }
    }

    /// What is known of a stored run, whose request is not kept in its protocol.
    pub(crate) fn of_model(model: String) -> Self {
        Self { model, ..Self::default() }
    }

    /// With what is really kept of this run.
    pub(crate) fn kept_by(self, handle: &RunHandle) -> Self {
        let stores = handle.with_run(|run| run.plan.store == StoreMode::Full);
        Self { stores, ..self }
    }
}

impl OutputContent {
    /// A text of the answer.
    pub(crate) const fn text(text: String) -> Self {
        Self::OutputText { text, annotations: [], logprobs: [] }
    }
}

impl OutputItem {
    /// The answer in this state.
    pub(crate) fn message(run_id: RunId, status: OwnStatus, content: Vec<OutputContent>) -> Self {
        Self::Message { id: Self::message_id(run_id), status, role: "assistant", content }
    }

    /// The progress in this state.
    pub(crate) fn reasoning(run_id: RunId, status: OwnStatus, summary: Vec<OutputContent>) -> Self {
        Self::Reasoning { id: Self::reasoning_id(run_id), status, summary }
    }

    /// The id of the answer.
    pub(crate) fn message_id(run_id: RunId) -> String {
        format!("msg_{run_id}")
    }

    /// The id of the progress.
    pub(crate) fn reasoning_id(run_id: RunId) -> String {
        format!("rs_{run_id}")
    }
}

impl Response {
    /// The response of a run that goes on.
    pub(crate) fn begun(run_id: RunId, settings: &Settings) -> Self {
        let Settings { model, instructions, max_output_tokens, temperature, .. } = settings.clone();
        Self {
            id: format!("resp_{run_id}"),
            object: "response",
            created_at: created(run_id),
            status: OwnStatus::InProgress,
            background: false,
            error: None,
            incomplete_details: None,
            instructions,
            max_output_tokens,
            model,
            output: Vec::new(),
            parallel_tool_calls: false,
            previous_response_id: settings.previous_response_id.clone(),
            reasoning: json!({ "effort": settings.effort, "summary": null }),
            store: settings.stores,
            temperature,
            text: json!({ "format": { "type": "text" } }),
            tool_choice: "none",
            tools: [],
            top_p: None,
            truncation: "disabled",
            usage: None,
            user: None,
            metadata: settings.metadata.clone(),
            parallel_llm: None,
        }
    }

    /// The response with this answer, after the progress if that was shown.
    pub(crate) fn ended(answer: &Answer, settings: &Settings, progress: Option<OutputItem>) -> Self {
        let (status, reason) = match answer.finish {
            FinishReason::Stop => (OwnStatus::Completed, None),
            FinishReason::Length => (OwnStatus::Incomplete, Some("max_output_tokens")),
            FinishReason::ContentFilter => (OwnStatus::Incomplete, Some("content_filter")),
        };
        let message =
            OutputItem::message(answer.run_id, status, vec![OutputContent::text(answer.text.clone())]);
        Self {
            status,
            incomplete_details: reason.map(|reason| json!({ "reason": reason })),
            output: progress.into_iter().chain([message]).collect(),
            usage: answer.usage.map(super::facts::Usage::response),
            parallel_llm: Some(answer.facts.clone()),
            ..Self::begun(answer.run_id, settings)
        }
    }

    /// The response of a run whose answer cannot be streamed.
    pub(crate) fn failed(run_id: RunId, settings: &Settings, error: Value) -> Self {
        Self { status: OwnStatus::Failed, error: Some(error), ..Self::begun(run_id, settings) }
    }

    /// Its state.
    pub(crate) const fn status(&self) -> OwnStatus {
        self.status
    }
}
