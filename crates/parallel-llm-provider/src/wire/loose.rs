//! Reads JSON values whose type is not guaranteed.
//!
//! Fields are kept as raw JSON while a chunk is read, which costs nothing, and are converted to text or numbers here
//! when needed. A text without escapes is borrowed from the received bytes.

use std::borrow::Cow;

use parallel_llm_engine::PicoUsd;
use serde::Deserialize;
use serde_json::value::RawValue;

/// The number below which every whole float is exact.
const WHOLE_MAX: f64 = 9_007_199_254_740_992.0;

/// The text of a JSON string; `None` for anything else.
pub(crate) fn text(raw: &RawValue) -> Option<Cow<'_, str>> {
    let inner = raw.get().strip_prefix('"')?.strip_suffix('"')?;
    if memchr::memchr(b'\\', inner.as_bytes()).is_none() {
        return Some(Cow::Borrowed(inner));
    }
    let read = |json: &str| serde_json::from_str(json).ok();
    read(raw.get()).or_else(|| read(&replace_lone_surrogates(raw.get()))).map(Cow::Owned)
}

/// The text of a field, if there is one.
pub(crate) fn text_of(field: Option<&RawValue>) -> Option<Cow<'_, str>> {
    field.and_then(text)
}

/// Whether a field has any content: text, a list or an object that is not empty.
pub(crate) fn holds_any(field: Option<&RawValue>) -> bool {
    field.is_some_and(|raw| !matches!(raw.get(), "\"\"" | "[]" | "{}" | "null" | "false"))
}

/// A count: a whole number that is not negative, also if written as a float.
pub(crate) fn count(field: Option<&RawValue>) -> Option<u64> {
    let text = field?.get();
    text.parse().ok().or_else(|| {
        let number: f64 = text.parse().ok()?;
        ((0.0..WHOLE_MAX).contains(&number) && number.fract() == 0.0).then_some(number as u64)
    })
}

/// An amount of US dollars, written as a number or as text. Read from its decimal digits, so it is exact.
pub(crate) fn usd(field: Option<&RawValue>) -> Option<PicoUsd> {
    PicoUsd::from_decimal(field?.get().trim_matches('"'))
}

/// A part that is only read when needed; empty if it cannot be read.
pub(crate) fn part<'a, T: Deserialize<'a> + Default>(field: Option<&'a RawValue>) -> T {
    field.and_then(|raw| serde_json::from_str(raw.get()).ok()).unwrap_or_default()
}

/// A JSON string in which every escaped lone surrogate is replaced by U+FFFD. Providers that split a text in the middle
/// of an emoji send such escapes.
fn replace_lone_surrogates(json: &str) -> String {
    let mut repaired = String::with_capacity(json.len());
    let mut rest = json;
    while let Some(escape) = rest.find('\\') {
        repaired.push_str(&rest[..escape]);
        rest = &rest[escape..];
        let taken = match unit(rest) {
            Some(0xd800..=0xdbff) if matches!(rest.get(6..).and_then(unit), Some(0xdc00..=0xdfff)) => 12,
            Some(0xd800..=0xdfff) => {
                repaired.push('\u{fffd}');
                rest = &rest[6..];
                continue;
            }
            Some(_) => 6,
            None => 2.min(rest.len()),
        };
        repaired.push_str(&rest[..taken]);
        rest = &rest[taken..];
    }
    repaired.push_str(rest);
    repaired
}

/// The code unit of an escape `\uXXXX` at the beginning of the text.
fn unit(text: &str) -> Option<u16> {
    u16::from_str_radix(text.strip_prefix("\\u")?.get(..4)?, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raw(json: &str) -> Box<RawValue> {
        RawValue::from_string(json.to_owned()).unwrap()
    }

    #[test]
    fn text_is_borrowed_where_it_can_be() {
        assert!(matches!(text(&raw("\"héllo\"")), Some(Cow::Borrowed("héllo"))));
        assert_eq!(text(&raw(r#""a\n\"b\" 🙂""#)).unwrap(), "a\n\"b\" 🙂");
        for other in ["1", "null", "{}", "[\"a\"]", "true"] {
            assert_eq!(text(&raw(other)), None, "{other}");
        }
    }

    #[test]
    fn half_a_surrogate_pair_does_not_cost_the_text() {
        assert_eq!(text(&raw(r#""a\ud83d""#)).unwrap(), "a\u{fffd}");
        assert_eq!(text(&raw(r#""\ude00b\\ud83d""#)).unwrap(), "\u{fffd}b\\ud83d");
        assert_eq!(text(&raw(r#""\ud83d\ud83d\ude00""#)).unwrap(), "\u{fffd}😀");
    }

    #[test]
    fn counts_are_whole_and_not_negative() {
        for (json, expected) in [
            ("16", Some(16)),
            ("16.0", Some(16)),
            ("1e3", Some(1000)),
            ("-1", None),
            ("1.5", None),
            ("1e300", None),
            ("\"16\"", None),
            ("null", None),
            ("{}", None),
        ] {
            assert_eq!(count(Some(&raw(json))), expected, "{json}");
        }
    }

    #[test]
    fn money_is_exact() {
        for (json, expected) in
            [("0.000832", Some(832_000_000)), ("\"1e-7\"", Some(100_000)), ("-1", None), ("null", None)]
        {
            assert_eq!(usd(Some(&raw(json))), expected.map(PicoUsd), "{json}");
        }
    }
}
