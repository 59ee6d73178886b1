//! Replies in Anthropic's protocol: the events of a stream, and the message they form.

use serde::Deserialize;
use serde_json::value::RawValue;

/// One event, or a whole message; only the type is read here.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Event<'a> {
    #[serde(borrow, rename = "type")]
    pub(super) kind: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) message: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) content_block: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) delta: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) usage: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) error: Option<&'a RawValue>,
}

/// A message.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct WholeMessage<'a> {
    #[serde(borrow)]
    pub(super) id: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) model: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) content: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) stop_reason: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) usage: Option<&'a RawValue>,
}

/// A block of content, or its new part: text, thinking, its signature, or redacted thinking.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Block<'a> {
    #[serde(borrow)]
    pub(super) text: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) thinking: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) signature: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) data: Option<&'a RawValue>,
}

/// Why a message ended.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Ending<'a> {
    #[serde(borrow)]
    pub(super) stop_reason: Option<&'a RawValue>,
}

/// Tokens. A later event updates the values it contains.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct MessagesUsage<'a> {
    #[serde(borrow, rename = "input_tokens")]
    pub(super) new: Option<&'a RawValue>,
    #[serde(borrow, rename = "output_tokens")]
    pub(super) written: Option<&'a RawValue>,
    #[serde(borrow, rename = "cache_read_input_tokens")]
    pub(super) from_cache: Option<&'a RawValue>,
    #[serde(borrow, rename = "cache_creation_input_tokens")]
    pub(super) to_cache: Option<&'a RawValue>,
}
