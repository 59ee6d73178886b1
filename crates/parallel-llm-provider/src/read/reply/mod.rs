//! Turns the bytes of one reply into its parts.
//!
//! Pure: it is given bytes and their end; the client reads them. A reply should be a stream of events, but a server may
//! answer with a whole completion, an error with status 200, or a login page, so the format is detected from the first
//! byte that is not white space.
//!
//! Invariants: the parts do not depend on how the bytes are split (except [`ReplyPart::Alive`], and that the texts of one
//! read are joined); nothing follows an end
//! or a failure; received text is returned before the failure that ends it; memory is limited by the constants below.

use std::borrow::Cow;
use std::collections::VecDeque;

use parallel_llm_engine::port::{ReplyEnd, ReplyPart};
use parallel_llm_engine::{Code, Failure, Finish};
use serde_json::value::RawValue;

use super::template::EventTemplate;
use crate::codec::piece::{Declined, Piece, Spent};
use crate::codec::protocol::Codec;
use crate::wire::classify::{self, Origin};
use crate::wire::error::ErrorBody;
use crate::wire::sse::{Decoder, LINE_BYTES_MAX, Step};

/// The longest answer. The largest output caps, a million tokens, are half of it in English.
const TEXT_BYTES_MAX: usize = 8 * 1024 * 1024;
/// The longest reply that is not a stream: an answer with its reasoning and the surrounding JSON.
const WHOLE_BYTES_MAX: usize = 32 * 1024 * 1024;
/// Beyond this, a reply that is not a stream gets the address space of the longest at once: a buffer that doubles leaves
/// as much behind, and pages that are not written take no memory.
const LONG_WHOLE_BYTES: usize = 1024 * 1024;
/// The most bytes in a row without text or reasoning. Keep-alive comments come to 3 kB a minute, so only a hostile or
/// broken server reaches this, for instance with a decompression bomb.
const EMPTY_BYTES_MAX: usize = 32 * 1024 * 1024;
/// The longest refusal that is kept; it is shown as the reason of a failure.
const REFUSAL_BYTES_MAX: usize = 4 * 1024;
/// The longest id of a call or name of a model. The longest known is under 80.
const NAME_BYTES_MAX: usize = 200;

/// Parts that have not been returned yet.
pub(crate) type Parts = VecDeque<Result<ReplyPart, Failure>>;

/// A reply that is being read.
#[derive(Debug)]
pub(crate) struct Reply {
    shape: Shape,
    state: ReplyState,
}

/// The format of a body.
#[derive(Debug)]
enum Shape {
    /// Only white space so far. The header says whether events are expected.
    Unknown { declares_events: bool },
    /// Server-sent events.
    Events(Decoder),
    /// One JSON value, kept until it is complete.
    Whole(Vec<u8>),
}

impl Reply {
    /// A reply whose headers have come. `declares_events` is what they say about the body.
    pub(crate) fn new(origin: Origin, codec: &'static dyn Codec, declares_events: bool) -> Self {
        Self { shape: Shape::Unknown { declares_events }, state: ReplyState::new(origin, codec) }
    }

    /// Takes the provider's id of the call from the headers.
    pub(crate) fn accept(&mut self, generation_id: &str, parts: &mut Parts) {
        self.state.accept(generation_id, parts);
    }

    /// Whether the reply has ended or failed.
    pub(crate) const fn is_over(&self) -> bool {
        self.state.over
    }

    /// Takes the next bytes.
    pub(crate) fn feed(&mut self, bytes: &[u8], parts: &mut Parts) {
        let before = (parts.len(), self.state.text_bytes);
        self.state.empty_bytes += bytes.len();
        self.read(bytes, parts);
        if self.is_over() {
            return;
        }
        if self.state.empty_bytes > EMPTY_BYTES_MAX {
            let message = format!("{EMPTY_BYTES_MAX} bytes came without text or reasoning");
            self.state.fail(Failure::new(Code::Protocol, self.state.by(&message)), parts);
        } else if (parts.len(), self.state.text_bytes) == before {
            parts.push_back(Ok(ReplyPart::Alive));
        }
    }

    /// Takes the end of the body.
    pub(crate) fn finish(&mut self, parts: &mut Parts) {
        if self.is_over() {
            return;
        }
        match &self.shape {
            Shape::Whole(body) => self.state.whole(body, parts),
            Shape::Events(_) if self.state.may_end() => self.state.end(parts),
            _ => {
                let failure = self.state.cut_off();
                self.state.fail(failure, parts);
            }
        }
    }

