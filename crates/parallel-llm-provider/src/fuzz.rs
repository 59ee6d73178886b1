//! Checks that must hold for any bytes a provider may send, for the fuzzer in `fuzz/` and for the test that replays its
//! corpora.
//!
//! Hidden, not part of the library's API: each function reads one input and panics if a check fails, also in a release
//! build.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use parallel_llm_engine::port::{ReplyEnd, ReplyPart};
use parallel_llm_engine::value::answer::steers;
use parallel_llm_engine::{Code, Failure, Finish};
use secrecy::SecretString;
use serde_json::Value;

use crate::codec;
use crate::codec::protocol::Codec;
use crate::providers::dialect::Protocol;
use crate::providers::scrubber::Scrubber;
use crate::read::reply::{Parts, Reply};
use crate::read::template::EventTemplate;
use crate::wire::classify::{self, Origin};
use crate::wire::retry_after;
use crate::wire::sse::{Decoder, Step};

/// The protocols a reply may be read as.
const PROTOCOLS: [Protocol; 3] = [Protocol::Chat, Protocol::Messages, Protocol::Gemini];

/// How many positions to split an input at, besides splitting it into single bytes. The positions depend on the length.
const CUTS: usize = 12;
/// A leap year. No hint may ask for a longer wait.
const WAIT_MAX: Duration = Duration::from_secs(366 * 24 * 60 * 60);
/// The most characters of a sentence for people, and bytes of a name from a provider.
const SENTENCE_CHARS_MAX: usize = 700;
const NAME_BYTES_MAX: usize = 200;
/// The status of a message without one.
const STATUS: u16 = 500;
/// A day of November 2026, so that an input gives the same result every day.
const NOW_S: u64 = 1_795_000_000;

/// A stream of events: every split gives the same events as a simple reading of the whole.
pub fn sse(stream: &[u8]) {
    let expected = plain_events(stream);
    for_cuts(stream, |pieces| assert_eq!(decoded(pieces), expected, "cut into {} pieces", pieces.len()));
}

/// The body of a reply, in every protocol: every split gives the same parts, there is one end and it is last, and names
/// from the provider are short and plain.
pub fn chunk(body: &[u8]) {
    for protocol in PROTOCOLS {
        let codec = codec::of(protocol);
        check_templates(codec, body);
        let origin = origin(codec);
        let read = |pieces: &[&[u8]], declares_events| {
            parts(Reply::new(origin.clone(), codec, declares_events), pieces)
        };
        check_parts(&read(&[body], false));
        let expected = read(&[body], true);
        check_parts(&expected);
        let expected = without_words(expected);
        for_cuts(body, |pieces| {
            let parts = without_words(read(pieces, true));
            assert_eq!(parts, expected, "{protocol:?} cut into {} pieces", pieces.len());
        });
    }
}

/// An answer that is not a reply, in every protocol: the failure is a plain sentence of limited length without the key.
pub fn error_body(message: &[u8]) {
    let RawReply { status, headers, body } = RawReply::read(message);
    for protocol in PROTOCOLS {
        let origin = origin(codec::of(protocol));
        let optional_fields = origin.optional_fields.clone();
        let failure = classify::error_response(&origin, status, &headers, body);
        check_failure(&failure);
        assert_eq!(failure.status, Some(status.as_u16()));
        let field = failure.rejected_field.as_deref();
        assert!(field.is_none_or(|field| optional_fields.contains(&field)), "{field:?} is no field of ours");
    }
}

/// The headers and the body of a failure: no hint is longer than [`WAIT_MAX`] or in the past.
pub fn retry_after(message: &[u8]) {
    let RawReply { headers, body, .. } = RawReply::read(message);
    let error: Option<Value> = serde_json::from_slice(body).ok();
    for now in [now(), UNIX_EPOCH] {
        let wait = retry_after::wait(&headers, error.as_ref(), now);
        assert!(wait.is_none_or(|wait| wait <= WAIT_MAX), "{wait:?}");
        let reset = retry_after::reset(&headers, error.as_ref(), now);
        assert!(reset.is_none_or(|reset| reset > now && reset <= now + WAIT_MAX), "{reset:?}");
    }
}

