//! Replies in Google's protocol.

use serde::Deserialize;
use serde_json::value::RawValue;

/// One event of a stream, or a whole reply.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Response<'a> {
    #[serde(borrow)]
    pub(super) candidates: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) prompt_feedback: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) usage_metadata: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) model_version: Option<&'a RawValue>,
    #[serde(borrow, rename = "responseId")]
    pub(super) id: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) error: Option<&'a RawValue>,
}

/// One completion. A second is never requested.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Candidate<'a> {
    #[serde(borrow)]
    pub(super) content: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) finish_reason: Option<&'a RawValue>,
}

/// The content of a completion.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct CandidateContent<'a> {
    #[serde(borrow)]
    pub(super) parts: Option<&'a RawValue>,
}

/// A part of the content: text, which may be a thought.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct CandidatePart<'a> {
    #[serde(borrow)]
    pub(super) text: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) thought: Option<&'a RawValue>,
}

/// The result of a filter on the question.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Feedback<'a> {
    #[serde(borrow)]
    pub(super) block_reason: Option<&'a RawValue>,
}

/// Tokens so far.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct GeminiUsage<'a> {
    #[serde(borrow, rename = "promptTokenCount")]
    pub(super) prompt: Option<&'a RawValue>,
    #[serde(borrow, rename = "candidatesTokenCount")]
    pub(super) answer: Option<&'a RawValue>,
    #[serde(borrow, rename = "thoughtsTokenCount")]
    pub(super) thoughts: Option<&'a RawValue>,
    #[serde(borrow, rename = "cachedContentTokenCount")]
    pub(super) cached: Option<&'a RawValue>,
}
