//! A request: the messages and options of one question. [`crate::plan`] fills in what it leaves open.

pub mod catalogue;
pub mod file_names;
pub mod panel;
pub mod persona;
pub mod persona_prompt;
pub mod routing;
pub mod short_name;
pub mod strategy;
pub mod wait;

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::value::money::PicoUsd;
use crate::value::usage::BYTES_PER_TOKEN;

/// The tokens a picture is counted as. By the published formulas, large pictures take about 1,600.
const IMAGE_TOKENS: u64 = 2_000;
/// The most tokens a document is counted as: the hundred pages providers accept, at 3,000 tokens each. A smaller document
/// counts by its bytes like text, which is near for compressed pages and too much for scans.
const DOCUMENT_TOKENS_MAX: u64 = 300_000;

/// Who speaks in a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Instructions for the whole conversation.
    System,
    /// The person who asks.
    User,
    /// A model, earlier in the conversation.
    Assistant,
}

/// A piece of a message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Part {
    /// Plain text.
    Text {
        /// The text, sent exactly as it is.
        text: String,
    },
    /// A picture or a document.
    File(Attachment),
}

/// A file sent unchanged with a message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attachment {
    /// Its name, without a folder.
    pub name: String,
    /// Its media type, such as `image/png`.
    pub media_type: String,
    /// Its bytes in Base64 with the standard alphabet and padding, the form that every protocol sends.
    pub base64: Arc<str>,
}

/// How a model treats a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AttachmentKind {
    /// A picture.
    Image,
    /// A document with pages, such as a PDF.
    Document,
}

impl AttachmentKind {
    /// Its name in messages.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Image => "image",
            Self::Document => "document",
        }
    }
}

impl Attachment {
    /// Its kind by media type: an image, else a document.
    pub fn kind(&self) -> AttachmentKind {
        if self.media_type.starts_with("image/") { AttachmentKind::Image } else { AttachmentKind::Document }
    }

    /// Its size in bytes.
    pub fn bytes(&self) -> u64 {
        let padding = self.base64.bytes().rev().take_while(|byte| *byte == b'=').count();
        (self.base64.len() / 4 * 3).saturating_sub(padding) as u64
    }

    /// The bytes of text that take about as many tokens, for estimates.
    fn weight_bytes(&self) -> u64 {
        let tokens = match self.kind() {
            AttachmentKind::Image => IMAGE_TOKENS,
            AttachmentKind::Document => {
                self.bytes().min(DOCUMENT_TOKENS_MAX * BYTES_PER_TOKEN) / BYTES_PER_TOKEN
            }
        };
        tokens * BYTES_PER_TOKEN
    }
}

/// How much reasoning a model is asked for. A provider without a level gets the nearest it has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Effort {
    /// No reasoning, if the model allows it.
    None,
    /// The least.
    Minimal,
    /// A little.
    Low,
    /// The usual amount.
    Medium,
    /// Much.
    High,
    /// Very much.
    Xhigh,
    /// The most.
    Max,
}

impl Effort {
    /// All levels, from none to the most.
    pub const ALL: &[Self] =
        &[Self::None, Self::Minimal, Self::Low, Self::Medium, Self::High, Self::Xhigh, Self::Max];

    /// The word in settings, options and most protocols.
    pub const fn word(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Minimal => "minimal",
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
            Self::Xhigh => "xhigh",
            Self::Max => "max",
        }
    }

    /// The nearest level a provider accepts. Of two equally near ones it is the higher, so that rounding does not switch
    /// reasoning off. Without accepted levels it is this one.
    #[must_use]
    pub fn nearest(self, accepted: &[Self]) -> Self {
        let distance = |other: Self| (other as u8).abs_diff(self as u8);
        let nearest =
            accepted.iter().copied().min_by_key(|other| (distance(*other), std::cmp::Reverse(*other)));
        nearest.unwrap_or(self)
    }

    /// The level with this word.
    pub fn by_word(word: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|effort| effort.word() == word)
    }
}

