//! Request bodies over HTTP, read by the rules of a stdio line before the protocol library sees them.
//!
//! The library refuses what it cannot parse with plain text and without the request's id, and takes a request with an
//! unusual id for a notification, which is never answered. What always holds: a body that is not one JSON-RPC message
//! is answered with a JSON-RPC error that carries the request's id if one can be found; reading a long body holds up
//! nobody else. A call that needs a scope which the caller's token lacks is refused here, because the refusal is one of HTTP,
//! whose challenge names the scope. Bodies that are too long, incomplete or not of type JSON do not get here: the HTTP listener reads each
//! one first, within the same limit.

use std::borrow::Cow;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use axum::body::{Body, Bytes};
use axum::extract::{Request, State};
use axum::http::{Method, header};
use axum::middleware::Next;
use axum::response::Response;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinError;

use super::early::Asked;
use super::refusal;
use crate::protocol::line::{self, Line, Refusal};
use crate::protocol::request_id;
use crate::tools;
use parallel_llm_engine::Failure;
use parallel_llm_http::early::Answering;
use parallel_llm_http::status::Fault;
use parallel_llm_http::{failure, message};
use parallel_llm_service::Principal;

/// Bodies up to this load are parsed at once, which takes about a millisecond; larger ones on a blocking thread.
const AT_ONCE_LOAD_MAX: usize = 128 * 1024;

/// The turn to parse a long body. One at a time, because parsing takes several times its length.
#[derive(Clone, Debug)]
pub(super) struct Turns(Arc<Semaphore>);

impl Turns {
    /// A free turn.
    pub(super) fn new() -> Self {
        Self(Arc::new(Semaphore::new(1)))
    }

    /// Waits for a turn: at most as long as parsing all bodies takes that the HTTP listener has room for.
    async fn next(&self) -> OwnedSemaphorePermit {
        Arc::clone(&self.0).acquire_owned().await.expect("the semaphore is never closed")
    }
}

/// Passes a message on, with lone surrogates replaced, and refuses anything else.
pub(super) async fn check(State(turns): State<Turns>, request: Request, next: Next) -> Response {
    if request.method() != Method::POST {
        return next.run(request).await;
    }
    let (mut parts, body) = request.into_parts();
    let caller = Caller {
        asked: parts.extensions.remove().unwrap_or_default(),
        // A request that bypassed the listener has none, and is refused where it is served.
        principal: parts.extensions.get().cloned().unwrap_or_default(),
    };
    let bytes = match axum::body::to_bytes(body, message::BYTES_MAX).await {
        Ok(bytes) => bytes,
        Err(error) => {
            let refused = Refusal::unreadable(b"", &format!("the body breaks off: {error}"));
            return refuse(refused.into());
        }
    };
    // The length may have changed.
    parts.headers.remove(header::CONTENT_LENGTH);
    let pass = |message: Bytes| next.run(Request::from_parts(parts, Body::from(message)));
    // Checks the length first: counting the values of a long body takes long itself.
    if bytes.len() <= AT_ONCE_LOAD_MAX && message::load(&bytes) <= AT_ONCE_LOAD_MAX {
        return match checked(bytes, &caller) {
            Ok(message) => pass(message).await,
            Err(refused) => refuse(refused),
        };
    }
    let turn = turns.next().await;
    // The work owns the turn, because it goes on if the client hangs up.
    let (turn, read) = beside(move || (turn, checked(bytes, &caller))).await;
    match read {
        Ok(message) => started(turn, Box::pin(pass(message))).await,
        Err(refused) => refuse(refused),
    }
}

/// The answer. Its first poll runs on a blocking thread, because the library parses the body in it.
async fn started(turn: OwnedSemaphorePermit, mut answering: Answering) -> Response {
    let (answering, first) = beside(move || {
        let first = answering.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        drop(turn);
        (answering, first)
    })
    .await;
    match first {
        Poll::Ready(response) => response,
        // It is polled again at once, so no wake-up is lost.
        Poll::Pending => answering.await,
    }
}

