//! Makes foreign text safe for a terminal.
//!
//! Such a text cannot move the cursor, set colours or reorder what is read, and holds no invisible characters. The stored
//! text keeps every byte; a warning of the outcome reports the hidden ones.

use crate::value::answer::steers;
use crate::value::invisible::{is_invisible, seen};

/// The text without control characters except line ends and tabs, and without invisible characters.
pub fn for_terminal(text: &str) -> String {
    seen(text).chars().filter(|character| matches!(character, '\n' | '\t') || !steers(*character)).collect()
}

/// JSON with the same meaning, in which what steers a terminal or is invisible is written as `\u` and digits.
pub fn escaped_json(json: &str) -> String {
    let mut escaped = String::with_capacity(json.len());
    for character in json.chars() {
        if !character.is_ascii() && (steers(character) || is_invisible(character)) || character == '\u{7f}' {
            let mut units = [0; 2];
            let units = character.encode_utf16(&mut units).iter();
            escaped.extend(units.map(|unit| format!("\\u{unit:04x}")));
        } else {
            escaped.push(character);
        }
    }
    escaped
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

/// Whether a character is left out of a line. Unlike [`seen`] it needs no context, so only the beginning of a long text is read.
fn is_unseen(character: char) -> bool {
    let joins = matches!(character, '\u{200c}' | '\u{200d}' | '\u{fe0e}' | '\u{fe0f}');
    steers(character) || is_invisible(character) && !joins
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_removed_for_the_terminal() {
        let hostile = "a\x1b]52;c;ZXZpbA==\x07b\u{202e}c\r\n\td\u{9b}2J";
        assert_eq!(for_terminal(hostile), "a]52;c;ZXZpbA==bc\n\td2J");
        assert_eq!(excerpt("  one\n two\x1b[2J three ", 11), "one two[2J…");
        assert_eq!(excerpt("short", 11), "short");
    }

    #[test]
    fn json_for_a_terminal_keeps_its_meaning() {
        let text = "größer \u{9b}2J \u{202e}b\u{200b} \u{e0041} \u{7f}";
        let json = serde_json::to_string(text).unwrap();
        let escaped = escaped_json(&json);
        assert_eq!(escaped, r#""größer \u009b2J \u202eb\u200b \udb40\udc41 \u007f""#);
        assert_eq!(serde_json::from_str::<String>(&escaped).unwrap(), text);
    }

    #[test]
    fn invisible_characters_are_removed() {
        let hidden = "8\u{200b}\u{fe01}\u{3164}\u{e0041}\u{ad} می\u{200c}خواهم ❤\u{fe0f}";
        assert_eq!(for_terminal(hidden), "8 می\u{200c}خواهم ❤\u{fe0f}");
        assert_eq!(excerpt(hidden, 40), "8 می\u{200c}خواهم ❤\u{fe0f}");
    }
}
