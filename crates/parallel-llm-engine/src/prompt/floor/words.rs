//! The words of a text, for the checks of the floor.

use crate::text::shingles::{PieceKind, hashed, pieces};

/// A word with its place in the text.
#[derive(Clone, Copy, Debug)]
pub(super) struct Word<'a> {
    /// As it is written.
    pub(super) text: &'a str,
    /// The text before it, from the end of the word before.
    pub(super) before: &'a str,
}

/// The words of a text: runs of letters and digits. In a script without blanks a run is one word.
pub(super) fn words(text: &str) -> impl Iterator<Item = Word<'_>> {
    let mut before = "";
    pieces(text).filter_map(move |(kind, piece)| match kind {
        PieceKind::Between => {
            before = piece;
            None
        }
        PieceKind::Spaced | PieceKind::Unspaced => {
            Some(Word { text: piece, before: std::mem::take(&mut before) })
        }
    })
}

/// The words of a text in lower case.
pub(super) fn lower(text: &str) -> Vec<String> {
    words(text).map(|word| word.text.to_lowercase()).collect()
}

/// The first `bytes` bytes of a text, at most.
pub(super) fn head(text: &str, bytes: usize) -> &str {
    &text[..text.floor_char_boundary(bytes)]
}

/// The hashes of consecutive words, for every place where so many stand.
pub(super) fn windows(words: &[u64], count: usize) -> impl Iterator<Item = u64> {
    words.windows(count).map(hashed)
}
