//! Splits text into words, for the index, for queries and for excerpts.

use std::borrow::Cow;
use std::ops::Range;

use icu_normalizer::DecomposingNormalizerBorrowed;

/// The words of a text: runs of letters and digits, without case and accents.
pub(crate) fn words(text: &str) -> impl Iterator<Item = Cow<'_, str>> {
    text.split(is_between).map(folded).filter(|word| !word.is_empty())
}

/// Where the words of a text stand, in bytes.
pub(crate) fn word_ranges(text: &str) -> impl Iterator<Item = Range<usize>> {
    let mut start = 0;
    text.split_inclusive(is_between).filter_map(move |word| {
        let begin = start;
        start += word.len();
        let length = word.trim_end_matches(is_between).len();
        (length > 0).then_some(begin..begin + length)
    })
}

/// Whether this character is in no word.
fn is_between(at: char) -> bool {
    !at.is_alphanumeric() && !is_accent(at)
}

/// The words of a text as one line for the index.
pub(crate) fn line(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    for word in words(text) {
        line.push_str(&word);
        line.push(' ');
    }
    line
}

fn folded(word: &str) -> Cow<'_, str> {
    if word.is_ascii() {
        return if word.bytes().any(|at| at.is_ascii_uppercase()) {
            word.to_ascii_lowercase().into()
        } else {
            word.into()
        };
    }
    let lower = word.to_lowercase();
    let decomposed = DecomposingNormalizerBorrowed::new_nfd().normalize(&lower);
    decomposed.chars().filter(|at| !is_accent(*at)).collect::<String>().into()
}

/// Whether this is a combining diacritical mark.
const fn is_accent(at: char) -> bool {
    matches!(at, '\u{300}'..='\u{36f}')
}
