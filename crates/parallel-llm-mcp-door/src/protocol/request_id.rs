//! Recovers the request id of a line that is not valid JSON, so that its caller gets an error instead of waiting for
//! ever; and replaces lone surrogates.
//!
//! Lenient on purpose, and pure. `line` decides whether a line is valid.

use std::borrow::Cow;

use serde_json::value::RawValue;

/// The longest id that a reply carries, in bytes: generous for a UUID, too short to be abused.
pub(super) const ID_BYTES_MAX: usize = 256;

/// The top-level `id` of a line that may be incomplete or invalid anywhere after it.
pub(super) fn id_of(line: &[u8]) -> Option<Box<RawValue>> {
    let mut depth = 0_usize;
    let mut at = 0;
    while let Some(byte) = line.get(at) {
        match byte {
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth = depth.saturating_sub(1),
            b'"' => {
                let end = string_end(line, at)?;
                if depth == 1 && &line[at..end] == b"\"id\"" && is_member(&line[end..]) {
                    return scalar(&line[end..]).and_then(|(value, _)| as_id(value));
                }
                at = end;
                continue;
            }
            _ => {}
        }
        at += 1;
    }
    None
}

/// The top-level `id` of a line of which only the end is left. Common clients write it last.
pub(super) fn id_of_tail(tail: &[u8]) -> Option<Box<RawValue>> {
    let starts =
        (0..tail.len()).rev().filter(|at| tail[*at..].starts_with(b"\"id\"") && is_key(&tail[..*at]));
    let mut found = starts.filter_map(|at| scalar(&tail[at + b"\"id\"".len()..]));
    let (value, rest) = found.next()?;
    ends_the_object(rest).then(|| as_id(value))?
}

/// Replaces escaped lone surrogates by U+FFFD. A client that cuts a string within an emoji sends one, and UTF-8 cannot
/// represent it.
pub(crate) fn without_lone_surrogates(text: &str) -> Cow<'_, str> {
    let mut repaired = Cow::Borrowed(text);
    let mut at = 0;
    while let Some(step) = text[at..].find('\\') {
        at += step;
        let here = surrogate(text, at);
        let (length, is_lone) = match here {
            Some(0xD800..=0xDBFF) if matches!(surrogate(text, at + 6), Some(0xDC00..=0xDFFF)) => (12, false),
            Some(_) => (6, true),
            // The escaped character is skipped with its backslash, because it may be a backslash itself. In invalid
            // JSON it may be any character.
            None => (1 + text[at + 1..].chars().next().map_or(0, char::len_utf8), false),
        };
        if is_lone {
            repaired.to_mut().replace_range(at..at + 6, "\\ufffd");
        }
        at += length;
    }
    repaired
}

/// The escaped surrogate at this position, if there is one.
fn surrogate(text: &str, at: usize) -> Option<u16> {
    let digits = text.get(at..at + 6)?.strip_prefix("\\u")?;
    let unit = u16::from_str_radix(digits, 16).ok()?;
    (0xD800..=0xDFFF).contains(&unit).then_some(unit)
}

