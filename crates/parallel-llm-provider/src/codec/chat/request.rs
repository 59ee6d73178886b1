//! The body of a chat request.

use std::borrow::Cow;

use parallel_llm_engine::request::ImageDetail;
use serde::Serialize;

/// A request for a streamed chat completion.
#[derive(Debug, Default, Serialize)]
pub(super) struct ChatRequest<'a> {
    pub(super) model: &'a str,
    pub(super) messages: Vec<ChatMessage<'a>>,
    pub(super) stream: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) max_completion_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) max_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) temperature: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) response_format: Option<ResponseFormat>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) reasoning: Option<ThinkingField>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) reasoning_effort: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) thinking: Option<ThinkingField>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) usage: Option<Include>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) stream_options: Option<IncludeUsage>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) provider: Option<Preferences>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) service_tier: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) session_id: Option<String>,
}

/// One message.
#[derive(Debug, Serialize)]
pub(super) struct ChatMessage<'a> {
    pub(super) role: &'a str,
    pub(super) content: ChatContent<'a>,
}

/// A text, which every server accepts, or a list of parts if there are files.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(super) enum ChatContent<'a> {
    Text(Cow<'a, str>),
    Parts(Vec<ChatPart<'a>>),
}

/// One part of a message with files.
#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum ChatPart<'a> {
    Text { text: &'a str },
    ImageUrl { image_url: ImageUrl },
    File { file: File<'a> },
}

/// A picture as a data URL.
#[derive(Debug, Serialize)]
pub(super) struct ImageUrl {
    pub(super) url: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) detail: Option<ImageDetail>,
}

/// A document as a data URL.
#[derive(Debug, Serialize)]
pub(super) struct File<'a> {
    pub(super) filename: &'a str,
    pub(super) file_data: String,
}

/// The format of the reply. Uses `json_object` without a schema, because nearly every server with this field supports
/// that, and the object is parsed defensively anyway.
#[derive(Debug, Serialize)]
pub(super) struct ResponseFormat {
    #[serde(rename = "type")]
    pub(super) kind: &'static str,
}

/// An object that sets the thinking.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(super) enum ThinkingField {
    /// `{"effort": "high"}`.
    Effort { effort: &'static str },
    /// `{"enabled": true}`.
    Enabled { enabled: bool },
    /// `{"type": "enabled"}`.
    Type {
        #[serde(rename = "type")]
        kind: &'static str,
    },
}

/// How a router may choose among providers.
#[derive(Debug, Default, PartialEq, Serialize)]
pub(super) struct Preferences {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) order: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) only: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) ignore: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) allow_fallbacks: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) data_collection: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) zdr: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) max_price: Option<MaxPrice>,
}

/// US dollars for a million tokens.
#[derive(Debug, PartialEq, Serialize)]
pub(super) struct MaxPrice {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) prompt: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) completion: Option<f64>,
}

/// `{"include": true}`.
#[derive(Debug, Serialize)]
pub(super) struct Include {
    pub(super) include: bool,
}

/// `{"include_usage": true}`.
#[derive(Debug, Serialize)]
pub(super) struct IncludeUsage {
    pub(super) include_usage: bool,
}