/// One message of a conversation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Message {
    /// Who speaks.
    pub role: Role,
    /// Its parts, in order.
    pub parts: Vec<Part>,
}

impl Message {
    /// A message of one text.
    pub fn text(role: Role, text: impl Into<String>) -> Self {
        Self { role, parts: vec![Part::Text { text: text.into() }] }
    }

    /// All text of the message, in order.
    pub fn texts(&self) -> impl Iterator<Item = &str> {
        self.parts.iter().filter_map(|part| match part {
            Part::Text { text } => Some(text.as_str()),
            Part::File(_) => None,
        })
    }

    /// All files of the message, in order.
    pub fn files(&self) -> impl Iterator<Item = &Attachment> {
        self.parts.iter().filter_map(|part| match part {
            Part::Text { .. } => None,
            Part::File(file) => Some(file),
        })
    }

    /// Bytes of text in the message.
    pub fn text_bytes(&self) -> u64 {
        self.texts().map(|text| text.len() as u64).sum()
    }

    /// The size of the message as input, in bytes: its text, and the text its files count as.
    pub fn weight_bytes(&self) -> u64 {
        self.text_bytes() + self.files().map(Attachment::weight_bytes).sum::<u64>()
    }
}

/// How much of a run the store keeps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum StoreMode {
    /// Everything.
    #[default]
    Full,
    /// Events, costs and reasons, but neither prompts nor answers.
    Metadata,
    /// Nothing; the run lives in memory only.
    None,
}

/// One question and its options. `None` means the value of the settings.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RunRequest {
    /// The conversation; the last message is the question.
    pub messages: Vec<Message>,
    /// Model references, one per entry, as typed.
    pub models: Option<Vec<String>>,
    /// A model reference to put in front of the configured synthesizers, as typed.
    pub synthesizer: Option<String>,
    /// The strategy and its options, as typed.
    pub strategy: Option<String>,
    /// Sampling temperature, 0 to 2. Left to each provider when `None`.
    pub temperature: Option<f64>,
    /// Output cap of each call in tokens, reasoning included.
    pub max_tokens: Option<u32>,
    /// The reasoning effort of the panel. Left to each model when `None`.
    pub effort: Option<Effort>,
    /// The deadline of the whole run, in milliseconds.
    pub deadline_ms: Option<u64>,
    /// The client timeout in milliseconds, if it is known. Named in JSON as in the settings.
    #[serde(rename = "client_wall_ms")]
    pub client_timeout_ms: Option<u64>,
    /// The most the run may cost.
    pub budget: Option<PicoUsd>,
    /// How much is stored.
    pub store: Option<StoreMode>,
    /// Whether answers are also written as files.
    pub files: Option<bool>,
    /// The principal who asks. Equal questions of different principals are different questions.
    #[serde(default)]
    pub asked_by: Option<String>,
    /// The idempotency key: a question asked again with the same key returns the same run, whenever that is.
    #[serde(default)]
    pub idempotency_key: Option<String>,
    /// Whether to begin a new run even if an earlier run of the same question has answers or is in progress.
    #[serde(default)]
    pub fresh: bool,
}

impl RunRequest {
    /// A request with this prompt and no options.
    pub fn prompt(prompt: impl Into<String>) -> Self {
        Self { messages: vec![Message::text(Role::User, prompt)], ..Self::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_effort_is_rounded_up_and_never_to_none() {
        let common = [Effort::None, Effort::Low, Effort::Medium, Effort::High];
        let rounded = |effort: Effort| effort.nearest(&common);
        assert_eq!(
            Effort::ALL.iter().copied().map(rounded).collect::<Vec<_>>(),
            [
                Effort::None,
                Effort::Low,
                Effort::Low,
                Effort::Medium,
                Effort::High,
                Effort::High,
                Effort::High,
            ]
        );
        assert_eq!(Effort::Max.nearest(&[]), Effort::Max);
    }
}