/// An event read by the template of the one before it has the same content as when it is parsed.
fn check_templates(codec: &dyn Codec, body: &[u8]) {
    for pair in plain_events(body).windows(2) {
        let [Ok(before), Ok(event)] = [&pair[0], &pair[1]].map(|event| str::from_utf8(event)) else {
            continue;
        };
        let Ok(piece) = codec.read(before, false) else { continue };
        let template = piece.only_text().and_then(|text| EventTemplate::of(before, text));
        let Some(text) = template.and_then(|template| template.text(event.as_bytes())) else { continue };
        let parsed = codec.read(event, false).expect("an event that differs only in its text can be parsed");
        assert_eq!((&*parsed.text, &parsed.id, &parsed.model), (text, &piece.id, &piece.model), "{event}");
        assert!(text.is_empty() || parsed.only_text() == Some(text), "{event}");
    }
}

fn now() -> SystemTime {
    UNIX_EPOCH + Duration::from_secs(NOW_S)
}

/// A key of the right form that is not real.
fn key() -> String {
    format!("sk-or-v1-{}", "0".repeat(64))
}

fn origin(codec: &dyn Codec) -> Origin {
    Origin {
        provider: "provider".to_owned(),
        now: now(),
        scrubber: Scrubber::new([SecretString::from(key())]),
        optional_fields: codec.optional_fields().to_vec(),
        refused_key_advice: Vec::new(),
    }
}

/// The parts of a reply that arrives in these pieces. `Alive`, repeated `Reasoning` and where texts are cut depend on the
/// split and are left out.
fn parts(mut reply: Reply, pieces: &[&[u8]]) -> Vec<Result<ReplyPart, Failure>> {
    let mut parts = Parts::new();
    for piece in pieces {
        if !reply.is_over() {
            reply.feed(piece, &mut parts);
        }
    }
    reply.finish(&mut parts);
    assert!(reply.is_over(), "the end of a body is the end of its reply");
    parts.retain(|part| *part != Ok(ReplyPart::Alive));
    let mut parts = Vec::from(parts);
    parts.dedup_by(|part, before| match (part, before) {
        (Ok(ReplyPart::Reasoning), Ok(ReplyPart::Reasoning)) => true,
        (Ok(ReplyPart::Text(text)), Ok(ReplyPart::Text(before))) => {
            before.push_str(text);
            true
        }
        _ => false,
    });
    parts
}

/// A failure may quote the first piece, which depends on the split.
fn without_words(mut parts: Vec<Result<ReplyPart, Failure>>) -> Vec<Result<ReplyPart, Failure>> {
    for failure in parts.iter_mut().filter_map(|part| part.as_mut().err()) {
        failure.message.clear();
    }
    parts
}

fn check_parts(parts: &[Result<ReplyPart, Failure>]) {
    let (mut text_bytes, mut accepted) = (0, 0);
    for (position, part) in parts.iter().enumerate() {
        let is_last = position + 1 == parts.len();
        let ends = match part {
            Ok(ReplyPart::Accepted { generation_id }) => {
                accepted += 1;
                check_name(generation_id);
                false
            }
            Ok(ReplyPart::Text(text)) => {
                assert!(!text.is_empty());
                text_bytes += text.len();
                false
            }
            Ok(ReplyPart::End(end)) => {
                check_end(end, text_bytes);
                true
            }
            Err(failure) => {
                check_failure(failure);
                true
            }
            Ok(ReplyPart::Connected | ReplyPart::Alive | ReplyPart::Reasoning) => false,
        };
        assert_eq!(ends, is_last, "one end, and it is last: {parts:?}");
    }
    assert!(accepted <= 1, "a reply is named once");
}

fn check_end(end: &ReplyEnd, text_bytes: usize) {
    end.served_model.as_deref().into_iter().chain(end.generation_id.as_deref()).for_each(check_name);
    assert!(end.refusal.is_none() || text_bytes == 0, "what was answered was not refused");
    assert!(end.finish.as_ref().is_none_or(|finish| Finish::as_str(finish).len() <= NAME_BYTES_MAX));
}

