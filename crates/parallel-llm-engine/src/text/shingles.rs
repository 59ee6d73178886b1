//! Word shingles: splits texts into hashed words and phrases, so that two texts can be compared.
//!
//! The comparison is rough on purpose. It selects a fallback answer and finds the sources of a text, but never decides what a
//! text means. It works for every script, with or without spaces between words.

use std::collections::HashSet;
use std::hash::{BuildHasher, Hash};

use foldhash::fast::FixedState;

/// The most words of a text that are compared: enough for any answer a person reads, and cheap for 64 long ones.
const WORDS_MAX: usize = 5_000;
/// The words of a phrase: three words in a row are rarely equal by chance.
const PHRASE_WORDS: usize = 3;
/// The characters of an overlapping gram, which counts as a word in scripts without spaces: about one word of Japanese or Thai,
/// one or two of Chinese.
const GRAM_CHARS: usize = 3;

/// The hashes of the words of a text, in lower case and without punctuation. Hashes are fast, and a collision costs only a
/// little precision.
pub(crate) fn words(text: &str) -> Shingles {
    first_words(text, WORDS_MAX).into_iter().collect()
}

/// The hashes of words or phrases.
pub(crate) type Shingles = HashSet<u64, FixedState>;

/// The hashes of all phrases of [`PHRASE_WORDS`] words.
pub(crate) fn phrases(text: &str) -> Shingles {
    first_words(text, WORDS_MAX).windows(PHRASE_WORDS).map(hash).collect()
}

/// As [`phrases`], for a text of any length: the caller bounds it.
pub(crate) fn all_phrases(text: &str) -> Vec<u64> {
    first_words(text, usize::MAX).windows(PHRASE_WORDS).map(hash).collect()
}

/// The hashes of all words in their order, for a text of any length: the caller bounds it.
pub(crate) fn all_words(text: &str) -> Vec<u64> {
    first_words(text, usize::MAX)
}

/// The hash of consecutive words.
pub(crate) fn hashed(words: &[u64]) -> u64 {
    hash(words)
}

/// The hash of one word.
pub(crate) fn hash_of(word: &str) -> u64 {
    hash(word)
}

fn first_words(text: &str, words_max: usize) -> Vec<u64> {
    let mut words = Vec::new();
    for (kind, piece) in pieces(text) {
        match kind {
            PieceKind::Between => {}
            PieceKind::Spaced if piece.bytes().any(|byte| byte.is_ascii_uppercase() || !byte.is_ascii()) => {
                words.push(hash(&*piece.to_lowercase()));
            }
            PieceKind::Spaced => words.push(hash(piece)),
            PieceKind::Unspaced => words.extend(grams(piece, words_max)),
        }
        if words.len() >= words_max {
            words.truncate(words_max);
            break;
        }
    }
    words
}

/// The hash of an exact text, without trailing blanks and with normalized line ends. Case, indentation and punctuation count:
/// `print(t)` inside and after a loop are two programs.
pub(crate) fn exact(text: &str) -> blake3::Hash {
    let mut hasher = blake3::Hasher::new();
    for piece in text.trim_end().split("\r\n") {
        hasher.update(piece.as_bytes()).update(b"\n");
    }
    hasher.finalize()
}

/// How a character relates to words.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum PieceKind {
    /// Between words.
    Between,
    /// Part of a word in a script with spaces.
    Spaced,
    /// Part of a script without spaces between words: Chinese, Japanese, Thai, Lao, Burmese, Khmer.
    Unspaced,
}

impl PieceKind {
    fn of(character: char) -> Self {
        match character {
            'a'..='z' | 'A'..='Z' | '0'..='9' => Self::Spaced,
            '\0'..='\u{7f}' | '\u{3001}'..='\u{3004}' | '\u{3008}'..='\u{3020}' | '\u{30fb}' => Self::Between,
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

/// Splits a text into pieces of one kind.
pub(crate) fn pieces(text: &str) -> impl Iterator<Item = (PieceKind, &str)> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let kind = PieceKind::of(rest.chars().next()?);
        let (piece, after) = rest.split_at(piece_end(rest, kind));
        rest = after;
        Some((kind, piece))
    })
}

/// Where the piece of this kind at the beginning of a text ends. Most texts are ASCII, whose bytes need no decoding.
fn piece_end(text: &str, kind: PieceKind) -> usize {
    let is_of_kind = |byte: &u8| match kind {
        PieceKind::Spaced => byte.is_ascii_alphanumeric(),
        PieceKind::Between => byte.is_ascii() && !byte.is_ascii_alphanumeric(),
        PieceKind::Unspaced => false,
    };
    let plain = text.bytes().take_while(is_of_kind).count();
    if text.as_bytes().get(plain).is_none_or(u8::is_ascii) && kind != PieceKind::Unspaced {
        return plain;
    }
    let rest = &text[plain..];
    plain + rest.find(|character| PieceKind::of(character) != kind).unwrap_or(rest.len())
}

/// The overlapping grams of a piece without spaces.
fn grams(piece: &str, words_max: usize) -> Vec<u64> {
    let chars_max = words_max.saturating_add(GRAM_CHARS - 1);
    let characters: Vec<char> = piece.chars().take(chars_max).collect();
    characters.windows(GRAM_CHARS.min(characters.len())).map(hash).collect()
}

/// With a fixed seed: an answer made to collide gains nothing, because hashes never decide what is equal.
fn hash<T: Hash + ?Sized>(value: &T) -> u64 {
    FixedState::default().hash_one(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shared(one: &str, other: &str) -> (usize, usize) {
        let (one, other) = (first_words(one, WORDS_MAX), words(other));
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
        assert_eq!(first_words(&"潮".repeat(9_000), WORDS_MAX).len(), WORDS_MAX);
    }

    #[test]
    fn phrases_are_three_words_in_a_row() {
        let common = |one: &str, other: &str| phrases(one).intersection(&phrases(other)).count();
        assert_eq!(common("The moon pulls the sea.", "So the moon pulls it."), 1);
        assert_eq!(common("月球的引力", "因为月球的引力很大"), 1);
        assert_eq!(common("月球的引力", "太阳的引力"), 0);
    }

    #[test]
    fn only_blanks_at_the_end_make_no_difference() {
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
