//! What a seat is told beside the question: its own system message, and under which name.
//!
//! Its words come from the user's settings, never from a model or a project's file; see [`crate::request::persona`].

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// The longest name of a persona in bytes: as long as that of a provider. It is typed by hand and shown in lists.
pub const NAME_BYTES_MAX: usize = 40;
/// The longest stance in characters: a sentence.
pub const STANCE_CHARS_MAX: usize = 300;

/// Whether this can be the name of a persona: lower-case letters, digits and `-`.
pub fn is_name(text: &str) -> bool {
    let is_letter = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    (1..=NAME_BYTES_MAX).contains(&text.len()) && text.bytes().all(is_letter)
}

/// What a seat is asked to argue from: a sentence, or one of two words.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Stance(Arc<str>);

impl Stance {
    /// The words that stand for a sentence, with it.
    const WORDS: [(&str, &str); 2] = [
        ("for", "you are for what the question proposes."),
        ("against", "you are against what the question proposes."),
    ];

    /// Reads a stance as people write it; `None` where it is empty, too long, or more than a line.
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

    /// What is to be argued from, in a sentence.
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

/// What a seat is told beside the question.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Brief {
    /// The name of its persona, where it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub persona: Option<String>,
    /// Its stance, where that is `for` or `against`. One in words of its own stands in `system` alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stance: Option<Stance>,
    /// Its own system message. `None` where it has none, and where texts are not kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub system: Option<Arc<str>>,
}

impl Brief {
    /// The same without its words.
    #[must_use]
    pub fn without_text(&self) -> Self {
        Self { system: None, ..self.clone() }
    }
}

impl fmt::Display for Brief {
    /// Under which name, for people: `critic`, `for`, or `critic, against`.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = [self.persona.as_deref(), self.stance.as_ref().and_then(Stance::word)];
        out.write_str(&names.into_iter().flatten().collect::<Vec<_>>().join(", "))
    }
}