    fn read(&mut self, mut bytes: &[u8], parts: &mut Parts) {
        if let Shape::Unknown { declares_events } = self.shape {
            bytes = without_padding(bytes);
            match shape_of(bytes, declares_events) {
                Some(shape) => self.shape = shape,
                None if bytes.is_empty() => return,
                None => return self.state.fail(classify::not_an_api_reply(&self.state.origin, bytes), parts),
            }
        }
        match &mut self.shape {
            Shape::Events(decoder) => self.state.events(decoder, bytes, parts),
            Shape::Whole(body) if body.len() + bytes.len() > WHOLE_BYTES_MAX => {
                let message = self.state.by(&format!("the reply is longer than {WHOLE_BYTES_MAX} bytes"));
                self.state.fail(Failure::new(Code::AnswerTooLarge, message), parts);
            }
            Shape::Whole(body) => {
                if body.len() + bytes.len() > body.capacity().max(LONG_WHOLE_BYTES) {
                    // Without that much space, it grows as it can.
                    let _ = body.try_reserve_exact(WHOLE_BYTES_MAX - body.len());
                }
                body.extend_from_slice(bytes);
                // A whole completion yields nothing before its end; its own limit is above.
                self.state.empty_bytes = 0;
            }
            Shape::Unknown { .. } => {}
        }
    }
}

/// Slow servers send white space to keep the connection open; a byte order mark is skipped too.
fn without_padding(bytes: &[u8]) -> &[u8] {
    let is_padding = |byte: &u8| byte.is_ascii_whitespace() || matches!(byte, 0xef | 0xbb | 0xbf);
    let start = bytes.iter().position(|byte| !is_padding(byte)).unwrap_or(bytes.len());
    &bytes[start..]
}

/// The format that begins with this byte; `None` for one that no API uses. The header may be wrong about JSON and
/// pages, but events begin with the name of a field or a colon.
fn shape_of(bytes: &[u8], declares_events: bool) -> Option<Shape> {
    match bytes.first()? {
        b'{' | b'[' => Some(Shape::Whole(Vec::new())),
        b'<' => None,
        b':' | b'd' | b'e' | b'i' | b'r' => Some(Shape::Events(Decoder::default())),
        _ => declares_events.then(|| Shape::Events(Decoder::default())),
    }
}

/// The content of a reply so far.
#[derive(Debug)]
struct ReplyState {
    origin: Origin,
    codec: &'static dyn Codec,
    accepted: bool,
    over: bool,
    text_bytes: usize,
    empty_bytes: usize,
    finish: Option<Finish>,
    declined: Option<Declined>,
    refusal: String,
    spent: Spent,
    served_model: Option<String>,
    /// The form of the last event that held text and nothing new besides.
    template: Option<EventTemplate>,
}

impl ReplyState {
    fn new(origin: Origin, codec: &'static dyn Codec) -> Self {
        Self {
            origin,
            codec,
            accepted: false,
            over: false,
            text_bytes: 0,
            empty_bytes: 0,
            finish: None,
            declined: None,
            refusal: String::new(),
            spent: Spent::default(),
            served_model: None,
            template: None,
        }
    }

    fn events(&mut self, decoder: &mut Decoder, mut bytes: &[u8], parts: &mut Parts) {
        while !self.over
            && let Some(step) = decoder.step(&mut bytes)
        {
            match step {
                Step::Event(data) => self.event(data, parts),
                Step::TooLong => {
                    let message = self.by(&format!("one event is longer than {LINE_BYTES_MAX} bytes"));
                    self.fail(Failure::new(Code::Protocol, message), parts);
                }
            }
        }
    }

    fn event(&mut self, data: &[u8], parts: &mut Parts) {
        if let Some(text) = self.template.as_ref().and_then(|template| template.text(data)) {
            return self.text(text, parts);
        }
        if data.starts_with(b"[DONE]") {
            return self.end(parts);
        }
        let json = lossy(data);
        match self.codec.read(&json, false) {
            Ok(piece) => {
                if let Some(text) = piece.only_text() {
                    self.template = EventTemplate::of(&json, text);
                }
                self.piece(piece, parts);
            }
            Err(_) if json.trim().is_empty() => {}
            Err(error) => {
                let what =
                    format!("an event of {} bytes is no valid JSON ({:?})", data.len(), error.classify());
                self.fail(Failure::new(Code::Protocol, self.by(&what)), parts);
            }
        }
    }

    /// A body that is not a stream: a whole reply, an error, or a stream sent as a list of its events.
    fn whole(&mut self, body: &[u8], parts: &mut Parts) {
        let json = lossy(body);
        let list: Vec<&RawValue> = serde_json::from_str(&json).unwrap_or_default();
        let events: Vec<&str> =
            if list.is_empty() { vec![&json] } else { list.into_iter().map(RawValue::get).collect() };
        let pieces = events.iter().map(|event| self.codec.read(event, true)).collect::<Result<Vec<_>, _>>();
        let has_content = pieces.as_ref().is_ok_and(|pieces| pieces.iter().any(|piece| piece.has_content));
        if !has_content && let Some(error) = ErrorBody::parse(body) {
            return self.fail(classify::error_in_reply(&self.origin, error), parts);
        }
        let Some(pieces) = pieces.ok().filter(|_| has_content) else {
            return self.fail(classify::not_an_api_reply(&self.origin, body), parts);
        };
        for piece in pieces {
            if !self.over {
                self.piece(piece, parts);
            }
        }
        if !self.over {
            self.end(parts);
        }
    }

