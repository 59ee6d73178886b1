//! Recognizes a text that only repeats the request.

use super::FloorBasis;
use super::words::windows;
use crate::text::shingles::{Shingles, all_words, hash_of};

/// The words that are compared at once.
const WINDOW_WORDS: usize = 4;
/// The share, in hundredths, of the request that is repeated, and by which a candidate counts as an echo, too.
const ECHO_PERCENT: usize = 80;
/// If so much of the text is a candidate's, in hundredths, the request asks for a part of itself.
const ALLOWED_PERCENT: usize = 50;
/// The fewest words of a part of the request that is no answer.
const PART_WORDS_MIN: usize = 5;
/// Words that models put before or around the request.
const FILLERS: &[&str] = &[
    "request",
    "the",
    "question",
    "prompt",
    "user",
    "q",
    "a",
    "instruction",
    "response",
    "assistant",
    "answer",
    "person",
    "asks",
    "is",
    "asked",
];

/// Whether a text is the request, or begins as it begins, and says nothing else.
pub(super) fn is_request(text: &str, basis: &FloorBasis<'_>) -> bool {
    let (words, asked) = (all_words(text), all_words(basis.request));
    if words.len() < 3 || asked.is_empty() {
        return false;
    }
    let fillers: Shingles = FILLERS.iter().map(|word| hash_of(word)).collect();
    let share = |words: &[u64], by: &[u64]| count(&covered(words, by)) * 100 / words.len().max(1);
    let candidates: Vec<Vec<u64>> =
        basis.candidates.iter().map(|(_, candidate)| all_words(candidate)).collect();
    // A part of the request, such as what is to be translated.
    let is_part = text.split_whitespace().count() >= PART_WORDS_MIN
        && asked.windows(words.len()).any(|part| part == words);
    if is_part && !candidates.iter().any(|one| share(&words, one) >= ALLOWED_PERCENT) {
        return true;
    }
    let mask = covered(&words, &asked);
    let added = words.iter().zip(&mask).filter(|(word, is_covered)| !**is_covered && !fillers.contains(word));
    if added.count() > 0 || count(&mask) * 2 < words.len() {
        return false;
    }
    if share(&asked, &words) >= ECHO_PERCENT {
        // A request to correct or to sort words has answers of its own words.
        let is_echo = |one: &Vec<u64>| share(one, &asked) >= ECHO_PERCENT && one.len() * 2 >= asked.len();
        return !candidates.iter().any(is_echo);
    }
    let begins = words.iter().zip(&asked).take_while(|(one, other)| one == other).count();
    begins + FILLERS.len() >= words.len()
        && begins >= 8
        && !candidates.iter().any(|one| share(&words, one) >= ALLOWED_PERCENT)
}

/// For each word whether it stands in a window that the other text has.
fn covered(words: &[u64], by: &[u64]) -> Vec<bool> {
    let size = WINDOW_WORDS.min(words.len()).min(by.len());
    let mut mask = vec![false; words.len()];
    if size == 0 {
        return mask;
    }
    let known: Shingles = windows(by, size).collect();
    let mut until = 0;
    for (at, window) in windows(words, size).enumerate() {
        if known.contains(&window) {
            mask[until.max(at)..at + size].fill(true);
            until = at + size;
        }
    }
    mask
}

fn count(mask: &[bool]) -> usize {
    mask.iter().filter(|is_covered| **is_covered).count()
}
