//! Texts taken apart into words and phrases, so that two of them can be compared.
//!
//! Pure, and rough on purpose: by it is decided which answer stands where nobody can fuse, and what a report says of a
//! text's sources, never what a text means. What always holds: it works for every script, with spaces between its words
//! or without.

use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hash, Hasher};

/// Words taken of a text. Enough for any answer a person reads; keeps 64 long ones cheap to compare.
const WORDS_MAX: usize = 5_000;
/// Words that make a phrase: three in a row are rarely the same by chance where the thought is not.
const PHRASE_WORDS: usize = 3;
/// Characters that count as a word where words are not spaced, each overlapping the next: about a word of Japanese or
/// Thai, one or two of Chinese.
const GRAM_CHARS: usize = 3;

/// The words of a text, in lower case and without punctuation, by their hashes: the run waits for this, and a word taken
/// for another costs nothing but a little precision.
pub(crate) fn words(text: &str) -> Vec<u64> {
    first_words(text, WORDS_MAX)
}

/// Every run of [`PHRASE_WORDS`] words of a text, by its hash.
pub(crate) fn phrases(text: &str) -> BTreeSet<u64> {
    words(text).windows(PHRASE_WORDS).map(hash).collect()
}

/// The same of a text however long it is: its caller has measured it.
pub(crate) fn all_phrases(text: &str) -> Vec<u64> {
    first_words(text, usize::MAX).windows(PHRASE_WORDS).map(hash).collect()
}

fn first_words(text: &str, words_max: usize) -> Vec<u64> {
    let words = pieces(text).flat_map(|(kind, piece)| match kind {
        PieceKind::Between => Vec::new(),
        PieceKind::Spaced => vec![hash(&piece.to_lowercase())],
        PieceKind::Unspaced => grams(piece, words_max),
    });
    words.take(words_max).collect()
}

/// The hash of a text letter by letter; only the blanks at its end and how its lines end do not count. Case, indentation and
/// marks do: `print(t)` in a loop and behind it are two programs.
pub(crate) fn exact(text: &str) -> blake3::Hash {
    let mut hasher = blake3::Hasher::new();
    for piece in text.trim_end().split("\r\n") {
        hasher.update(piece.as_bytes()).update(b"\n");
    }
    hasher.finalize()
}

/// What a character is to the words around it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum PieceKind {
    /// It stands between words.
    Between,
    /// It belongs to a word that ends at a space.
    Spaced,
    /// It belongs to a script that puts no spaces between words: Chinese, Japanese, Thai, Lao, Burmese, Khmer.
    Unspaced,
}

impl PieceKind {
    fn of(character: char) -> Self {
        match character {
            '\u{3001}'..='\u{3004}' | '\u{3008}'..='\u{3020}' | '\u{30fb}' => Self::Between,
            '\u{e00}'..='\u{eff}'
            | '\u{1000}'..='\u{109f}'
            | '\u{1780}'..='\u{17ff}'
            | '\u{3005}'..='\u{30ff}'
            | '\u{3400}'..='\u{9fff}'
            | '\u{f900}'..='\u{faff}'
            | '\u{ff66}'..='\u{ff9f}'
            | '\u{20000}'..='\u{3ffff}' => Self::Unspaced,
            _ if character.is_alphanumeric() => Self::Spaced,
            _ => Self::Between,
        }
    }
}

/// A text from its beginning, piece by piece, each of one kind.
fn pieces(text: &str) -> impl Iterator<Item = (PieceKind, &str)> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let kind = PieceKind::of(rest.chars().next()?);
        let end = rest.find(|character| PieceKind::of(character) != kind).unwrap_or(rest.len());
        let (piece, after) = rest.split_at(end);
        rest = after;
        Some((kind, piece))
    })
}

/// A piece without spaces as if it had words.
fn grams(piece: &str, words_max: usize) -> Vec<u64> {
    let chars_max = words_max.saturating_add(GRAM_CHARS - 1);
    let characters: Vec<char> = piece.chars().take(chars_max).collect();
    characters.windows(GRAM_CHARS.min(characters.len())).map(hash).collect()
}

fn hash<T: Hash + ?Sized>(value: &T) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shared(one: &str, other: &str) -> (usize, usize) {
        let (one, other) = (words(one), words(other));
        (one.iter().filter(|word| other.contains(word)).count(), one.len())
    }

    #[test]
    fn words_are_compared_in_every_script() {
        assert_eq!(shared("The answer is 42.", "the ANSWER: it is 42"), (4, 4));
        // Twelve characters have ten overlapping threes, the last two have one piece of their own.
        assert_eq!(shared("月球和太阳的引力引起潮汐。海洋", "潮汐由月球和太阳的引力引起"), (8, 11));
        assert_eq!(shared("潮の満ち引きは月の引力による", "月の引力による潮"), (5, 12));
        assert_eq!(shared("น้ำขึ้นน้ำลง", "น้ำขึ้น"), (6, 10));
        assert_eq!(shared("GPT模型", "gpt"), (1, 2));
        assert!(words("… — !").is_empty());
        assert_eq!(words(&"潮".repeat(9_000)).len(), WORDS_MAX);
    }

    #[test]
    fn phrases_are_three_words_in_a_row() {
        let common = |one: &str, other: &str| phrases(one).intersection(&phrases(other)).count();
        assert_eq!(common("The moon pulls the sea.", "So the moon pulls it."), 1);
        assert_eq!(common("月球的引力", "因为月球的引力很大"), 1);
        assert_eq!(common("月球的引力", "太阳的引力"), 0);
    }

    #[test]
    fn only_the_blanks_at_its_end_make_no_other_text() {
        assert_eq!(exact("a\r\nb \n\n"), exact("a\nb"));
        for (one, other) in [
            ("rm -r ./Build", "rm -r ./build"),
            ("for t in ts:\n    print(t)", "for t in ts:\nprint(t)"),
            ("He is alive!", "He is alive?"),
            ("4.2", "42"),
            ("a  b", "a b"),
            ("a\u{200b}b", "ab"),
            ("раypal", "paypal"),
            ("a\n\nb", "a\nb"),
            (" a", "a"),
        ] {
            assert_ne!(exact(one), exact(other), "{one}");
        }
    }
}
