//! Shared by all formats: line ends, replacing a part of a text, and why a file is left alone.

/// Why a file is left alone. Quotes nothing from it but names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct EditRefusal(pub(super) String);

impl EditRefusal {
    pub(super) fn new(why: impl Into<String>) -> Self {
        Self(why.into())
    }
}

/// The line end of a text.
pub(super) fn line_end(text: &str) -> &'static str {
    if text.contains("\r\n") { "\r\n" } else { "\n" }
}

/// The text with a part of it replaced.
pub(super) fn splice(text: &str, part: std::ops::Range<usize>, with: &str) -> String {
    [&text[..part.start], with, &text[part.end..]].concat()
}
