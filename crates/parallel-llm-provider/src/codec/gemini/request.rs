//! The body of a request in Google's protocol.

use serde::Serialize;

/// A request for content.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct GeminiRequest<'a> {
    pub(super) contents: Vec<GeminiContent<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) system_instruction: Option<GeminiContent<'a>>,
    pub(super) generation_config: GenerationConfig,
}

/// The message of one side.
#[derive(Debug, Serialize)]
pub(super) struct GeminiContent<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) role: Option<&'static str>,
    pub(super) parts: Vec<GeminiPart<'a>>,
}

/// A part of a message.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum GeminiPart<'a> {
    Text(&'a str),
    InlineData(InlineData<'a>),
}

/// A file.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct InlineData<'a> {
    pub(super) mime_type: &'a str,
    pub(super) data: &'a str,
}

/// Options.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct GenerationConfig {
    pub(super) max_output_tokens: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) temperature: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) thinking_config: Option<ThinkingConfig>,
}

/// How much to think.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged, rename_all_fields = "camelCase")]
pub(super) enum ThinkingConfig {
    Level { thinking_level: &'static str },
    Budget { thinking_budget: u32 },
}