fn check_name(name: &str) {
    assert!(
        !name.is_empty() && name.len() <= NAME_BYTES_MAX && !name.chars().any(char::is_control),
        "{name:?}"
    );
}

fn check_failure(failure: &Failure) {
    assert!(Code::ALL.contains(&failure.code));
    for sentence in [failure.message.clone(), failure.next_step()] {
        assert!(!sentence.is_empty() && sentence.chars().count() <= SENTENCE_CHARS_MAX, "{sentence:?}");
        assert!(!sentence.chars().any(steers), "{sentence:?} steers a terminal");
        assert!(!sentence.contains(&key()), "{sentence:?} has the key");
    }
    assert!(
        failure.retry_after_ms.is_none_or(|wait| u128::from(wait) <= WAIT_MAX.as_millis()),
        "{failure:?}"
    );
}

/// Checks the whole, its single bytes, and two halves at several positions.
fn for_cuts(bytes: &[u8], check: impl Fn(&[&[u8]])) {
    check(&[bytes]);
    check(&bytes.chunks(1).collect::<Vec<_>>());
    let step = bytes.len() / CUTS + 1;
    for position in (bytes.len() % step..bytes.len()).step_by(step) {
        let (one, other) = bytes.split_at(position);
        check(&[one, other]);
    }
}

fn decoded(pieces: &[&[u8]]) -> Vec<Vec<u8>> {
    let mut decoder = Decoder::default();
    let mut events = Vec::new();
    for mut piece in pieces.iter().copied() {
        while let Some(step) = decoder.step(&mut piece) {
            match step {
                Step::Event(data) => events.push(data.to_vec()),
                Step::TooLong => return events,
            }
        }
    }
    events
}

/// The events of a stream, read in the simplest way: line ends normalised, lines split, data collected. The fuzzer's
/// inputs are far below the length limit.
fn plain_events(stream: &[u8]) -> Vec<Vec<u8>> {
    let text: Vec<u8> = stream
        .iter()
        .copied()
        .enumerate()
        .filter(|(at, byte)| !(*byte == b'\n' && *at > 0 && stream[at - 1] == b'\r'))
        .map(|(_, byte)| if byte == b'\r' { b'\n' } else { byte })
        .collect();
    let mut lines: Vec<&[u8]> = text.split(|byte| *byte == b'\n').collect();
    lines.pop();
    let (mut events, mut data) = (Vec::new(), Vec::new());
    for line in lines {
        let (field, value) = match line.iter().position(|byte| *byte == b':') {
            Some(colon) => (&line[..colon], &line[colon + 1..]),
            None => (line, [].as_slice()),
        };
        if field == b"data" {
            data.push(value.strip_prefix(b" ").unwrap_or(value));
        } else if line.is_empty() && !data.is_empty() {
            events.push(data.join(b"\n".as_slice()));
            data.clear();
        }
    }
    events
}

/// An answer as text, so that a corpus can be read: a status, headers one per line, a blank line and the body.
struct RawReply<'a> {
    status: StatusCode,
    headers: HeaderMap,
    body: &'a [u8],
}

impl<'a> RawReply<'a> {
    /// Reads what is there; lines that are not headers are ignored.
    fn read(bytes: &'a [u8]) -> Self {
        let end = bytes.windows(2).position(|pair| pair == b"\n\n");
        let (head, body) = end.map_or((bytes, [].as_slice()), |end| (&bytes[..end], &bytes[end + 2..]));
        let headers = head.split(|byte| *byte == b'\n').filter_map(header).collect();
        let line = head.split(|byte| *byte == b'\n').next().unwrap_or_default();
        let status = str::from_utf8(line).ok().and_then(|line| line.parse().ok()).unwrap_or(STATUS);
        let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        Self { status, headers, body }
    }
}

fn header(line: &[u8]) -> Option<(HeaderName, HeaderValue)> {
    let colon = line.iter().position(|byte| *byte == b':')?;
    let (name, value) = (&line[..colon], line[colon + 1..].trim_ascii());
    Some((HeaderName::from_bytes(name).ok()?, HeaderValue::from_bytes(value).ok()?))
}
