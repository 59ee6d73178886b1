//! The persona prompt of a seat: its own system message, persona name and stance.
//!
//! Its text comes from the user's settings, never from a model or a project's file; see [`crate::request::persona`].

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// The longest name of a persona in bytes, the same as for a provider. People type it and lists show it.
pub const NAME_BYTES_MAX: usize = 40;
/// The longest stance in characters: a sentence.
pub const STANCE_CHARS_MAX: usize = 300;

/// Whether this can be the name of a persona: lower-case letters, digits and `-`.
pub fn is_name(text: &str) -> bool {
    let is_letter = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    (1..=NAME_BYTES_MAX).contains(&text.len()) && text.bytes().all(is_letter)
}

/// The position a seat argues from: a sentence, or the word `for` or `against`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Stance(Arc<str>);

impl Stance {
    /// The words that abbreviate a sentence, each with its sentence.
    const WORDS: [(&str, &str); 2] = [
        ("for", "you are for what the question proposes."),
        ("against", "you are against what the question proposes."),
    ];

    /// Reads a stance as people write it; `None` if it is empty, too long, or more than a line.
    pub fn read(text: &str) -> Option<Self> {
        let text = text.trim();
        let is_line = !text.chars().any(char::is_control);
        (is_line && (1..=STANCE_CHARS_MAX).contains(&text.chars().count())).then(|| Self(text.into()))
    }

    /// Reads one of the two words.
    pub fn by_word(word: &str) -> Option<Self> {
        Self::WORDS.iter().find(|(known, _)| *known == word).map(|(known, _)| Self((*known).into()))
    }

    /// The word, where it is one of the two.
    pub fn word(&self) -> Option<&str> {
        Self::WORDS.iter().map(|(word, _)| *word).find(|word| **word == *self.0)
    }

    /// The stance as a sentence.
    pub fn sentence(&self) -> &str {
        Self::WORDS.iter().find(|(word, _)| **word == *self.0).map_or(&*self.0, |(_, sentence)| sentence)
    }
}

impl fmt::Display for Stance {
    /// As it was written.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

/// The persona prompt of a seat.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PersonaPrompt {
    /// The name of its persona, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub persona: Option<String>,
    /// Its stance, if that is `for` or `against`. A stance in other words is only in `system`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stance: Option<Stance>,
    /// Its own system message. `None` if it has none or texts are not kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub system: Option<Arc<str>>,
}

impl PersonaPrompt {
    /// A copy without the system message.
    #[must_use]
    pub fn without_text(&self) -> Self {
        Self { system: None, ..self.clone() }
    }
}

impl fmt::Display for PersonaPrompt {
    /// The names shown to people: `critic`, `for`, or `critic, against`.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = [self.persona.as_deref(), self.stance.as_ref().and_then(Stance::word)];
        out.write_str(&names.into_iter().flatten().collect::<Vec<_>>().join(", "))
    }
}
