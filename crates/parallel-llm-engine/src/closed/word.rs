//! A short answer in words, in the one way of writing it: case, white space, a full stop and emphasis around it do not
//! count.
//!
//! What always holds: it is one short line, and nothing in it steers who prints it or is seen by nobody.

use crate::answer::steers;
use crate::injection::is_invisible;

/// The longest short answer in bytes. It stands in the reason of an outcome, and what is longer is no short answer.
const WORD_BYTES_MAX: usize = 300;
/// How much longer it may be before it is written the one way.
const WRITTEN_BYTES_MAX: usize = 4 * WORD_BYTES_MAX;

/// What may stand around an answer and is no part of it.
const AROUND: [(&str, &str); 7] =
    [("**", "**"), ("*", "*"), ("`", "`"), ("\"", "\""), ("'", "'"), ("“", "”"), ("$", "$")];

/// A short answer in the one way of writing it; `None` where there is none, or it is too long for one.
pub(super) fn word(text: &str) -> Option<String> {
    bounded(plain(Some(text.trim()).filter(|text| text.len() <= WRITTEN_BYTES_MAX)?))
}

/// What is written the one way already, if it is short enough.
pub(super) fn bounded(word: String) -> Option<String> {
    (1..=WORD_BYTES_MAX).contains(&word.len()).then_some(word)
}

/// A text of whatever length in the one way of writing it.
pub(super) fn plain(text: &str) -> String {
    let seen = text.chars().filter(|one| one.is_whitespace() || !(steers(*one) || is_invisible(*one)));
    let lower: String = seen.flat_map(char::to_lowercase).collect();
    let line = lower.split_whitespace().collect::<Vec<_>>().join(" ");
    // It stands between such signs where it is told.
    bare(&line).replace('`', "'")
}

/// The text without what stands around it.
fn bare(mut text: &str) -> &str {
    loop {
        let trimmed = text.trim().trim_end_matches(['.', '。']);
        let inside = AROUND.iter().find_map(|(open, close)| trimmed.strip_prefix(open)?.strip_suffix(close));
        match inside {
            Some(inside) => text = inside,
            None => return trimmed,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_count_is_left_out() {
        for text in
            ["Paris", " paris.", "**Paris.**", "**Paris**.", "`PARIS`", "“Paris”", "Pa\u{200b}ris", "$Paris$"]
        {
            assert_eq!(word(text).as_deref(), Some("paris"), "{text}");
        }
        for (text, expected) in [
            ("New\n  York", "new york"),
            ("`a` or `b`", "a' or 'b"),
            ("5!", "5!"),
            ("__init__", "__init__"),
            ("東京。", "東京"),
            ("a\u{202e}b\u{1b}[2J", "ab[2j"),
        ] {
            assert_eq!(word(text).as_deref(), Some(expected), "{text}");
        }
        assert_eq!(plain(&"'".repeat(64 * 1024)), "");
        for none in ["", " . ", "****", "\u{200b}", &"long ".repeat(61), &" ".repeat(99)] {
            assert_eq!(word(none), None, "{none}");
        }
    }
}
