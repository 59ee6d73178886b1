//! What all formats of clients' files share: line ends, replacing a part of a text, and why a file is left alone.

/// Why a file is left alone, in words that quote nothing of it but names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Doubt(pub(super) String);

impl Doubt {
    pub(super) fn new(why: impl Into<String>) -> Self {
        Self(why.into())
    }
}

/// How lines end in a text.
pub(super) fn line_end(text: &str) -> &'static str {
    if text.contains("\r\n") { "\r\n" } else { "\n" }
}

/// The text with other bytes in place of a part of it.
pub(super) fn splice(text: &str, part: std::ops::Range<usize>, with: &str) -> String {
    [&text[..part.start], with, &text[part.end..]].concat()
}
