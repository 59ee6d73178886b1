//! How it is found what an answer comes to, so that those that come to the same can be counted together.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::text::json_pointer::Pointer;

/// What stands before a pointer.
const JSON: &str = "json:";

/// How it is found what an answer comes to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub enum Extractor {
    /// By its wording, where the question has one short right answer; else answers are compared word for word.
    #[default]
    Auto,
    /// By the value at this place of the JSON object in it.
    Json(Pointer),
    /// By what a model says that reads all answers.
    Llm,
}

impl Extractor {
    /// What may stand there, as it is written.
    pub(super) const FORMS: [&str; 3] = ["auto", "json:/pointer", "llm"];

    /// Reads it as it is written; `None` where there is no such extractor, or what is wrong with its pointer.
    pub(super) fn parse(text: &str) -> Option<Result<Self, String>> {
        match text {
            "auto" => Some(Ok(Self::Auto)),
            "llm" => Some(Ok(Self::Llm)),
            _ => text.strip_prefix(JSON).map(|pointer| Pointer::parse(pointer).map(Self::Json)),
        }
    }
}

impl fmt::Display for Extractor {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Auto => out.write_str("auto"),
            Self::Json(pointer) => write!(out, "{JSON}{pointer}"),
            Self::Llm => out.write_str("llm"),
        }
    }
}

impl From<Extractor> for String {
    fn from(extractor: Extractor) -> Self {
        extractor.to_string()
    }
}

impl TryFrom<String> for Extractor {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        Self::parse(&text).unwrap_or_else(|| Err(format!("there is no extractor `{text}`")))
    }
}
