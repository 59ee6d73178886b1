//! Recognizes an event that differs from an earlier one only in its piece of text.
//!
//! A stream repeats the same object around every piece. Comparing the bytes around the text takes a tenth of the time of
//! parsing the object, and says as much: an object with the same bytes around another JSON string has the same fields.

use std::fmt;

/// The bytes of an event before and after its piece of text, the quotes included.
#[derive(PartialEq, Eq)]
pub(crate) struct EventTemplate {
    before: Box<[u8]>,
    after: Box<[u8]>,
}

impl EventTemplate {
    /// The template of an event whose piece of text was borrowed from it; `None` if the text is not one whole JSON string
    /// of the event.
    pub(crate) fn of(json: &str, text: &str) -> Option<Self> {
        let start = text.as_ptr().addr().checked_sub(json.as_ptr().addr())?;
        let before = json.get(..start)?;
        let after = json.get(start..)?.strip_prefix(text)?;
        let is_string = before.ends_with('"') && after.starts_with('"');
        is_string.then(|| Self { before: before.as_bytes().into(), after: after.as_bytes().into() })
    }

    /// The text of another event with the same bytes around it. `None` if the event differs, or if its text needs a
    /// parser: it has escapes, or is no valid string.
    pub(crate) fn text<'a>(&self, event: &'a [u8]) -> Option<&'a str> {
        let text = event.strip_prefix(&*self.before)?.strip_suffix(&*self.after)?;
        let needs_parser = |byte: &u8| matches!(byte, b'"' | b'\\' | 0..=0x1f);
        if text.iter().any(needs_parser) {
            return None;
        }
        std::str::from_utf8(text).ok()
    }
}

/// Without the bytes, which are text of a provider.
impl fmt::Debug for EventTemplate {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("EventTemplate")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec;
    use crate::providers::dialect::Protocol;

    const EVENT: &str =
        r#"{"id":"gen-1","choices":[{"index":0,"delta":{"content":"Hello"},"finish_reason":null}]}"#;

    fn template(json: &str) -> Option<EventTemplate> {
        let piece = codec::of(Protocol::Chat).read(json, false).unwrap();
        EventTemplate::of(json, piece.only_text()?)
    }

    #[test]
    fn an_event_that_differs_only_in_its_text_is_recognized() {
        let template = template(EVENT).unwrap();
        for text in ["", " world", "日本🙂é", "}]}", "content"] {
            assert_eq!(template.text(EVENT.replace("Hello", text).as_bytes()), Some(text));
        }
    }

    #[test]
    fn any_other_event_is_left_to_the_parser() {
        let template = template(EVENT).unwrap();
        for text in [r"a\nb", r#"a","refusal":"no"#, "a\nb", "\u{0}", r"\"] {
            let event = EVENT.replace("Hello", text);
            assert_eq!(template.text(event.as_bytes()), None, "{event}");
        }
        for (from, to) in
            [("gen-1", "gen-2"), ("null", r#""stop""#), ("{\"index", " {\"index"), ("}]}", "}]} ")]
        {
            assert_eq!(template.text(EVENT.replace(from, to).as_bytes()), None, "{to}");
        }
        let invalid: Vec<u8> =
            EVENT.replace("Hello", "?").bytes().map(|byte| if byte == b'?' { 0xff } else { byte }).collect();
        assert_eq!(template.text(&invalid), None);
    }

    #[test]
    fn only_an_event_of_text_alone_is_a_template() {
        for (from, to) in [
            ("null", r#""stop""#),
            (r#""Hello""#, r#""Hello","reasoning":"hm""#),
            (r#""Hello""#, r#""""#),
            ("Hello", r"Hello\n"),
            (r#""Hello""#, r#"[{"text":"a"},{"text":"b"}]"#),
            (r#""id""#, r#""usage":{"prompt_tokens":1},"id""#),
            (r#""id""#, r#""error":{"message":"no"},"id""#),
        ] {
            assert!(template(&EVENT.replace(from, to)).is_none(), "{to}");
        }
        assert!(EventTemplate::of(EVENT, "Hello").is_none(), "a text that is not part of the event");
    }
}
