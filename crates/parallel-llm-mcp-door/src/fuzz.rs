//! Invariants of every line that a client may send, for the fuzzer in `fuzz/` and for the test that tries every short
//! cut.
//!
//! Hidden, and not part of the library: each function reads one input and panics if an invariant fails, in a release
//! build too.

use serde_json::Value;
use serde_json::value::RawValue;

use crate::protocol::line::{self, Line, Refusal};

/// A line is a message, silent, or refused with a reply that is one line of JSON-RPC with no id but the line's.
pub fn line(bytes: &[u8]) {
    check(bytes, line::read(bytes));
    // Of a line that is too long, only its start and end are kept.
    let half = bytes.len() / 2;
    check_reply(bytes, &Refusal::too_long(&bytes[..half], &bytes[half..]));
}

fn check(bytes: &[u8], line: Line) {
    match line {
        Line::Silent => {
            let holds = |member: &[u8]| bytes.windows(member.len()).any(|window| window == member);
            // A key may contain escapes.
            let may_be_silent = holds(b"result") || holds(b"error") || holds(b"method") || holds(b"\\u");
            assert!(line::trimmed(bytes).is_empty() || may_be_silent, "a line is swallowed");
        }
        Line::Refused(refusal) => check_reply(bytes, &refusal),
        Line::Message(message) => {
            let again =
                serde_json::to_value(message.message).expect("a message that was read can be written");
            assert_eq!(again["jsonrpc"], "2.0");
        }
    }
}

fn check_reply(bytes: &[u8], refusal: &Refusal) {
    let reply = refusal.to_line();
    let text = std::str::from_utf8(&reply).expect("a reply is text");
    let text = text.strip_suffix('\n').expect("a reply ends its line");
    assert!(!text.contains('\n'), "a reply is more than one line");
    serde_json::from_str::<&RawValue>(text).expect("a reply is JSON");
    let Some(id) = &refusal.id else { return };
    let id = id.get().as_bytes();
    let is_there = bytes.windows(id.len()).any(|window| window == id);
    // A lone surrogate in an id is replaced before it is parsed.
    let is_repaired = refusal.id.as_ref().is_some_and(|id| id.get().contains("\\ufffd"));
    assert!(is_there || is_repaired, "the id of a reply is not the line's");
    let is_scalar = matches!(serde_json::from_slice(id), Ok(Value::String(_) | Value::Number(_)));
    assert!(is_scalar || id.first().is_some_and(|byte| matches!(byte, b'"' | b'-' | b'0'..=b'9')));
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_cut_of_a_line_is_read_or_answered() {
        let whole = r#"{"jsonrpc":"2.0","id":"a\ud83d","method":"tools/call","params":{"name":"x","id":[1e400,"\\"]}}"#;
        for end in 0..=whole.len() {
            super::line(&whole.as_bytes()[..end]);
            super::line(&whole.as_bytes()[end..]);
        }
    }
}