/// The end of the string that begins here, after its closing quote.
fn string_end(line: &[u8], start: usize) -> Option<usize> {
    let mut at = start + 1;
    loop {
        match line.get(at)? {
            b'"' => return Some(at + 1),
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
}

fn is_member(rest: &[u8]) -> bool {
    rest.trim_ascii_start().starts_with(b":")
}

/// Whether a string after this text is a key, and not part of another string.
fn is_key(before: &[u8]) -> bool {
    matches!(before.trim_ascii_end().last(), Some(b',' | b'{'))
}

/// The string or number after the colon, and the rest. `None` for one that may continue beyond the end.
fn scalar(rest: &[u8]) -> Option<(&[u8], &[u8])> {
    let rest = rest.trim_ascii_start().strip_prefix(b":")?.trim_ascii_start();
    let end = match rest.first()? {
        b'"' => string_end(rest, 0)?,
        _ => rest.iter().position(|byte| !matches!(byte, b'0'..=b'9' | b'+' | b'-' | b'.' | b'e' | b'E'))?,
    };
    Some(rest.split_at(end))
}

fn as_id(value: &[u8]) -> Option<Box<RawValue>> {
    let text = std::str::from_utf8(value).ok().filter(|text| text.len() <= ID_BYTES_MAX)?;
    RawValue::from_string(text.to_owned()).ok()
}

/// Whether only flat members follow, and then the end of the line's object.
fn ends_the_object(rest: &[u8]) -> bool {
    let Some(members) = rest.trim_ascii_end().strip_suffix(b"}") else { return false };
    let mut at = 0;
    while let Some(byte) = members.get(at) {
        match byte {
            b'{' | b'}' | b'[' | b']' => return false,
            b'"' => match string_end(members, at) {
                Some(end) => at = end,
                None => return false,
            },
            _ => at += 1,
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(found: Option<&RawValue>, expected: Option<&str>) {
        assert_eq!(found.map(RawValue::get), expected);
    }

    #[test]
    fn an_id_is_found_in_a_broken_line() {
        check(id_of(br#"{"jsonrpc":"2.0","id":7,"method":"tools/ca"#).as_deref(), Some("7"));
        check(id_of(br#"{"method":"id","params":{"id":1},"id" : "a\"b" ,"#).as_deref(), Some(r#""a\"b""#));
        check(id_of(b"{\"id\":8,\"params\":{\"prompt\":\"\xff\0\"}}").as_deref(), Some("8"));
        check(id_of(br#"{"id":1e400,"x":"#).as_deref(), Some("1e400"));
        check(
            id_of(
                [br#"{"params":"#.as_slice(), &[b'['; 200], &[b']'; 200], br#","id":9}"#].concat().as_slice(),
            )
            .as_deref(),
            Some("9"),
        );
    }

    #[test]
    fn what_is_no_id_is_not_taken_for_one() {
        check(id_of(br#"{"id":12"#).as_deref(), None);
        check(id_of(br#"{"params":{"id":1}"#).as_deref(), None);
        check(id_of(br#"{"params":"\"id\":1"#).as_deref(), None);
        check(id_of(br#"{"id":null,"#).as_deref(), None);
        check(id_of(b"hello \"id\": 5,").as_deref(), None);
        check(id_of(format!(r#"{{"id":"{}","#, "x".repeat(1000)).as_bytes()).as_deref(), None);
    }

    #[test]
    fn an_id_is_found_at_the_end_of_a_cut_line() {
        check(id_of_tail(br#"xxxx"}},"jsonrpc":"2.0","id":5}"#).as_deref(), Some("5"));
        check(id_of_tail(br#"xxxx"}},"id":"a","jsonrpc":"2.0"}"#).as_deref(), Some(r#""a""#));
        check(id_of_tail(br#"xxxx\",\"id\":5}"#).as_deref(), None);
        check(id_of_tail(br#"xxxx"},"id":5}}"#).as_deref(), None);
        check(id_of_tail(b"xxxx").as_deref(), None);
    }

    #[test]
    fn half_an_emoji_becomes_a_replacement_character() {
        for (text, expected) in [
            (r"a\ud83db", r"a\ufffdb"),
            (r"\uDE00", r"\ufffd"),
            (r"\ud83d\ude00", r"\ud83d\ude00"),
            (r"\ud83d\ud83d\ude00\ud83d", r"\ufffd\ud83d\ude00\ufffd"),
            (r"\\ud83d", r"\\ud83d"),
            (r"\\\ud83d", r"\\\ufffd"),
            (r"\ud8", r"\ud8"),
            (r"ü\", r"ü\"),
            (r"\ü\u00fc", r"\ü\u00fc"),
        ] {
            assert_eq!(without_lone_surrogates(text), expected, "{text}");
        }
        assert!(matches!(without_lone_surrogates("plain"), Cow::Borrowed(_)));
    }
}
