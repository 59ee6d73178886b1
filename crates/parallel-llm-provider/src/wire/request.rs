//! The body of a request. Which fields it has is decided in [`crate::translate`].

use std::borrow::Cow;

use serde::Serialize;

/// A request for a streamed chat completion.
#[derive(Debug, Serialize)]
pub(crate) struct Request<'a> {
    pub(crate) model: &'a str,
    pub(crate) messages: Vec<Message<'a>>,
    pub(crate) stream: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) max_completion_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) max_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) temperature: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) usage: Option<Include>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) stream_options: Option<IncludeUsage>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) session_id: Option<String>,
}

/// One message. All its parts are text, so its content is one text.
#[derive(Debug, Serialize)]
pub(crate) struct Message<'a> {
    pub(crate) role: &'a str,
    pub(crate) content: Cow<'a, str>,
}

/// `{"include": true}`.
#[derive(Debug, Serialize)]
pub(crate) struct Include {
    pub(crate) include: bool,
}

/// `{"include_usage": true}`.
#[derive(Debug, Serialize)]
pub(crate) struct IncludeUsage {
    pub(crate) include_usage: bool,
}
