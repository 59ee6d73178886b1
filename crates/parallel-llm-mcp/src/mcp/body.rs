//! The body of a request over HTTP, read by the rules of a line on stdio before the protocol library sees it.
//!
//! The library refuses what it cannot read in plain text and without the request's id, and takes a request whose id it
//! does not like for a notification, which is never answered. What always holds: a body that is not one message of
//! JSON-RPC is answered with an error of JSON-RPC that carries the request's id where one can be found.

use std::borrow::Cow;

use axum::body::{Body, Bytes};
use axum::extract::Request;
use axum::http::{HeaderMap, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use futures_util::StreamExt;

use super::line::{self, LINE_BYTES_MAX, Line, Refusal};
use super::salvage;

/// Bodies up to this length are read at once, which takes less than a millisecond; longer ones beside the runtime.
const AT_ONCE_BYTES_MAX: usize = 64 * 1024;
/// How much of the beginning of a body that is too long is looked at for its id, in bytes.
const KEPT_BYTES: usize = 4 * 1024;
/// What a body must be said to be; with other ones the library deals.
const JSON: &str = "application/json";

/// Lets a message pass, half emojis mended, and answers what is none.
pub(super) async fn check(request: Request, next: Next) -> Response {
    if request.method() != Method::POST || !is_json(request.headers()) {
        return next.run(request).await;
    }
    let (mut parts, body) = request.into_parts();
    let bytes = match collect(body).await {
        Ok(bytes) => bytes,
        Err(refused) => return refused,
    };
    match read(bytes).await {
        Ok(message) => {
            // It may have been mended.
            parts.headers.remove(header::CONTENT_LENGTH);
            next.run(Request::from_parts(parts, Body::from(message))).await
        }
        Err(refusal) => told(StatusCode::BAD_REQUEST, &refusal),
    }
}

fn is_json(headers: &HeaderMap) -> bool {
    let kind = headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    kind.is_some_and(|kind| kind.starts_with(JSON))
}

fn told(status: StatusCode, refusal: &Refusal) -> Response {
    (status, [(header::CONTENT_TYPE, JSON)], refusal.to_line()).into_response()
}

/// The whole body, or what is answered where it is too long or breaks off.
async fn collect(body: Body) -> Result<Vec<u8>, Response> {
    let mut pieces = body.into_data_stream();
    let mut bytes = Vec::new();
    while let Some(piece) = pieces.next().await {
        let piece = piece.map_err(|error| {
            let refusal = Refusal::unreadable(&bytes, &format!("the body breaks off: {error}"));
            told(StatusCode::BAD_REQUEST, &refusal)
        })?;
        if bytes.len() + piece.len() > LINE_BYTES_MAX {
            let room = KEPT_BYTES.saturating_sub(bytes.len());
            bytes.extend_from_slice(&piece[..piece.len().min(room)]);
            bytes.truncate(KEPT_BYTES);
            return Err(told(StatusCode::PAYLOAD_TOO_LARGE, &Refusal::too_long(&bytes, b"")));
        }
        bytes.extend_from_slice(&piece);
    }
    Ok(bytes)
}

/// The body as the library can read it.
async fn read(bytes: Vec<u8>) -> Result<Bytes, Refusal> {
    if bytes.len() <= AT_ONCE_BYTES_MAX {
        return checked(bytes);
    }
    let checking = tokio::task::spawn_blocking(move || checked(bytes));
    checking.await.unwrap_or_else(|_| Err(Refusal::unreadable(b"", "a defect ended the reading of it")))
}

fn checked(bytes: Vec<u8>) -> Result<Bytes, Refusal> {
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
                Cow::Borrowed(text) if text.len() == bytes.len() => return Ok(bytes.into()),
                Cow::Borrowed(text) => text.to_owned(),
            };
            Ok(mended.into())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_body_that_is_too_long_is_told_the_bound_and_its_id() {
        let mut long = br#"{"jsonrpc":"2.0","id":"much","method":"ping","params":{"x":""#.to_vec();
        long.resize(LINE_BYTES_MAX + 1, b'a');
        let refused = collect(Body::from(long)).await.unwrap_err();
        assert_eq!(refused.status(), StatusCode::PAYLOAD_TOO_LARGE);
        let reply = collect(refused.into_body()).await.unwrap();
        let reply = String::from_utf8(reply).unwrap();
        assert!(reply.contains(r#""id":"much""#) && reply.contains("32 MiB"), "{reply}");
        assert_eq!(collect(Body::from(vec![b' '; LINE_BYTES_MAX])).await.unwrap().len(), LINE_BYTES_MAX);
    }

    #[test]
    fn what_the_library_could_not_read_is_mended_or_refused() {
        let read = |text: &str| checked(text.as_bytes().to_vec());
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