    /// Whether the end of a stream is the end of the reply although there was no end marker.
    fn may_end(&self) -> bool {
        let is_empty = self.text_bytes == 0 && self.spent != Spent::default();
        self.finish.is_some() || (is_empty && self.codec.may_end_silently())
    }

    fn piece(&mut self, piece: Piece<'_>, parts: &mut Parts) {
        if let Some(id) = &piece.id {
            self.accept(id, parts);
        }
        if self.served_model.is_none() {
            self.served_model = piece.model.as_deref().and_then(name);
        }
        if let Some(spent) = piece.spent {
            self.spent.update(spent);
        }
        if piece.reasoning {
            self.empty_bytes = 0;
            if parts.back() != Some(&Ok(ReplyPart::Reasoning)) {
                parts.push_back(Ok(ReplyPart::Reasoning));
            }
        }
        if let Some(refusal) = &piece.refusal {
            let room = REFUSAL_BYTES_MAX - self.refusal.len();
            self.refusal.push_str(cut(refusal, room));
        }
        if let Some(finish) = &piece.finish {
            self.finish = Some(Finish::from_protocol(cut(finish, NAME_BYTES_MAX)));
        }
        self.declined = piece.declined.or(self.declined);
        self.text(&piece.text, parts);
        if self.over {
            return;
        }
        match piece.error {
            Some(error) => self.fail(classify::error_in_reply(&self.origin, error), parts),
            None if piece.ends => self.end(parts),
            None => {}
        }
    }

    fn text(&mut self, text: &str, parts: &mut Parts) {
        if text.is_empty() {
            return;
        }
        self.empty_bytes = 0;
        let room = TEXT_BYTES_MAX - self.text_bytes;
        let fits = text.len() <= room;
        let piece = cut(text, room);
        self.text_bytes += piece.len();
        match parts.back_mut() {
            Some(Ok(ReplyPart::Text(last))) => last.push_str(piece),
            _ if piece.is_empty() => {}
            _ => parts.push_back(Ok(ReplyPart::Text(piece.to_owned()))),
        }
        if !fits {
            let message = self.by(&format!("the answer is longer than {TEXT_BYTES_MAX} bytes"));
            self.fail(Failure::new(Code::AnswerTooLarge, message), parts);
        }
    }

    fn accept(&mut self, id: &str, parts: &mut Parts) {
        if !self.accepted
            && let Some(generation_id) = name(id)
        {
            self.accepted = true;
            parts.push_back(Ok(ReplyPart::Accepted { generation_id }));
        }
    }

    fn end(&mut self, parts: &mut Parts) {
        self.over = true;
        parts.push_back(Ok(ReplyPart::End(ReplyEnd {
            finish: self.finish.take(),
            usage: self.spent.usage,
            cost: self.spent.cost,
            served_model: self.served_model.take(),
            generation_id: None,
            filtered: self.filtered(),
            refusal: self.refusal(),
        })));
    }

    /// Whether a filter stopped the answer. If the model declined in the middle of its answer, a guard stopped it.
    fn filtered(&self) -> bool {
        self.declined == Some(Declined::Filter)
            || (self.declined == Some(Declined::Model) && self.text_bytes > 0)
    }

    /// The text with which the model declined. If it also wrote an answer, it did not decline.
    fn refusal(&mut self) -> Option<String> {
        let declined = self.declined.is_some() || !self.refusal.is_empty();
        (declined && self.text_bytes == 0).then(|| match std::mem::take(&mut self.refusal) {
            words if words.is_empty() => "it gave no words for it".to_owned(),
            words => words,
        })
    }

    fn fail(&mut self, failure: Failure, parts: &mut Parts) {
        self.over = true;
        parts.push_back(Err(failure));
    }

    /// The failure for a stream that ended too early.
    fn cut_off(&self) -> Failure {
        if self.text_bytes > 0 {
            return Failure::new(Code::Incomplete, self.by("the stream ended in the middle of the answer"));
        }
        Failure::new(Code::Connection, self.by("the stream ended before an answer"))
    }

    fn by(&self, what: &str) -> String {
        format!("{}: {what}", self.origin.provider)
    }
}

/// Bytes as text, invalid ones replaced. Nearly all are valid, and checking costs a tenth of replacing.
fn lossy(bytes: &[u8]) -> Cow<'_, str> {
    str::from_utf8(bytes).map_or_else(|_| String::from_utf8_lossy(bytes), Cow::Borrowed)
}

/// A name from a provider, if it is short and has no control characters.
fn name(text: &str) -> Option<String> {
    let fits = !text.is_empty() && text.len() <= NAME_BYTES_MAX && !text.chars().any(char::is_control);
    fits.then(|| text.to_owned())
}

/// The beginning of a text, of at most this many bytes.
fn cut(text: &str, bytes_max: usize) -> &str {
    &text[..text.floor_char_boundary(bytes_max)]
}

#[cfg(test)]
mod tests;
