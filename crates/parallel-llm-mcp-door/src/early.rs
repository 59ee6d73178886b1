//! Headers before there is an answer. Clients give up on a post without headers after a minute, and a call may be silent
//! for longer.
//!
//! Where the route has not answered after a moment, the client is given the head of an event stream and a comment every
//! few seconds; then what the route answers, whatever it is, as events. What always holds: whoever drops the outer answer
//! drops the call within; a refusal that comes late still carries the request's id, and the reason.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use axum::body::{Body, BodyDataStream, Bytes};
use axum::extract::Request;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, header};
use axum::middleware::Next;
use axum::response::Response;
use futures_util::{Stream, StreamExt, stream};
use rmcp::model::{ClientJsonRpcMessage, JsonRpcMessage, RequestId};
use serde_json::Value;
use tokio::time::{Interval, MissedTickBehavior, interval, timeout};

use super::line::Refusal;

/// How long a route may take before its client is given headers: shorter than any client's patience, longer than most
/// refusals take, which should keep their status.
const EARLY_AFTER: Duration = Duration::from_secs(2);
/// How often a client is told that the call goes on: proxies cut connections that are silent for half a minute.
const COMMENT_EVERY: Duration = Duration::from_secs(10);
/// The longest answer that is made one event. Longer answers come as streams.
const EVENT_BYTES_MAX: usize = 64 << 20;

/// The type of an event stream.
pub(super) const EVENTS: &str = "text/event-stream";
/// Tells a proxy to pass on what comes, as it comes.
const UNBUFFERED: HeaderName = HeaderName::from_static("x-accel-buffering");
/// Says nothing: a line that readers of events skip.
const COMMENT: Bytes = Bytes::from_static(b": the call goes on\n\n");
/// What is said where an answer that comes late is none of the protocol's, and gives no reason.
const LOST: &str = "the call failed before it began";

type Answering = Pin<Box<dyn Future<Output = Response> + Send>>;

/// The id of the request that is being answered, once it was read. Clones are one.
#[derive(Clone, Debug, Default)]
pub(super) struct Asked(Arc<OnceLock<RequestId>>);

impl Asked {
    /// Notes the id, where the message is a request.
    pub(super) fn note(&self, message: &ClientJsonRpcMessage) {
        if let JsonRpcMessage::Request(request) = message {
            self.note_id(request.id.clone());
        }
    }

    /// Notes the id, unless one was noted.
    pub(super) fn note_id(&self, id: RequestId) {
        self.0.get_or_init(|| id);
    }

    /// The id, where it was noted.
    pub(super) fn id(&self) -> Option<&RequestId> {
        self.0.get()
    }
}

/// An answer that has not come.
struct Late {
    answering: Answering,
    ticks: Interval,
    asked: Asked,
}

/// How far an answer is.
enum Stage {
    Waiting(Late),
    Events(BodyDataStream),
}

/// Answers as the route does, or in time.
pub(super) async fn answer(mut request: Request, next: Next) -> Response {
    if request.method() != Method::POST || !takes_events(request.headers()) {
        return next.run(request).await;
    }
    let asked = request.extensions_mut().get_or_insert_default::<Asked>().clone();
    let mut answering: Answering = Box::pin(next.run(request));
    match timeout(EARLY_AFTER, &mut answering).await {
        Ok(response) => response,
        Err(_) => events(answering, asked),
    }
}

fn events(answering: Answering, asked: Asked) -> Response {
    let mut ticks = interval(COMMENT_EVERY);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let late = Late { answering, ticks, asked };
    let mut response = Response::new(Body::from_stream(follow(Stage::Waiting(late))));
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
                Stage::Waiting(mut late) => tokio::select! {
                    biased;
                    response = &mut late.answering => Stage::Events(as_events(response, &late.asked).await),
                    _ = late.ticks.tick() => return Some((Ok(COMMENT), Stage::Waiting(late))),
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
async fn as_events(response: Response, asked: &Asked) -> BodyDataStream {
    let (parts, body) = response.into_parts();
    let is = |kind: &str| says(&parts.headers, header::CONTENT_TYPE, kind);
    if is(EVENTS) {
        return body.into_data_stream();
    }
    let bytes = axum::body::to_bytes(body, EVENT_BYTES_MAX).await.unwrap_or_default();
    let event = match bytes.trim_ascii() {
        // A notification was taken.
        [] => Vec::new(),
        json => event(reply(json, asked).trim_ascii()),
    };
    Body::from(event).into_data_stream()
}

/// An answer as a reply of the protocol. One of the protocol's that names no request answers the one that was asked; what
/// the door or the library says outside of it is the reason of a refusal.
fn reply(answer: &[u8], asked: &Asked) -> Vec<u8> {
    let id = asked.id();
    let mut value: Value = serde_json::from_slice(answer).unwrap_or_default();
    if value.get("jsonrpc").is_some() {
        return match id {
            Some(id) if value["id"].is_null() => {
                value["id"] = serde_json::json!(id);
                value.to_string().into_bytes()
            }
            _ => answer.to_vec(),
        };
    }
    let error = &value["error"];
    let reason = error["message"].as_str().map(|message| match error["next"].as_str() {
        Some(next) => format!("{message} (next: {next})"),
        None => message.to_owned(),
    });
    Refusal::outside(id, reason.unwrap_or_else(|| LOST.to_owned())).to_line()
}

/// One event of this text, each of its lines a line of the event.
pub(super) fn event(text: &[u8]) -> Vec<u8> {
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

pub(super) fn says(headers: &HeaderMap, name: HeaderName, what: &str) -> bool {
    headers.get_all(name).iter().any(|value| value.to_str().is_ok_and(|value| value.contains(what)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_late_refusal_carries_the_id_and_the_reason() {
        let asked = Asked::default();
        asked.0.set(RequestId::String("call-7".into())).unwrap();
        let check = |answer: &str, expected: &str| {
            assert_eq!(String::from_utf8_lossy(&reply(answer.as_bytes(), &asked)).trim_end(), expected);
        };
        let refused = |message: &str| {
            format!(r#"{{"jsonrpc":"2.0","id":"call-7","error":{{"code":-32000,"message":"{message}"}}}}"#)
        };
        check(
            r#"{"schema":1,"error":{"code":"busy","message":"there is no room","next":"try again"}}"#,
            &refused("there is no room (next: try again)"),
        );
        check("no room", &refused(LOST));
        check(
            r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32603,"message":"m"}}"#,
            r#"{"error":{"code":-32603,"message":"m"},"id":"call-7","jsonrpc":"2.0"}"#,
        );
        let others = r#"{"jsonrpc":"2.0","id":1,"result":{}}"#;
        check(others, others);
    }
}