/// Runs long work on a blocking thread.
async fn beside<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    match tokio::task::spawn_blocking(work).await.map_err(JoinError::try_into_panic) {
        Ok(done) => done,
        Err(Ok(panic)) => std::panic::resume_unwind(panic),
        // The runtime is ending, and this task with it.
        Err(Err(_)) => std::future::pending().await,
    }
}

/// The sender of a body, and the id of its request.
struct Caller {
    asked: Asked,
    principal: Principal,
}

/// Why a body is not passed on.
#[derive(Debug)]
enum Unserved {
    /// It is not a message.
    Malformed(Refusal),
    /// Its caller may not call this tool.
    Forbidden(Box<Failure>),
}

impl From<Refusal> for Unserved {
    fn from(refusal: Refusal) -> Self {
        Self::Malformed(refusal)
    }
}

fn refuse(unserved: Unserved) -> Response {
    match unserved {
        Unserved::Malformed(refusal) => refusal::reply(Fault::Malformed, &refusal),
        Unserved::Forbidden(failure) => failure::response(&failure),
    }
}

/// The body in a form that the library can parse. Notes the request's id, so that a later refusal can carry it.
fn checked(bytes: Bytes, caller: &Caller) -> Result<Bytes, Unserved> {
    match line::read(&bytes) {
        Line::Refused(refusal) => Err(refusal.into()),
        Line::Silent => {
            let reason = "it is empty, or an answer or a notification of no known shape";
            Err(Refusal::unreadable(b"", reason).into())
        }
        Line::Message(read) => {
            caller.asked.note(&read.message);
            let allowed = tools::check(&caller.principal, &read.message);
            allowed.map_err(|failure| Unserved::Forbidden(Box::new(failure)))?;
            // Its size is that of the body.
            drop(read);
            let text = String::from_utf8_lossy(line::trimmed(&bytes));
            let repaired = match request_id::without_lone_surrogates(&text) {
                Cow::Owned(repaired) => repaired,
                // Without replacements, the usual case, the body is not copied.
                Cow::Borrowed(text) if text.len() == bytes.len() => return Ok(bytes),
                Cow::Borrowed(text) => text.to_owned(),
            };
            Ok(repaired.into())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: impl Into<Bytes>) -> Result<Bytes, String> {
        let caller = Caller { asked: Asked::default(), principal: Principal::Owner };
        checked(text.into(), &caller).map_err(|unserved| match unserved {
            Unserved::Malformed(refusal) => String::from_utf8(refusal.to_line()).unwrap(),
            Unserved::Forbidden(failure) => panic!("the owner may do everything: {failure}"),
        })
    }

    #[test]
    fn a_message_of_too_many_values_is_refused_with_its_id() {
        let much = "{},".repeat(message::VALUES_MAX);
        for (head, tail) in [(r#""id":7,"#, ""), ("", r#","id":7"#)] {
            let text =
                format!(r#"{{{head}"jsonrpc":"2.0","method":"ping","params":{{"x":[{much}0]}}{tail}}}"#);
            assert_eq!(
                read(text).unwrap_err(),
                concat!(
                    r#"{"jsonrpc":"2.0","id":7,"error":{"code":-32600,"message":"the message holds more than "#,
                    r#"20000 JSON values and was not read: put long material into one string"}}"#,
                    "\n"
                )
            );
        }
    }

    #[test]
    fn input_that_the_library_cannot_parse_is_repaired_or_refused() {
        let ping = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
        assert_eq!(read(ping).unwrap(), ping);
        assert_eq!(read(format!("\u{feff} {ping}\r\n")).unwrap(), ping);
        let half = r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":"\ud83d"}}"#;
        assert_eq!(read(half).unwrap(), half.replace("\\ud83d", "\\ufffd"));
        let no_id = ping.replace('1', "null");
        for (text, id) in [("", "null"), ("{\"id\":7,", "7"), ("[]", "null"), (no_id.as_str(), "null")] {
            let reply = read(text.to_owned()).unwrap_err();
            assert!(
                reply.starts_with(&format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"#)),
                "{text}: {reply}"
            );
        }
    }
}
