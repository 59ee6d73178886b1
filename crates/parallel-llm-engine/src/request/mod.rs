//! What a caller may ask. Everything but the messages may be left out; [`crate::plan`] fills in the rest.

pub mod catalogue;
pub mod file_names;
pub mod panel;
pub mod persona;
pub mod persona_prompt;
pub mod routing;
pub mod strategy;
pub mod wait;

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::value::money::PicoUsd;
use crate::value::usage::BYTES_PER_TOKEN;

/// What a picture is counted as. Large ones come to some 1,600 tokens at the labs that publish a formula.
const IMAGE_TOKENS: u64 = 2_000;
/// The most a document is counted as: a hundred pages, which is where providers stop, at 3,000 tokens each. Below
/// that its bytes are counted like text, which for a compressed page is near and for a scan is too much.
const DOCUMENT_TOKENS_MAX: u64 = 300_000;

/// Who speaks in a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Instructions that stand above the conversation.
    System,
    /// The person asking.
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
        /// The text, exactly as it is to be sent.
        text: String,
    },
    /// A picture or a document.
    File(Attachment),
}

/// A file that goes along with a message, as it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attachment {
    /// Its name, without a folder.
    pub name: String,
    /// Its media type, such as `image/png`.
    pub media_type: String,
    /// Its bytes in Base64 with the standard alphabet and padding, the form that every protocol sends.
    pub base64: Arc<str>,
}

/// What a file is to a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AttachmentKind {
    /// A picture.
    Image,
    /// Pages: a PDF.
    Document,
}

impl AttachmentKind {
    /// The word for people.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Image => "image",
            Self::Document => "document",
        }
    }
}

impl Attachment {
    /// What it is to a model: a picture by its media type, everything else a document.
    pub fn kind(&self) -> AttachmentKind {
        if self.media_type.starts_with("image/") { AttachmentKind::Image } else { AttachmentKind::Document }
    }

    /// Its size in bytes.
    pub fn bytes(&self) -> u64 {
        let padding = self.base64.bytes().rev().take_while(|byte| *byte == b'=').count();
        (self.base64.len() / 4 * 3).saturating_sub(padding) as u64
    }

    /// Bytes of text that cost about as many tokens, for estimates.
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

/// How hard a model is asked to think. What a provider has no word for is the nearest it has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Effort {
    /// Not at all, where the model can do without.
    None,
    /// As little as can be.
    Minimal,
    /// A little.
    Low,
    /// As usual.
    Medium,
    /// Much.
    High,
    /// Very much.
    Xhigh,
    /// As much as can be.
    Max,
}

impl Effort {
    /// Every effort, from none to all.
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

    /// The nearest of those a provider has words for; of two as near, the greater, so that thinking is not switched off
    /// by rounding. Itself where there are none.
    #[must_use]
    pub fn nearest(self, accepted: &[Self]) -> Self {
        let distance = |other: Self| (other as u8).abs_diff(self as u8);
        let nearest =
            accepted.iter().copied().min_by_key(|other| (distance(*other), std::cmp::Reverse(*other)));
        nearest.unwrap_or(self)
    }

    /// Finds an effort by its word.
    pub fn by_word(word: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|effort| effort.word() == word)
    }
}

/// One message of a conversation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Message {
    /// Who speaks.
    pub role: Role,
    /// What is said, in order.
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

    /// What the message weighs as input: its text, and text that would cost as much as its files.
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

/// One question and the caller's wishes. `None` means "as the settings say".
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RunRequest {
    /// The conversation; the last message is the question.
    pub messages: Vec<Message>,
    /// Model references, one per entry, as typed.
    pub models: Option<Vec<String>>,
    /// A model reference to put in front of the configured synthesizers, as typed.
    pub synthesizer: Option<String>,
    /// How answers become one text, by name.
    pub strategy: Option<String>,
    /// Sampling temperature, 0 to 2. Left to each provider when `None`.
    pub temperature: Option<f64>,
    /// Output cap of each call in tokens, reasoning included.
    pub max_tokens: Option<u32>,
    /// How hard the panel is asked to think. Left to each model when `None`.
    pub effort: Option<Effort>,
    /// The time the whole run may take, in milliseconds.
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
    /// Who asks. Questions of different askers are never taken for the same.
    #[serde(default)]
    pub asked_by: Option<String>,
    /// The caller's own name for this question: asked again under it, the same run is given, whenever that is.
    #[serde(default)]
    pub idempotency_key: Option<String>,
    /// Whether all of it is asked anew, although an earlier run of the same question has answers or is under way.
    #[serde(default)]
    pub fresh: bool,
}

impl RunRequest {
    /// Asks one question, everything else by default.
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
