//! A request: the messages and options of one question. [`crate::plan`] fills in what it leaves open.

pub mod catalogue;
mod effort;
pub mod file_names;
pub mod flow;
mod lineage;
mod message;
pub mod panel;
pub mod persona;
pub mod persona_prompt;
pub mod price;
pub mod routing;
pub mod short_name;
pub mod strategy;
pub mod wait;

use serde::{Deserialize, Serialize};

use crate::value::money::PicoUsd;

pub use effort::Effort;
pub use lineage::{BatchLine, Lineage, VIA_HEADER};
pub use message::{
    Attachment, AttachmentKind, DOCUMENT_TOKENS_MAX, IMAGE_TOKENS, ImageDetail, Message, PACKED_RATIO_MAX,
    Part, Role,
};

/// The largest output cap of a call in tokens, several times that of any model: a larger one is a typing error.
pub const OUTPUT_TOKENS_MAX: u32 = 1_000_000;
/// The highest sampling temperature that any provider takes.
pub const TEMPERATURE_MAX: f64 = 2.0;

/// How much of a run the store keeps, the loosest first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
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

impl StoreMode {
    /// All modes, the loosest first.
    pub const ALL: [Self; 3] = [Self::Full, Self::Metadata, Self::None];

    /// The word in settings and options.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::Metadata => "metadata",
            Self::None => "none",
        }
    }

    /// The mode with this word, in any case.
    pub fn by_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|mode| mode.word().eq_ignore_ascii_case(word))
    }
}

/// Whether seats whose answers are counted are asked for the answer line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AnswerLine {
    /// Unless the question prescribes a form of its own, or plainly asks for more than a short answer.
    #[default]
    Auto,
    /// Never: the question is sent as it is.
    Off,
}

impl AnswerLine {
    /// Reads the word of the settings.
    pub fn by_word(word: &str) -> Option<Self> {
        [("auto", Self::Auto), ("off", Self::Off)]
            .into_iter()
            .find(|(known, _)| *known == word)
            .map(|(_, line)| line)
    }
}

/// Who says which short answers that are written differently mean the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Equivalence {
    /// Nobody: what is written differently differs.
    Off,
    /// This model, as written.
    Model(String),
    /// The cheapest of these models.
    CheapestOf(Vec<String>),
}

impl Equivalence {
    /// The model that the user names.
    pub fn named(&self) -> Option<&String> {
        match self {
            Self::Model(reference) => Some(reference),
            Self::Off | Self::CheapestOf(_) => None,
        }
    }

    /// The models among which is the one that is asked.
    pub fn references_mut(&mut self) -> &mut [String] {
        match self {
            Self::Off => &mut [],
            Self::Model(reference) => std::slice::from_mut(reference),
            Self::CheapestOf(references) => references,
        }
    }
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
    /// The preset or flow whose values fill it up, by its name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preset: Option<String>,
    /// What its run passes on to the calls it makes.
    #[serde(default)]
    pub lineage: Lineage,
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
