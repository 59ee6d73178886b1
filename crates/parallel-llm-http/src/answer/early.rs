//! Sends headers before there is an answer: clients give up on a post without headers after a minute, and a call may
//! take longer.
//!
//! If an answer takes longer than [`EARLY_AFTER`], the client gets the head of an event stream and a comment every few
//! seconds, then the answer, converted to events by its door. Invariants: dropping the outer answer drops the
//! call.

use std::convert::Infallible;
use std::pin::Pin;
use std::time::Duration;

use axum::body::{Body, BodyDataStream, Bytes};
use axum::http::{HeaderMap, HeaderName, HeaderValue, header};
use axum::response::Response;
use futures_util::future::BoxFuture;
use futures_util::{Stream, StreamExt, stream};
use tokio::time::{Interval, MissedTickBehavior, interval, timeout};

/// The delay of the early headers: shorter than any client's timeout, longer than most refusals take, which should keep
/// their status.
const EARLY_AFTER: Duration = Duration::from_secs(2);
/// The interval of comments: proxies cut connections that are silent for half a minute.
const COMMENT_EVERY: Duration = Duration::from_secs(10);
/// The longest answer converted to one event. Longer answers come as streams.
pub const EVENT_BYTES_MAX: usize = 64 << 20;

/// The media type of event streams.
pub const EVENTS: &str = "text/event-stream";
/// Tells a proxy not to buffer.
const UNBUFFERED: HeaderName = HeaderName::from_static("x-accel-buffering");
/// A comment line, which readers of events skip.
const COMMENT: Bytes = Bytes::from_static(b": the call goes on\n\n");

/// A future answer.
pub type Answering = Pin<Box<dyn Future<Output = Response> + Send>>;
/// Converts an answer that comes after its headers to events.
pub type IntoEvents = Box<dyn FnOnce(Response) -> BoxFuture<'static, Body> + Send>;

/// The state of a late answer.
enum Stage {
    Waiting { answering: Answering, into_events: IntoEvents, ticks: Interval },
    Events(BodyDataStream),
}

/// The answer itself if it comes soon, else an event stream with it.
pub async fn answer(mut answering: Answering, into_events: IntoEvents) -> Response {
    if let Ok(response) = timeout(EARLY_AFTER, &mut answering).await {
        return response;
    }
    let mut ticks = interval(COMMENT_EVERY);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let stage = Stage::Waiting { answering, into_events, ticks };
    let mut response = Response::new(Body::from_stream(follow(stage)));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(EVENTS));
    headers.insert(UNBUFFERED, HeaderValue::from_static("no"));
    response
}

/// Comments until there is an answer, then its events.
fn follow(stage: Stage) -> impl Stream<Item = Result<Bytes, Infallible>> + Send {
    stream::unfold(stage, |mut stage| async move {
        loop {
            stage = match stage {
                Stage::Waiting { mut answering, into_events, mut ticks } => tokio::select! {
                    biased;
                    response = &mut answering => Stage::Events(into_events(response).await.into_data_stream()),
                    _ = ticks.tick() => {
                        return Some((Ok(COMMENT), Stage::Waiting { answering, into_events, ticks }));
                    }
                },
                // A broken stream can only end: its head was sent long ago.
                Stage::Events(mut events) => {
                    let bytes = events.next().await?.ok()?;
                    return Some((Ok(bytes), Stage::Events(events)));
                }
            };
        }
    })
}

/// An event of this text, with each line in a `data` line.
pub fn event(text: &[u8]) -> Vec<u8> {
    let mut event = Vec::with_capacity(text.len() + 16);
    for line in text.split(|byte| *byte == b'\n') {
        event.extend_from_slice(b"data: ");
        event.extend_from_slice(line.strip_suffix(b"\r").unwrap_or(line));
        event.push(b'\n');
    }
    event.push(b'\n');
    event
}

/// Whether a client accepts events.
pub fn takes_events(headers: &HeaderMap) -> bool {
    names(headers, &header::ACCEPT, EVENTS)
}

/// Whether a header names this media type.
pub fn names(headers: &HeaderMap, name: &HeaderName, kind: &str) -> bool {
    headers.get_all(name).iter().any(|value| value.to_str().is_ok_and(|value| value.contains(kind)))
}
