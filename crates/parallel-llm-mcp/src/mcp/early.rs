//! Headers before there is an answer. Clients give up on a post without headers after a minute, and a call may be silent
//! for longer.
//!
//! Where the route has not answered after a moment, the client is given the head of an event stream and a comment every
//! few seconds; then what the route answers, whatever it is, as events. What always holds: whoever drops the outer answer
//! drops the call within.

use std::convert::Infallible;
use std::pin::Pin;
use std::time::Duration;

use axum::body::{Body, BodyDataStream, Bytes};
use axum::extract::Request;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, header};
use axum::middleware::Next;
use axum::response::Response;
use futures_util::{Stream, StreamExt, stream};
use tokio::time::{Interval, MissedTickBehavior, interval, timeout};

/// How long a route may take before its client is given headers: shorter than any client's patience, longer than most
/// refusals take, which should keep their status.
const EARLY_AFTER: Duration = Duration::from_secs(2);
/// How often a client is told that the call goes on: proxies cut connections that are silent for half a minute.
const COMMENT_EVERY: Duration = Duration::from_secs(10);
/// The longest answer that is made one event. Longer answers come as streams.
const EVENT_BYTES_MAX: usize = 64 << 20;

/// The type of an event stream.
const EVENTS: &str = "text/event-stream";
/// Tells a proxy to pass on what comes, as it comes.
const UNBUFFERED: HeaderName = HeaderName::from_static("x-accel-buffering");
/// Says nothing: a line that readers of events skip.
const COMMENT: Bytes = Bytes::from_static(b": the call goes on\n\n");
/// What is said where an answer that comes late is none of the protocol's.
const LOST: &[u8] =
    br#"{"jsonrpc":"2.0","id":null,"error":{"code":-32603,"message":"the call failed before it began"}}"#;

type Answering = Pin<Box<dyn Future<Output = Response> + Send>>;

/// How far an answer is.
enum Stage {
    Waiting(Answering, Interval),
    Events(BodyDataStream),
}

/// Answers as the route does, or in time.
pub(super) async fn answer(request: Request, next: Next) -> Response {
    if request.method() != Method::POST || !takes_events(request.headers()) {
        return next.run(request).await;
    }
    let mut answering: Answering = Box::pin(next.run(request));
    match timeout(EARLY_AFTER, &mut answering).await {
        Ok(response) => response,
        Err(_) => events(answering),
    }
}

fn events(answering: Answering) -> Response {
    let mut ticks = interval(COMMENT_EVERY);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut response = Response::new(Body::from_stream(follow(Stage::Waiting(answering, ticks))));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(EVENTS));
    headers.insert(UNBUFFERED, HeaderValue::from_static("no"));
    response
}

/// Comments until there is an answer, then the answer.
fn follow(stage: Stage) -> impl Stream<Item = Result<Bytes, Infallible>> + Send {
    stream::unfold(stage, |mut stage| async move {
        loop {
            stage = match stage {
                Stage::Waiting(mut answering, mut ticks) => tokio::select! {
                    biased;
                    response = &mut answering => Stage::Events(as_events(response).await),
                    _ = ticks.tick() => return Some((Ok(COMMENT), Stage::Waiting(answering, ticks))),
                },
                // A stream that breaks ends: its head is long gone.
                Stage::Events(mut events) => {
                    let bytes = events.next().await?.ok()?;
                    return Some((Ok(bytes), Stage::Events(events)));
                }
            };
        }
    })
}

/// The answer as a stream of events.
async fn as_events(response: Response) -> BodyDataStream {
    let (parts, body) = response.into_parts();
    let is = |kind: &str| says(&parts.headers, header::CONTENT_TYPE, kind);
    if is(EVENTS) {
        return body.into_data_stream();
    }
    let bytes = axum::body::to_bytes(body, EVENT_BYTES_MAX).await.unwrap_or_default();
    let event = match bytes.as_ref() {
        // A notification was taken.
        [] => Vec::new(),
        json if is("application/json") && is_reply(json) => event(json),
        _ => event(LOST),
    };
    Body::from(event).into_data_stream()
}

/// Whether it is the protocol's, and not the door's.
fn is_reply(json: &[u8]) -> bool {
    serde_json::from_slice::<serde_json::Value>(json).is_ok_and(|value| value.get("jsonrpc").is_some())
}

/// One event of this text, each of its lines a line of the event.
fn event(text: &[u8]) -> Vec<u8> {
    let mut event = Vec::with_capacity(text.len() + 16);
    for line in text.split(|byte| *byte == b'\n') {
        event.extend_from_slice(b"data: ");
        event.extend_from_slice(line.strip_suffix(b"\r").unwrap_or(line));
        event.push(b'\n');
    }
    event.push(b'\n');
    event
}

fn takes_events(headers: &HeaderMap) -> bool {
    says(headers, header::ACCEPT, EVENTS)
}

fn says(headers: &HeaderMap, name: HeaderName, what: &str) -> bool {
    headers.get_all(name).iter().any(|value| value.to_str().is_ok_and(|value| value.contains(what)))
}
