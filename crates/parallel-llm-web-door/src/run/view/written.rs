//! A text on its way as a page has it: blocks of safe HTML, the last of which may still change.
//!
//! Each block is rendered here as it grows, and the page gets what is new in it, so a text has its form from its first words on and
//! its bytes are sent once. Blocks that no further text can change are finished; the source from there on is rendered again with
//! each piece. Invariant: when a text has ended, the page has what [`markdown::blocks`] makes of the whole, or gets it anew.

use std::fmt;
use std::num::ParseIntError;
use std::str::FromStr;

use serde::Serialize;

use crate::text::markdown::{self, BlockStart, Growing, OpenBlock};

/// The text of a page, and how it goes on from the next piece.
#[derive(Default)]
pub(crate) struct Written {
    /// The level of the page's heading above it.
    heading: usize,
    /// The bytes of the text that the page has.
    bytes: usize,
    /// Where the blocks begin that may still change.
    place: BlockStart,
    /// Those blocks.
    open: Vec<OpenBlock>,
    /// How many came before them, and what they are.
    finished: usize,
    chain: Chain,
}

/// Blocks by a hash: that of all before with the next. A page keeps it and names it when it connects again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Chain(u64);

/// Where a page is in a text in progress.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TextPosition {
    /// Where its open blocks begin.
    pub(crate) at: usize,
    /// The bytes of the text that it has.
    pub(crate) bytes: usize,
    /// Its finished blocks.
    pub(crate) finished: usize,
    pub(crate) chain: Chain,
}

/// A text on its way in a page, from its first block on.
pub(crate) struct WritingView {
    pub(crate) id: String,
    pub(crate) position: TextPosition,
    pub(crate) html: String,
}

/// What a text has more than before.
#[derive(Debug, Default, PartialEq, Serialize)]
pub(crate) struct TextPiece {
    slot: String,
    /// How many of the open blocks stay.
    keep: usize,
    /// Where the next one changes, in units of UTF-16.
    from: usize,
    /// The blocks behind those that stay, the first from there on.
    html: Vec<String>,
    /// How many open blocks are finished then.
    finished: usize,
    /// Where the others begin, and the bytes of the text up to now.
    at: usize,
    bytes: usize,
    /// All finished blocks by their hash; left out if none has been finished.
    #[serde(skip_serializing_if = "Option::is_none")]
    chain: Option<String>,
    /// Whether the text begins anew.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    is_anew: bool,
    /// Whether the text has ended.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    is_whole: bool,
}

impl TextPiece {
    /// The same piece, of this slot.
    pub(crate) fn of(self, slot: String) -> Self {
        Self { slot, ..self }
    }

    /// The bytes of its blocks.
    pub(crate) fn html_bytes(&self) -> usize {
        self.html.iter().map(String::len).sum()
    }
}

impl Written {
    /// A text of which a page has nothing.
    pub(crate) fn none(heading: usize) -> Self {
        Self { heading, ..Self::default() }
    }

    /// A text that a page has up to this position.
    pub(crate) fn resumed(text: &str, position: TextPosition, heading: usize) -> Self {
        let TextPosition { at, bytes, finished, chain } = position;
        let Some(known) = text.get(..at).filter(|_| bytes <= text.len()) else { return Self::none(heading) };
        let place = markdown::place_behind(known, heading);
        Self { heading, bytes, place, open: Vec::new(), finished, chain }
    }

    /// The whole text so far, for a page that is loaded.
    pub(crate) fn view(id: String, text: &str, heading: usize) -> WritingView {
        let mut written = Self::none(heading);
        let piece = written.advance(text).unwrap_or_default();
        WritingView { id, position: written.position(), html: piece.html.concat() }
    }

    /// Where the page is.
    const fn position(&self) -> TextPosition {
        TextPosition { at: self.place.at, bytes: self.bytes, finished: self.finished, chain: self.chain }
    }

    /// The bytes of the text that the page has.
    pub(crate) const fn bytes(&self) -> usize {
        self.bytes
    }

    /// What the text has more than the page, if anything.
    pub(crate) fn advance(&mut self, text: &str) -> Option<TextPiece> {
        let (text, _) = markdown::bounded(text);
        // A text shorter than before is that of another try.
        let is_anew = text.len() < self.bytes || !text.is_char_boundary(self.place.at);
        if is_anew {
            *self = Self::none(self.heading);
        } else if text.len() == self.bytes {
            return None;
        }
        self.bytes = text.len();
        let Growing { blocks, finished, next } =
            markdown::growing(text, self.place, self.heading, &self.open);
        self.place = next;
        Some(TextPiece { is_anew, ..self.replace(blocks, finished) })
    }

    /// The rest of a text that has ended; `None` if the page has something else than the whole, or the whole is too long for it.
    pub(crate) fn end(&mut self, text: &str) -> Option<TextPiece> {
        let (text, is_cut) = markdown::bounded(text);
        let mut blocks = markdown::blocks(text, self.heading).into_iter();
        let finished = blocks.by_ref().take(self.finished);
        let chain = finished.fold(Chain::default(), |chain, block| chain.with(&block));
        if is_cut || self.bytes == 0 || chain != self.chain {
            return None;
        }
        self.bytes = text.len();
        self.place.at = text.len();
        let open: Vec<OpenBlock> = blocks.map(OpenBlock::of).collect();
        let finished = open.len();
        Some(TextPiece { is_whole: true, ..self.replace(open, finished) })
    }

