//! Answers as they come: server-sent events of both protocols.
//!
//! [`pieces`] follows the run, [`chat`] and [`responses`] write its pieces as events. The head is held until something real
//! is there, so that a question that fails early gets its status. Invariants: what is sent is the beginning of the answer,
//! else the stream ends with an error; every event is one line of JSON, so no text can end it.

mod chat;
mod pieces;
mod responses;

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::{HeaderName, HeaderValue, header};
use axum::response::{IntoResponse, Response};
use futures_util::{Stream, stream};
use parallel_llm_engine::text::safe::excerpt;
use parallel_llm_http::early::EVENTS;
use parallel_llm_service::RunHandle;
use tokio::time::{Instant, timeout_at};

pub(crate) use chat::ChatFrames;
pub(crate) use responses::ResponseFrames;

use crate::caller::Caller;
use crate::refusal::Refusal;
use crate::reply::{self, Answer};
use crate::request::Progress;
use pieces::{Follower, Piece};

/// How long the head is held at most: proxies and clients give up on a request without one after a minute.
const HELD_MAX: Duration = Duration::from_secs(50);
/// The longest text of one event in bytes, as long as a line that every client can read.
const EVENT_TEXT_BYTES_MAX: usize = 8 * 1024;
/// The longest comment, in characters.
const COMMENT_CHARS_MAX: usize = 400;
/// The comment that keeps a silent stream open.
const KEEP_ALIVE: &str = "the panel is at work";
/// Tells a proxy not to buffer.
const UNBUFFERED: HeaderName = HeaderName::from_static("x-accel-buffering");

/// The events of a protocol.
pub(crate) enum Frames {
    Chat(ChatFrames),
    Response(Box<ResponseFrames>),
}

/// How a streamed run ended for its caller.
pub(super) enum End {
    /// With an answer whose beginning was sent; the rest of its text.
    Whole(Box<Answer>, String),
    /// With an error.
    Broken(Refusal),
}

/// Streams the answer of a run that has begun. Fails if the run does before anything real is there.
pub(crate) async fn answer(
    caller: &Arc<Caller>,
    handle: &RunHandle,
    progress: Progress,
    mut frames: Frames,
) -> Result<Response, Refusal> {
    let mut follower = Follower::new(Arc::clone(caller), handle, progress);
    let latest = Instant::now() + HELD_MAX;
    let held_until = caller.waiting().answer_by().map_or(latest, |due| due.min(latest));
    let mut newest = None;
    let first = loop {
        // Nothing real within this time: from here on, an error is an event.
        let Ok(piece) = timeout_at(held_until, follower.next()).await else { break Piece::Quiet };
        match piece {
            Piece::End(End::Broken(refusal)) => return Err(refusal),
            Piece::Text(_) | Piece::End(End::Whole(..)) => break piece,
            // Once a model has answered there will be a text, whatever becomes of the others.
            Piece::Progress(_) | Piece::Quiet if follower.has_answer() => break piece,
            Piece::Progress(line) => newest = Some(line),
            Piece::Quiet => {}
        }
    };
    let is_over = matches!(first, Piece::End(_));
    // As reasoning, the progress is a part of the answer: its newest line comes in front of the first words.
    let missed = newest.filter(|_| frames.shows_reasoning() && !matches!(first, Piece::Progress(_)));
    let mut begun = frames.begin();
    begun.extend(missed.map(|line| frames.reasoning(&line)));
    begun += &frames.of(first, caller);
    let events = Events { begun, is_over, follower, frames, caller: Arc::clone(caller) };
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static(EVENTS)),
        (UNBUFFERED, HeaderValue::from_static("no")),
    ];
    Ok((reply::headers(handle.id()), headers, Body::from_stream(events.stream())).into_response())
}

/// The events of a stream, from those that made its head real.
struct Events {
    begun: String,
    /// Whether the last event is among those that have been made.
    is_over: bool,
    follower: Follower,
    frames: Frames,
    caller: Arc<Caller>,
}

impl Events {
    fn stream(self) -> impl Stream<Item = Result<Bytes, Infallible>> {
        stream::unfold(self, |mut events| async move {
            if events.begun.is_empty() {
                if events.is_over {
                    return None;
                }
                let piece = events.follower.next().await;
                events.is_over = matches!(piece, Piece::End(_));
                events.begun = events.frames.of(piece, &events.caller);
            }
            let ready = std::mem::take(&mut events.begun);
            Some((Ok(Bytes::from(ready)), events))
        })
    }
}

impl Frames {
    /// The events before any piece.
    fn begin(&mut self) -> String {
        match self {
            Self::Chat(frames) => frames.begin(),
            Self::Response(frames) => frames.begin(),
        }
    }

    /// The events of a piece. Never empty.
    fn of(&mut self, piece: Piece, caller: &Caller) -> String {
        match piece {
            Piece::Text(text) => self.texts(&text),
            Piece::Progress(line) if self.shows_reasoning() => self.reasoning(&line),
            Piece::Progress(line) => comment(&line),
            Piece::Quiet => comment(KEEP_ALIVE),
            Piece::End(End::Whole(answer, rest)) => {
                let rest = self.texts(&rest);
                rest + &match self {
                    Self::Chat(frames) => frames.end(&answer),
                    Self::Response(frames) => frames.end(&answer),
                }
            }
            Piece::End(End::Broken(refusal)) => {
                let shown = refusal.shown(&caller.services.principal);
                match self {
                    Self::Chat(frames) => frames.fail(shown),
                    Self::Response(frames) => frames.fail(&shown),
                }
            }
        }
    }

    /// The events of a text, each of a bounded length.
    fn texts(&mut self, mut text: &str) -> String {
        let mut events = String::new();
        while !text.is_empty() {
            let (piece, rest) = text.split_at(text.floor_char_boundary(EVENT_TEXT_BYTES_MAX.min(text.len())));
            events.push_str(&match self {
                Self::Chat(frames) => frames.text(piece),
                Self::Response(frames) => frames.text(piece),
            });
            text = rest;
        }
        events
    }

    fn reasoning(&mut self, line: &str) -> String {
        match self {
            Self::Chat(frames) => frames.reasoning(line),
            Self::Response(frames) => frames.reasoning(line),
        }
    }

    /// Whether the progress is shown as reasoning, which comes before the text.
    fn shows_reasoning(&self) -> bool {
        match self {
            Self::Chat(frames) => frames.shows_reasoning(),
            Self::Response(frames) => frames.shows_reasoning(),
        }
    }
}

/// A comment, which clients skip.
fn comment(text: &str) -> String {
    format!(": {}\n\n", excerpt(text, COMMENT_CHARS_MAX))
}

/// An event of this data, of the named type if the protocol names them.
fn event(kind: Option<&str>, data: &str) -> String {
    match kind {
        Some(kind) => format!("event: {kind}\ndata: {data}\n\n"),
        None => format!("data: {data}\n\n"),
    }
}
