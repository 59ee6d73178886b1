//! What a caller may ask. Everything but the messages may be left out; [`crate::plan`] fills in the rest.

use serde::{Deserialize, Serialize};

use crate::money::PicoUsd;

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
#[non_exhaustive]
pub enum Part {
    /// Plain text.
    Text {
        /// The text, exactly as it is to be sent.
        text: String,
    },
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
        self.parts.iter().map(|part| match part {
            Part::Text { text } => text.as_str(),
        })
    }

    /// Bytes of text in the message.
    pub fn text_bytes(&self) -> u64 {
        self.texts().map(|text| text.len() as u64).sum()
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
    /// The time the whole run may take, in milliseconds.
    pub deadline_ms: Option<u64>,
    /// How long the caller itself waits before it gives up, in milliseconds, where that is known.
    pub client_wall_ms: Option<u64>,
    /// The most the run may cost.
    pub budget: Option<PicoUsd>,
    /// How much is stored.
    pub store: Option<StoreMode>,
    /// Whether answers are also written as files.
    pub files: Option<bool>,
}

impl RunRequest {
    /// Asks one question, everything else by default.
    pub fn prompt(prompt: impl Into<String>) -> Self {
        Self { messages: vec![Message::text(Role::User, prompt)], ..Self::default() }
    }
}