    /// Puts these blocks in place of the open ones, and finishes the first of them.
    fn replace(&mut self, blocks: Vec<OpenBlock>, finished: usize) -> TextPiece {
        let pairs = || self.open.iter().zip(&blocks);
        let keep = pairs().take_while(|(old, new)| old.html == new.html).count();
        let (from, bytes) =
            pairs().nth(keep).map(|(old, new)| shared(&old.html, &new.html)).unwrap_or_default();
        let mut html: Vec<String> = blocks[keep..].iter().map(|block| block.html.clone()).collect();
        if let Some(first) = html.first_mut() {
            first.drain(..bytes);
        }
        self.finished += finished;
        self.chain = blocks[..finished].iter().fold(self.chain, |chain, block| chain.with(&block.html));
        self.open = blocks;
        self.open.drain(..finished);
        let (at, bytes) = (self.place.at, self.bytes);
        let chain = (finished > 0).then(|| self.chain.to_string());
        TextPiece { keep, from, html, finished, at, bytes, chain, ..TextPiece::default() }
    }
}

impl Chain {
    fn with(self, html: &str) -> Self {
        let hash = blake3::Hasher::new().update(&self.0.to_le_bytes()).update(html.as_bytes()).finalize();
        // Eight bytes tell one page's texts apart.
        Self(hash.as_bytes().iter().take(8).fold(0, |sum, byte| sum << 8 | u64::from(*byte)))
    }
}

impl fmt::Display for Chain {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{:x}", self.0)
    }
}

impl FromStr for Chain {
    type Err = ParseIntError;

    fn from_str(text: &str) -> Result<Self, ParseIntError> {
        u64::from_str_radix(text, 16).map(Self)
    }
}

/// How far two texts are the same: in units of UTF-16 and in bytes.
fn shared(one: &str, other: &str) -> (usize, usize) {
    let same = one.chars().zip(other.chars()).take_while(|(one, other)| one == other);
    same.fold((0, 0), |(units, bytes), (same, _)| (units + same.len_utf16(), bytes + same.len_utf8()))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A page as its script keeps it: its blocks, and the place of the open ones.
    #[derive(Default)]
    struct Page {
        blocks: Vec<String>,
        finished: usize,
    }

    impl Page {
        fn take(&mut self, piece: &TextPiece) {
            if piece.is_anew {
                self.finished = 0;
            }
            let at = self.finished + piece.keep;
            let kept: Vec<u16> =
                self.blocks.get(at).map(|block| block.encode_utf16().collect()).unwrap_or_default();
            let kept = String::from_utf16(&kept[..piece.from]).unwrap();
            self.blocks.truncate(at);
            self.blocks.extend(piece.html.iter().cloned());
            if let Some(first) = self.blocks.get_mut(at) {
                first.insert_str(0, &kept);
            }
            self.finished += piece.finished;
        }
    }

    /// Writes a text in these pieces. Returns the page, and whether its end needed nothing anew.
    fn written(pieces: &[&str]) -> (Page, bool) {
        let (mut page, mut written, mut text) = (Page::default(), Written::none(3), String::new());
        for piece in pieces {
            text.push_str(piece);
            if let Some(piece) = written.advance(&text) {
                page.take(&piece);
            }
            if text.len() % 7 == 0 {
                // The page connects again: it knows where its open blocks begin, and not what is in them.
                written = Written::resumed(&text, written.position(), 3);
                page.blocks.truncate(page.finished);
            }
        }
        let end = written.end(&text);
        if let Some(end) = &end {
            page.take(end);
        }
        (page, end.is_some())
    }

    fn whole(text: &str) -> Vec<String> {
        markdown::blocks(text, 3)
    }

    #[test]
    fn an_answer_is_sent_once_whatever_its_form() {
        let text = "# Plan\n\nUse *a* **small** `step`, see [this](https://example.com).\nThen \\(a_1\\) and $5.\n\n\
            1. One\n   - in *it*\n\n2. Two\n\n```rust\nfn main() {}\n\n// `end`\n```\n\n> Quoted\n> twice\n\n\
            | a | b |\n|---|---|\n| 1 | 2 |\n\n\\[\nx = y \\\\\n\n- z\n\\]\n\nعربي é 🙂\n\n## End\n\n---\n\nDone.";
        let letters: Vec<String> = text.chars().map(String::from).collect();
        let (page, is_sent_once) = written(&letters.iter().map(String::as_str).collect::<Vec<_>>());
        assert_eq!(page.blocks, whole(text));
        assert!(is_sent_once);
    }

    #[test]
    fn another_try_begins_anew() {
        let mut written = Written::none(3);
        written.advance("One.\n\nTwo.").unwrap();
        let piece = written.advance("An").unwrap();
        assert!(piece.is_anew);
        assert_eq!(piece.html, ["<p>An</p>\n"]);
    }

    proptest! {
        #[test]
        fn a_page_has_at_the_end_what_the_whole_text_is(
            pieces in prop::collection::vec(prop::sample::select(vec![
                "word ", "\n", "\n\n", "- ", "1. ", "  ", "> ", "# ", "*", "**", "`", "```\n", "~~~", "|", "|--|\n", "[a](", ")", "](<", ">",
                "<b>", "\\", "$", "\\(", "\\)", "\\[", "\\]", "---\n", "é", "🙂", "\u{1}", "$5 ", "[r]: x\n", "[r]", "\\begin{a}", "\\end{a}",
            ]), 1..60),
        ) {
            let (page, is_sent_once) = written(&pieces);
            if is_sent_once {
                prop_assert_eq!(page.blocks, whole(&pieces.concat()));
            }
        }
    }
}
