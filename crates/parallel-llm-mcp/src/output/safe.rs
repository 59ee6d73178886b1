//! Strangers' text on its way to a terminal: nothing in it may move the cursor, colour, or reorder what is read, and nothing
//! stands there that nobody sees. The stored text keeps every byte; a warning of the outcome tells how many were hidden.

use std::borrow::Cow;

use parallel_llm_engine::value::answer::steers;
use parallel_llm_engine::value::invisible::{is_invisible, seen};
use unicode_width::UnicodeWidthChar;

/// The text without anything a terminal would obey, line ends and tabs kept.
pub fn for_terminal(text: &str) -> String {
    seen(text).chars().filter(|character| matches!(character, '\n' | '\t') || !steers(*character)).collect()
}

/// The beginning of the text as one line of at most `chars_max` characters.
pub fn excerpt(text: &str, chars_max: usize) -> String {
    let words = text.split_whitespace().flat_map(|word| [" ", word]).skip(1);
    let line: String =
        words.flat_map(str::chars).filter(|character| !is_unseen(*character)).take(chars_max + 1).collect();
    if line.chars().count() <= chars_max {
        return line;
    }
    let kept: String = line.chars().take(chars_max.saturating_sub(1)).collect();
    format!("{}…", kept.trim_end())
}

/// Whether a character is left out of a line, whatever stands around it: the line needs no more of a long text than it shows.
fn is_unseen(character: char) -> bool {
    let joins = matches!(character, '\u{200c}' | '\u{200d}' | '\u{fe0e}' | '\u{fe0f}');
    steers(character) || is_invisible(character) && !joins
}

/// As much of the line as fits into so many columns of a terminal.
pub fn clip(line: &str, columns: usize) -> &str {
    let mut used = 0;
    let beyond = line.char_indices().find(|(_, character)| {
        used += character.width().unwrap_or(0);
        used > columns
    });
    beyond.map_or(line, |(index, _)| &line[..index])
}

/// The text in ASCII, for terminals and locales that have nothing else: our own marks in other words, a question mark
/// for any other letter.
pub fn plain(text: &str) -> Cow<'_, str> {
    if text.is_ascii() {
        return text.into();
    }
    let mut plain = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '\u{b7}' | '\u{2010}'..='\u{2015}' | '\u{2212}' | '\u{2022}' => plain.push('-'),
            '\u{2026}' => plain.push_str("..."),
            '\u{2265}' => plain.push_str(">="),
            '\u{2264}' => plain.push_str("<="),
            '\u{2018}' | '\u{2019}' => plain.push('\''),
            '\u{201c}' | '\u{201d}' => plain.push('"'),
            '\u{a0}' | '\u{202f}' => plain.push(' '),
            letter if letter.is_ascii() => plain.push(letter),
            _ => plain.push('?'),
        }
    }
    plain.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wide_characters_take_two_columns() {
        assert_eq!([clip("日本語", 5), clip("abc", 5), clip("e\u{301}e", 1)], ["日本", "abc", "e\u{301}"]);
    }

    #[test]
    fn without_utf8_marks_are_written_out() {
        assert_eq!(plain("2 of 3 · ≥$0.01 · so… – “größer”"), "2 of 3 - >=$0.01 - so... - \"gr??er\"");
        assert!(matches!(plain("as it is\n"), Cow::Borrowed(_)));
    }

    #[test]
    fn nothing_steers_the_terminal() {
        let hostile = "a\x1b]52;c;ZXZpbA==\x07b\u{202e}c\r\n\td\u{9b}2J";
        assert_eq!(for_terminal(hostile), "a]52;c;ZXZpbA==bc\n\td2J");
        assert_eq!(excerpt("  one\n two\x1b[2J three ", 11), "one two[2J…");
        assert_eq!(excerpt("short", 11), "short");
    }

    #[test]
    fn nothing_is_shown_that_nobody_sees() {
        let hidden = "8\u{200b}\u{fe01}\u{3164}\u{e0041}\u{ad} می\u{200c}خواهم ❤\u{fe0f}";
        assert_eq!(for_terminal(hidden), "8 می\u{200c}خواهم ❤\u{fe0f}");
        assert_eq!(excerpt(hidden, 40), "8 می\u{200c}خواهم ❤\u{fe0f}");
    }
}
