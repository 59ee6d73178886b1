//! The body of a request over HTTP, read by the rules of a line on stdio before the protocol library sees it.
//!
//! The library refuses what it cannot read in plain text and without the request's id, and takes a request whose id it
//! does not like for a notification, which is never answered. What always holds: a body that is not one message of
//! JSON-RPC is answered with an error of JSON-RPC that carries the request's id where one can be found; reading a long one
//! holds up nobody else. A body that is too long, breaks off or is not JSON by its type does not come this far: the HTTP
//! door reads each one whole first, within the same bound.

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
use super::line::{self, Line, Refusal};
use super::{refusal, request_id};
use parallel_llm_http::early::Answering;
use parallel_llm_http::message;
use parallel_llm_http::status::Fault;

/// Bodies up to this load are read at once, which takes about a millisecond; larger ones beside the runtime.
const AT_ONCE_LOAD_MAX: usize = 128 * 1024;

/// Whose turn it is to have a long body read. One at a time, because reading one takes several times its length.
#[derive(Clone, Debug)]
pub(super) struct Turns(Arc<Semaphore>);

impl Turns {
    /// It is nobody's turn yet.
    pub(super) fn new() -> Self {
        Self(Arc::new(Semaphore::new(1)))
    }

    /// Waits for a turn: no longer than it takes to read all bodies that the HTTP door has room for.
    async fn next(&self) -> OwnedSemaphorePermit {
        Arc::clone(&self.0).acquire_owned().await.expect("the semaphore is never closed")
    }
}

/// Lets a message pass, half emojis mended, and answers what is none.
pub(super) async fn check(State(turns): State<Turns>, request: Request, next: Next) -> Response {
    if request.method() != Method::POST {
        return next.run(request).await;
    }
    let (mut parts, body) = request.into_parts();
    let asked = parts.extensions.remove::<Asked>().unwrap_or_default();
    let bytes = match axum::body::to_bytes(body, message::BYTES_MAX).await {
        Ok(bytes) => bytes,
        Err(error) => return refuse(&Refusal::unreadable(b"", &format!("the body breaks off: {error}"))),
    };
    // What was read may have been mended.
    parts.headers.remove(header::CONTENT_LENGTH);
    let pass = |message: Bytes| next.run(Request::from_parts(parts, Body::from(message)));
    // The length first: counting the values of a long body takes long itself.
    if bytes.len() <= AT_ONCE_LOAD_MAX && message::load(&bytes) <= AT_ONCE_LOAD_MAX {
        return match checked(bytes, &asked) {
            Ok(message) => pass(message).await,
            Err(refused) => refuse(&refused),
        };
    }
    let turn = turns.next().await;
    // The turn goes with the work, which goes on where the client hangs up.
    let (turn, read) = beside(move || (turn, checked(bytes, &asked))).await;
    match read {
        Ok(message) => begun(turn, Box::pin(pass(message))).await,
        Err(refused) => refuse(&refused),
    }
}

/// The answer, whose making is begun beside the runtime: the library reads the body in the first step of it.
async fn begun(turn: OwnedSemaphorePermit, mut answering: Answering) -> Response {
    let (answering, first) = beside(move || {
        let first = answering.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        drop(turn);
        (answering, first)
    })
    .await;
    match first {
        Poll::Ready(response) => response,
        // It is polled again at once, so nobody had to be woken.
        Poll::Pending => answering.await,
    }
}

/// Does work that takes long beside the runtime, which serves everybody.
async fn beside<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    match tokio::task::spawn_blocking(work).await.map_err(JoinError::try_into_panic) {
        Ok(done) => done,
        Err(Ok(panic)) => std::panic::resume_unwind(panic),
        // The program ends, and whoever waits here with it.
        Err(Err(_)) => std::future::pending().await,
    }
}

fn refuse(refused: &Refusal) -> Response {
    refusal::reply(Fault::Malformed, refused)
}

/// The body as the library can read it. The id of a request is noted, so that whatever refuses it later can name it.
fn checked(bytes: Bytes, asked: &Asked) -> Result<Bytes, Refusal> {
    match line::read(&bytes) {
        Line::Refused(refusal) => Err(refusal),
        Line::Silent => {
            Err(Refusal::unreadable(b"", "it is empty, or an answer or a notification of no known shape"))
        }
        Line::Message(read) => {
            asked.note(&read.message);
            // As long as the message beside it.
            drop(read);
            let text = String::from_utf8_lossy(line::trimmed(&bytes));
            let mended = match request_id::without_lone_surrogates(&text) {
                Cow::Owned(mended) => mended,
                // Nothing to mend, which is nearly always so, leaves the body where it is.
                Cow::Borrowed(text) if text.len() == bytes.len() => return Ok(bytes),
                Cow::Borrowed(text) => text.to_owned(),
            };
            Ok(mended.into())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_of_too_many_values_is_refused_with_its_id() {
        let much = "{},".repeat(message::VALUES_MAX);
        for (head, tail) in [(r#""id":7,"#, ""), ("", r#","id":7"#)] {
            let text =
                format!(r#"{{{head}"jsonrpc":"2.0","method":"ping","params":{{"x":[{much}0]}}{tail}}}"#);
            let refused = checked(text.into(), &Asked::default()).unwrap_err();
            let reply = String::from_utf8(refused.to_line()).unwrap();
            assert_eq!(
                reply,
                concat!(
                    r#"{"jsonrpc":"2.0","id":7,"error":{"code":-32600,"message":"the message holds more than "#,
                    r#"20000 JSON values and was not read: put long material into one string"}}"#,
                    "\n"
                )
            );
        }
    }

    #[test]
    fn what_the_library_could_not_read_is_mended_or_refused() {
        let read = |text: &str| checked(Bytes::copy_from_slice(text.as_bytes()), &Asked::default());
        let ping = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
        assert_eq!(read(ping).unwrap(), ping);
        assert_eq!(read(&format!("\u{feff} {ping}\r\n")).unwrap(), ping);
        let half = r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":"\ud83d"}}"#;
        assert_eq!(read(half).unwrap(), half.replace("\\ud83d", "\\ufffd"));
        for (text, id) in
            [("", "null"), ("{\"id\":7,", "7"), ("[]", "null"), (&ping.replace('1', "null"), "null")]
        {
            let reply = String::from_utf8(read(text).unwrap_err().to_line()).unwrap();
            assert!(
                reply.starts_with(&format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"#)),
                "{text}: {reply}"
            );
        }
    }
}
