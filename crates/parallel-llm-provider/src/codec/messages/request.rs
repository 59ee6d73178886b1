//! The body of a request in Anthropic's protocol.

use serde::Serialize;

/// A request for a streamed message.
#[derive(Debug, Serialize)]
pub(super) struct MessagesRequest<'a> {
    pub(super) model: &'a str,
    pub(super) max_tokens: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) system: Option<String>,
    pub(super) messages: Vec<InputMessage<'a>>,
    pub(super) stream: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) temperature: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) thinking: Option<ThinkingMode>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) output_config: Option<OutputConfig>,
}

/// One message of the conversation.
#[derive(Debug, Serialize)]
pub(super) struct InputMessage<'a> {
    pub(super) role: &'static str,
    pub(super) content: Vec<InputBlock<'a>>,
}

/// One block of a message.
#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "lowercase")]
pub(super) enum InputBlock<'a> {
    Text { text: &'a str },
    Image { source: Source<'a> },
    Document { source: Source<'a>, title: &'a str },
}

/// The bytes of a file.
#[derive(Debug, Serialize)]
pub(super) struct Source<'a> {
    #[serde(rename = "type")]
    pub(super) kind: &'static str,
    pub(super) media_type: &'a str,
    pub(super) data: &'a str,
}

/// Whether the model thinks before it answers. Budgets in tokens, which older models took, are refused by this year's
/// models.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "type", rename_all = "lowercase")]
pub(super) enum ThinkingMode {
    Adaptive,
    Disabled,
}

/// How much it thinks and writes.
#[derive(Debug, Serialize)]
pub(super) struct OutputConfig {
    pub(super) effort: &'static str,
}
