//! Tells what a machine made from what a person wrote: a key from a word, a name, a number, a sequence or a placeholder.

use super::references::is_published;
use super::words::reads_like_words;

/// The shortest text that can be judged, in bytes.
const BYTES_MIN: usize = 10;
/// Of a hundred neighbours, so many differ in kind in a random text of mixed letters; in a name of several words a third do.
const CHANGES_PERCENT_MIN: usize = 42;
/// Of a hundred letters of a random text without capitals, at least so many are digits.
const DIGITS_PERCENT_MIN: usize = 12;
/// The groups of digits in such a text: a name has one, at its end.
const DIGIT_GROUPS_MIN: usize = 3;
/// The shortest text without digits that can be judged, in bytes: a few short names in a row look the same.
const LETTERS_BYTES_MIN: usize = 24;
/// The longest run of neighbours in the alphabet, or of the same letter, that chance makes.
const RUN_MAX: usize = 4;

/// The shortest text that is no key unless its letters are no words, in bytes.
const UNREADABLE_BYTES_MIN: usize = 14;
/// Parts of placeholders, in lower case.
const PLACEHOLDERS: &[&str] = &[
    "example",
    "xxxx",
    "your",
    "placeholder",
    "changeme",
    "dummy",
    "redacted",
    "replace",
    "insert",
    "123456",
    "sample",
    "fake",
    "notreal",
    "deadbeef",
    "1a2b3c4d-5e6f",
    "...",
    "a1b2c3d4-",
];

/// Whether a text seems to be made up by a person in place of a key.
pub(crate) fn is_made_up(text: &str) -> bool {
    let lower = text.to_ascii_lowercase();
    PLACEHOLDERS.iter().any(|word| lower.contains(word))
        || is_published(text)
        || longest_run(text.as_bytes()) > RUN_MAX + 1
}

/// Whether a text seems to be made by a machine that chose each letter by chance.
pub(crate) fn looks_made_by_machine(text: &str) -> bool {
    let bytes = text.as_bytes();
    if bytes.len() < BYTES_MIN || longest_run(bytes) > RUN_MAX || is_uuid(text) {
        return false;
    }
    let letters = bytes.iter().filter(|byte| byte.is_ascii_alphabetic()).count();
    let digits = bytes.iter().filter(|byte| byte.is_ascii_digit()).count();
    if different(bytes) < (bytes.len() / 2).min(8) || letters < 2 {
        return false;
    }
    let pairs = || bytes.windows(2).map(|pair| (kind(pair[0]), kind(pair[1])));
    let changes = pairs().filter(|(before, after)| before != after).count();
    let groups =
        pairs().filter(|(before, after)| *before != LetterKind::Digit && *after == LetterKind::Digit).count()
            + usize::from(bytes[0].is_ascii_digit());
    let is_mixed = changes * 100 >= CHANGES_PERCENT_MIN * (bytes.len() - 1);
    let has_digits = digits * 100 >= DIGITS_PERCENT_MIN * bytes.len() && groups >= DIGIT_GROUPS_MIN;
    let is_long_enough = digits > 0 || (bytes.len() >= LETTERS_BYTES_MIN && has_both_cases(bytes));
    let is_unreadable = || bytes.len() >= UNREADABLE_BYTES_MIN && !reads_like_words(text);
    (is_long_enough && (is_mixed || is_unreadable())) || has_digits
}

/// Whether this is the name of something by chance: 8, 4, 4, 4 and 12 hexadecimal digits.
pub(super) fn is_uuid(text: &str) -> bool {
    let lengths = [8, 4, 4, 4, 12];
    let mut parts = text.split('-');
    lengths.iter().all(|length| {
        parts
            .next()
            .is_some_and(|part| part.len() == *length && part.bytes().all(|byte| byte.is_ascii_hexdigit()))
    }) && parts.next().is_none()
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum LetterKind {
    Lower,
    Upper,
    Digit,
    Other,
}

const fn kind(byte: u8) -> LetterKind {
    match byte {
        b'a'..=b'z' => LetterKind::Lower,
        b'A'..=b'Z' => LetterKind::Upper,
        b'0'..=b'9' => LetterKind::Digit,
        _ => LetterKind::Other,
    }
}

/// Whether a text repeats few letters. Enough where its place says the rest.
pub(crate) fn is_varied(text: &str) -> bool {
    text.len() >= BYTES_MIN && different(text.as_bytes()) >= 8
}

/// How many different bytes there are.
fn different(bytes: &[u8]) -> usize {
    let mut is_there = [false; 256];
    for byte in bytes {
        is_there[usize::from(*byte)] = true;
    }
    is_there.iter().filter(|there| **there).count()
}

fn has_both_cases(bytes: &[u8]) -> bool {
    bytes.iter().any(u8::is_ascii_lowercase) && bytes.iter().any(u8::is_ascii_uppercase)
}

/// The longest run of the same letter, or of letters in the order of the alphabet.
fn longest_run(bytes: &[u8]) -> usize {
    let (mut longest, mut same, mut rising) = (1, 1, 1);
    for pair in bytes.windows(2) {
        same = if pair[0] == pair[1] { same + 1 } else { 1 };
        rising = if pair[0].checked_add(1) == Some(pair[1]) { rising + 1 } else { 1 };
        longest = longest.max(same).max(rising);
    }
    if bytes.is_empty() { 0 } else { longest }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_told_from_names_and_sequences() {
        for key in [
            "Zq3vT8mKx1Lp9WbR4sYn",
            "9f8b2c41d07ae35b6cf1",
            "k3v9x2m7q1w8z5t4",
            "wJalrXUtnFEMI7MDENGbPxRfiCY",
            "QmFzZTY0IGlzIGZ1bg",
        ] {
            assert!(looks_made_by_machine(key) && !is_made_up(key), "{key}");
        }
        for name in [
            "clientSecretProviderFactory",
            "oauth2ClientSecretV2",
            "internationalization",
            "learn-documentation-index",
            "2026-11-27",
            "192.168.100.200",
            "aaaaaaaaaaaaaaaaaaaa",
            "123e4567-e89b-12d3-a456-426614174000",
            "TheQuickBrownFox",
            "x86_64-unknown-linux",
        ] {
            assert!(!looks_made_by_machine(name), "{name}");
        }
        for made_up in ["xxxxxxxxxxxxxxxx", "IOSFODNN7EXAMPLE", "1234567890abcdef", "your_key_here_1a2b"] {
            assert!(is_made_up(made_up), "{made_up}");
        }
    }
}
