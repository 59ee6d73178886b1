//! The extractor of a vote: how the value of an answer is found, so that equal answers count together.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::text::json_pointer::Pointer;

/// The prefix of a JSON pointer.
const JSON: &str = "json:";
/// A model, in stored runs.
pub(super) const LLM: &str = "llm";

/// How the value of an answer is found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub enum Extractor {
    /// By the short answer in its text, if the question has one; else answers are compared word for word.
    #[default]
    Auto,
    /// By the value at this pointer in its JSON object.
    Json(Pointer),
    /// By a model that read all answers. Only stored runs have it.
    Llm,
}

impl Extractor {
    /// The accepted forms, as people write them.
    pub(super) const FORMS: [&str; 2] = ["auto", "json:/pointer"];

    /// Parses an extractor. `None` if there is no such extractor; an error if its pointer is wrong.
    pub(super) fn parse(text: &str) -> Option<Result<Self, String>> {
        match text {
            "auto" => Some(Ok(Self::Auto)),
            _ => text.strip_prefix(JSON).map(|pointer| Pointer::parse(pointer).map(Self::Json)),
        }
    }
}

impl fmt::Display for Extractor {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Auto => out.write_str("auto"),
            Self::Json(pointer) => write!(out, "{JSON}{pointer}"),
            Self::Llm => out.write_str(LLM),
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
        if text == LLM {
            return Ok(Self::Llm);
        }
        Self::parse(&text).unwrap_or_else(|| Err(format!("there is no extractor `{text}`")))
    }
}
