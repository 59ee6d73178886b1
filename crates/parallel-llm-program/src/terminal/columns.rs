//! Terminal lines: clips them to a width, and converts them to ASCII.

use std::borrow::Cow;

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// The part of a line that fits this many columns.
pub fn clip(line: &str, columns: usize) -> &str {
    let mut used = 0;
    let beyond = line.char_indices().find(|(_, character)| {
        used += character.width().unwrap_or(0);
        used > columns
    });
    beyond.map_or(line, |(index, _)| &line[..index])
}

/// A line in this many columns: one that does not fit ends with an ellipsis.
pub fn shortened(line: &str, columns: usize) -> String {
    if line.width() <= columns {
        return line.to_owned();
    }
    format!("{}…", clip(line, columns.saturating_sub(1)).trim_end())
}

/// What stands before the further lines of a line in columns, beyond its own indentation: as much as puts them below its
/// last column, or two blanks where that begins too far to the right.
pub fn below(line: &str, columns: usize) -> String {
    let text = line.trim_start();
    let indent = line.len() - text.len();
    let last = text.rfind("  ").map_or(0, |at| text[..at + 2].width());
    let is_near = last > 0 && indent + last <= columns / 2;
    " ".repeat(if is_near { last } else { 2 })
}

/// The text in ASCII, for terminals and locales without more: our own symbols are spelled out, any other character
/// becomes a question mark.
pub fn plain(text: &str) -> Cow<'_, str> {
    if text.is_ascii() {
        return text.into();
    }
    let mut plain = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '\u{b7}' | '\u{2010}'..='\u{2015}' | '\u{2212}' | '\u{2022}' | '\u{2500}' => plain.push('-'),
            '\u{2713}' => plain.push('v'),
            '\u{2717}' => plain.push('x'),
            '\u{2502}' => plain.push('|'),
            '\u{253c}' => plain.push('+'),
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
    fn a_long_line_goes_on_below_its_last_column() {
        let below = |line, columns| super::below(line, columns).len();
        assert_eq!(below("vote     6  for short answers", 40), 12);
        assert_eq!(below("  panel        a/b, c/d", 40), 13);
        assert_eq!(below("  - a claim of many words", 40), 2);
        assert_eq!(below("openrouter                    none: set it", 40), 2);
    }

    #[test]
    fn without_utf8_marks_are_written_out() {
        assert_eq!(plain("2 of 3 · ≥$0.01 · so… – “größer”"), "2 of 3 - >=$0.01 - so... - \"gr??er\"");
        assert!(matches!(plain("as it is\n"), Cow::Borrowed(_)));
    }
}
