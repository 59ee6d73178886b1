//! The replies of the upstream: event streams in OpenRouter's format, or whole completions for a client that asks for no stream.
//!
//! Deterministic, and different for each model, so that a program has real answers to compare. Made once and kept, because the
//! upstream shares the processor with what is measured.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// The text before the code of a synthesis in its prompt.
const MARKER: &str = "<<answer ";
/// The structured part of a synthesis.
const ANALYSIS: &str = r#"{"base":"A","changes":[],"claims":[{"text":"create it concurrently","for":["A","B"],"against":[]}],"dissent":"","suspected":[]}"#;
/// Answers are made of these words, in an order that depends on the model.
const WORDS: &str = "yes with two conditions create the index concurrently so that writers are not held up and set a lock \
    timeout otherwise a long transaction can queue everybody behind you afterwards check that it is valid because a build \
    which was interrupted leaves one that costs writes and serves no reads drop it and begin again in that case";
/// The number of different answers.
const VARIANTS: u64 = 1_000;
const HEAD: &str = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncache-control: no-cache\r\ntransfer-encoding: chunked\r\n\r\n";

/// The size of every answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Size {
    /// Bytes of text.
    pub bytes: usize,
    /// Pieces in which the text is streamed.
    pub pieces: usize,
}

impl Size {
    /// A usual answer: 1 kB in 180 pieces.
    pub const USUAL: Self = Self { bytes: 1_000, pieces: 180 };
}

impl Default for Size {
    fn default() -> Self {
        Self::USUAL
    }
}

/// How the events of a reply reach its reader.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Packing {
    /// Each event in a chunk of its own, as servers write them.
    #[default]
    Single,
    /// As many events in a chunk as fit into a frame, as a network hands them over when they come faster than they are read.
    Coalesced,
}

impl Packing {
    /// The word in a command.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Single => "single",
            Self::Coalesced => "coalesced",
        }
    }
}

/// The bytes of a frame: the largest of HTTP/2 by default, and of a record of TLS.
const FRAME_BYTES: usize = 16 * 1024;

/// The replies that have been made so far.
#[derive(Debug, Default)]
pub struct Replies {
    made: HashMap<(Size, Packing, u64), Events>,
}

/// An answer as events, and as one text.
#[derive(Debug)]
struct Events {
    answer: String,
    /// The part of the body with the text, and the part after it.
    text: Vec<u8>,
    end: Vec<u8>,
}

impl Replies {
    /// The whole response to a request, head and body.
    pub fn response(&mut self, size: Size, packing: Packing, request: &str) -> Bytes {
        let variant = variant(request);
        let made = self.made.entry((size, packing, variant));
        let events = made.or_insert_with(|| Events::new(size, packing, variant));
        if field(request, "stream").is_none_or(|value| !value.starts_with("true")) {
            return whole(&events.answer);
        }
        match nonce(request) {
            None => [HEAD.as_bytes(), &events.text, &events.end].concat().into(),
            Some(nonce) => {
                let begin = chunk(&text_event(&format!("{MARKER}{nonce}>>\n")));
                let form = chunk(&text_event(&format!("\n<<end answer {nonce}>>\n{ANALYSIS}\n")));
                let parts = [HEAD.as_bytes(), begin.as_bytes(), &events.text, form.as_bytes(), &events.end];
                parts.concat().into()
            }
        }
    }
}

impl Events {
    fn new(size: Size, packing: Packing, variant: u64) -> Self {
        let answer = answer(size.bytes, variant);
        let piece = size.bytes.div_ceil(size.pieces.max(1)).max(1);
        let mut events = vec![": OPENROUTER PROCESSING\n\n".to_owned()];
        // The text is ASCII, so it can be cut anywhere.
        let starts = (0..answer.len()).step_by(piece);
        events.extend(starts.map(|start| text_event(&answer[start..answer.len().min(start + piece)])));
        let end = json!([{"index": 0, "delta": {"content": ""}, "finish_reason": "stop"}]);
        let last = [event(&end, None), event(&json!([]), Some(&usage())), "data: [DONE]\n\n".to_owned()];
        let chunked = |events: &[String]| match packing {
            Packing::Single => events.iter().map(|event| chunk(event)).collect(),
            // A frame ends anywhere, also within an event.
            Packing::Coalesced => {
                let bytes = events.concat();
                let frames = bytes.as_bytes().chunks(FRAME_BYTES);
                frames.map(|frame| chunk(std::str::from_utf8(frame).expect("the events are ASCII"))).collect()
            }
        };
        let (text, end): (String, String) = (chunked(&events), chunked(&last) + "0\r\n\r\n");
        Self { answer, text: text.into_bytes(), end: end.into_bytes() }
    }
}

/// The code in the prompt of a synthesis; `None` for the call of a seat.
pub fn nonce(request: &str) -> Option<&str> {
    let (_, after) = request.split_once(MARKER)?;
    after.split_once(">>").map(|(nonce, _)| nonce)
}

/// Which of the answers a model gives.
fn variant(request: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    field(request, "model").and_then(|value| value.split('"').nth(1)).hash(&mut hasher);
    hasher.finish() % VARIANTS
}

