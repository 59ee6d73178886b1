//! The order of members in structured content: the answer comes first.
//!
//! Clients show their model structured content as it comes, and some cut it. The library keeps it in a map that is sorted
//! by name, so the order is restored where a message has become bytes, on both transports. What always holds: the message
//! keeps its members and its length.

use std::collections::BTreeMap;

use axum::body::{Body, Bytes};
use axum::http::header;
use axum::response::Response;
use http_body_util::BodyExt;
use memchr::memmem;
use serde_json::Deserializer;
use serde_json::value::RawValue;

use parallel_llm_http::early;

/// The members that come first, in this order. The others follow, sorted by name.
const FIRST: [&str; 17] = [
    "answer",
    "text",
    "status",
    "code",
    "message",
    "retryable",
    "retry_after_ms",
    "synthesis",
    "agreement",
    "answered",
    "missing",
    "texts",
    "warnings",
    "cost_usd",
    "cost_note",
    "run_id",
    "next",
];

/// The beginning of structured content in a message. It cannot be inside a text, where quotes are escaped.
const BEGINNING: &[u8] = br#""structuredContent":{"#;

/// Puts the members of a message's structured content in order, in place.
pub(crate) fn put_in_order(message: &mut [u8]) {
    let Some(at) = memmem::find(message, BEGINNING) else { return };
    let start = at + BEGINNING.len() - 1;
    if let Some(ordered) = ordered(&message[start..]) {
        message[start..start + ordered.len()].copy_from_slice(&ordered);
    }
}

/// Puts the members in order in each event of a stream. The library writes an event in one piece.
pub(crate) fn in_events(response: Response) -> Response {
    if !early::names(response.headers(), &header::CONTENT_TYPE, early::EVENTS) {
        return response;
    }
    let in_order = |event: Bytes| {
        let mut event = Vec::from(event);
        put_in_order(&mut event);
        Bytes::from(event)
    };
    response.map(|body| Body::new(body.map_frame(move |frame| frame.map_data(in_order))))
}

/// The object that this text begins with, its members in order; `None` if it cannot be written in the same length.
fn ordered(json: &[u8]) -> Option<Vec<u8>> {
    // A name with an escape is not read as a slice. There are none among ours.
    let mut objects = Deserializer::from_slice(json).into_iter::<BTreeMap<&str, &RawValue>>();
    let mut members = objects.next()?.ok()?;
    let length = objects.byte_offset();
    let first: Vec<_> = FIRST.iter().filter_map(|name| members.remove_entry(name)).collect();
    let mut text = String::with_capacity(length);
    for (name, value) in first.into_iter().chain(members) {
        let separator = if text.is_empty() { '{' } else { ',' };
        text.extend([separator, '"']);
        text.extend([name, "\":", value.get()]);
    }
    text.push('}');
    (text.len() == length).then(|| text.into_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(message: &str, expected: &str) {
        let mut bytes = message.as_bytes().to_vec();
        put_in_order(&mut bytes);
        assert_eq!(String::from_utf8(bytes).unwrap(), expected);
    }

    #[test]
    fn the_answer_comes_first_and_everything_else_stays() {
        check(
            r#"{"id":1,"result":{"structuredContent":{"agreement":{"b":[1],"a":"}"},"answer":"{\"x\":\"ä","next":null,"z":2,"status":"s"},"x":1}}"#,
            r#"{"id":1,"result":{"structuredContent":{"answer":"{\"x\":\"ä","status":"s","agreement":{"b":[1],"a":"}"},"next":null,"z":2},"x":1}}"#,
        );
        for unchanged in [
            "",
            r#"{"result":{"structuredContent":{}}}"#,
            r#"{"result":{"structuredContent":null}}"#,
            r#"{"result":{"structuredContent":{"b":1,"answer":"cut"#,
            r#"{"result":{"structuredContent":{"b":1, "answer":2}}}"#,
            r#"{"text":"\"structuredContent\":{\"b\":1,\"answer\":2}"}"#,
        ] {
            check(unchanged, unchanged);
        }
    }
}
