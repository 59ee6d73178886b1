//! The body of a request over HTTP, read by the rules of a line on stdio before the protocol library sees it.
//!
//! The library refuses what it cannot read in plain text and without the request's id, and takes a request whose id it
//! does not like for a notification, which is never answered. What always holds: a body that is not one message of
//! JSON-RPC is answered with an error of JSON-RPC that carries the request's id where one can be found. A body that is too
//! long, breaks off or is not JSON by its type does not come this far: the HTTP door reads each one whole first, within
//! the same bound.

use std::borrow::Cow;

use axum::body::{Body, Bytes};
use axum::extract::Request;
use axum::http::{Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::Response;

use super::line::{self, Line, Refusal};
use super::{refusal, salvage};
use crate::service::MESSAGE_BYTES_MAX;

/// Bodies up to this length are read at once, which takes less than a millisecond; longer ones beside the runtime.
const AT_ONCE_BYTES_MAX: usize = 64 * 1024;

/// Lets a message pass, half emojis mended, and answers what is none.
pub(super) async fn check(request: Request, next: Next) -> Response {
    if request.method() != Method::POST {
        return next.run(request).await;
    }
    let (mut parts, body) = request.into_parts();
    let message = match axum::body::to_bytes(body, MESSAGE_BYTES_MAX).await {
        Ok(bytes) => read(bytes).await,
        Err(error) => Err(Refusal::unreadable(b"", &format!("the body breaks off: {error}"))),
    };
    match message {
        Ok(message) => {
            // It may have been mended.
            parts.headers.remove(header::CONTENT_LENGTH);
            next.run(Request::from_parts(parts, Body::from(message))).await
        }
        Err(refused) => refusal::reply(StatusCode::BAD_REQUEST, &refused),
    }
}

/// The body as the library can read it.
async fn read(bytes: Bytes) -> Result<Bytes, Refusal> {
    if bytes.len() <= AT_ONCE_BYTES_MAX {
        return checked(bytes);
    }
    let checking = tokio::task::spawn_blocking(move || checked(bytes));
    checking.await.unwrap_or_else(|_| Err(Refusal::unreadable(b"", "a defect ended the reading of it")))
}

fn checked(bytes: Bytes) -> Result<Bytes, Refusal> {
    match line::read(&bytes) {
        Line::Refused(refusal) => Err(refusal),
        Line::Silent => {
            Err(Refusal::unreadable(b"", "it is empty, or an answer or a notification of no known shape"))
        }
        Line::Message(_) => {
            let text = String::from_utf8_lossy(line::trimmed(&bytes));
            let mended = match salvage::without_lone_surrogates(&text) {
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
    fn what_the_library_could_not_read_is_mended_or_refused() {
        let read = |text: &str| checked(Bytes::copy_from_slice(text.as_bytes()));
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