/// What follows the first field of this name, with or without a space. Only searched, because the upstream shares the processor
/// with what is measured.
fn field<'a>(request: &'a str, name: &str) -> Option<&'a str> {
    let (_, after) = request.split_once(&format!("\"{name}\":"))?;
    Some(after.trim_start())
}

/// Paragraphs of this many bytes.
fn answer(bytes: usize, variant: u64) -> String {
    let words: Vec<&str> = WORDS.split_whitespace().collect();
    let mut text = String::with_capacity(bytes + 32);
    let mut index = variant as usize * 5;
    let mut count = 0;
    while text.len() < bytes {
        text.push_str(words[index % words.len()]);
        count += 1;
        text.push_str(if count % 60 == 0 {
            ".\n\n"
        } else if count % 12 == 0 {
            ". "
        } else {
            " "
        });
        // Steps of different lengths give each answer an order of its own.
        index += 1 + (count / 12 + variant as usize) % 3;
    }
    text.truncate(bytes);
    text
}

fn usage() -> Value {
    json!({"prompt_tokens": 60, "completion_tokens": 80, "total_tokens": 140, "cost": 0.000_832})
}

fn text_event(text: &str) -> String {
    let delta = json!({"role": "assistant", "content": text});
    event(&json!([{"index": 0, "delta": delta, "finish_reason": null}]), None)
}

fn event(choices: &Value, usage: Option<&Value>) -> String {
    let mut chunk = completion("chat.completion.chunk", choices);
    if let Some(usage) = usage {
        chunk["usage"] = usage.clone();
    }
    format!("data: {chunk}\n\n")
}

/// A chunk of the transfer encoding.
fn chunk(data: &str) -> String {
    format!("{:x}\r\n{data}\r\n", data.len())
}

fn completion(object: &str, choices: &Value) -> Value {
    json!({
        "id": "gen-1763640000-benchbenchbench",
        "provider": "Bench",
        "model": "bench/model",
        "object": object,
        "created": 1_763_640_000,
        "choices": choices,
    })
}

fn whole(answer: &str) -> Bytes {
    let message = json!({"role": "assistant", "content": answer});
    let mut body =
        completion("chat.completion", &json!([{"index": 0, "message": message, "finish_reason": "stop"}]));
    body["usage"] = usage();
    let body = body.to_string();
    let head = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    (head + &body).into_bytes().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The body of a chunked response.
    fn body(response: &[u8]) -> String {
        let response = std::str::from_utf8(response).unwrap();
        let (_, mut rest) = response.split_once("\r\n\r\n").unwrap();
        let mut body = String::new();
        loop {
            let (length, after) = rest.split_once("\r\n").unwrap();
            let length = usize::from_str_radix(length, 16).unwrap();
            body.push_str(&after[..length]);
            rest = &after[length + 2..];
            if length == 0 {
                assert!(rest.is_empty(), "{rest}");
                return body;
            }
        }
    }

    fn request(model: &str, prompt: &str) -> String {
        json!({"model": model, "stream": true, "messages": [{"role": "user", "content": prompt}]}).to_string()
    }

    #[test]
    fn a_synthesis_repeats_its_code() {
        let request = request("a/b", "Write <<answer 5eed>> and the");
        assert_eq!(nonce(&request), Some("5eed"));
        let body = body(&Replies::default().response(Size::USUAL, Packing::Single, &request));
        assert!(body.contains("<<answer 5eed>>") && body.contains("<<end answer 5eed>>"), "{body}");
    }

    #[test]
    fn an_answer_has_its_size_and_differs_between_models() {
        let mut replies = Replies::default();
        let (size, mut bodies) = (Size { bytes: 60_000, pieces: 1_000 }, Vec::new());
        for model in ["a/one", "b/two", "c/three"] {
            let body = body(&replies.response(size, Packing::Single, &request(model, "")));
            assert_eq!(body.matches("\"role\"").count(), 1_000);
            assert!(body.ends_with("data: [DONE]\n\n"), "{body}");
            let coalesced = replies.response(size, Packing::Coalesced, &request(model, ""));
            assert_eq!(self::body(&coalesced), body, "the same events in other chunks");
            bodies.push(body);
        }
        bodies.dedup();
        assert!(bodies.len() > 1);
    }

    #[test]
    fn spaces_in_a_request_make_no_difference() {
        let response = |request| Replies::default().response(Size::USUAL, Packing::Single, request);
        let usual = response(r#"{"model":"a/b","stream":true}"#);
        assert_eq!(response(r#"{"model": "a/b", "stream": true}"#), usual);
        assert_ne!(response(r#"{"model": "b/c", "stream": true}"#), usual);
    }

    #[test]
    fn without_a_stream_a_completion_is_whole() {
        let response = Replies::default().response(Size::USUAL, Packing::Single, r#"{"model":"a/b"}"#);
        let (_, body) = std::str::from_utf8(&response).unwrap().split_once("\r\n\r\n").unwrap();
        let body: Value = serde_json::from_str(body).unwrap();
        assert_eq!(body["choices"][0]["message"]["content"].as_str().unwrap().len(), Size::USUAL.bytes);
    }
}
