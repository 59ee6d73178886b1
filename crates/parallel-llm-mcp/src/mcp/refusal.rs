//! What the library refuses in plain words, told as everywhere: one JSON object. Replies of the protocol stay as they
//! are.

use axum::body::Body;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use parallel_llm_engine::{Code, Failure};

use super::line::Refusal;
use crate::output::{failure, safe};

/// The longest of the library's texts that is read.
const TEXT_BYTES_MAX: usize = 64 * 1024;
/// Characters of it that are passed on.
const TEXT_CHARS_MAX: usize = 300;

/// An answer that replies to a message of the protocol with this.
pub(super) fn reply(status: StatusCode, refusal: &Refusal) -> Response {
    let json = [(header::CONTENT_TYPE, HeaderValue::from_static("application/json"))];
    (status, json, refusal.to_line()).into_response()
}

/// Puts the library's own words for a refusal into the object, and leaves every other answer alone.
pub(super) async fn tell(response: Response) -> Response {
    let status = response.status();
    let is_refusal = status.is_client_error() || status.is_server_error();
    // The library names a type only where it speaks the protocol.
    if !is_refusal || response.headers().contains_key(header::CONTENT_TYPE) {
        return response;
    }
    let (mut parts, body) = response.into_parts();
    let bytes = axum::body::to_bytes(body, TEXT_BYTES_MAX).await.unwrap_or_default();
    let text = safe::excerpt(&String::from_utf8_lossy(&bytes), TEXT_CHARS_MAX);
    let failure = if status.is_server_error() {
        Failure::new(Code::Internal, format!("the request could not be served: {text}"))
    } else {
        let next = match status {
            StatusCode::NOT_FOUND => "begin a new session with `initialize`",
            StatusCode::METHOD_NOT_ALLOWED => "use POST; sessions also take GET and DELETE",
            _ => "see the MCP specification on Streamable HTTP",
        };
        Failure::new(Code::Usage, format!("the request is not of the protocol: {text}")).with_next(next)
    };
    parts.headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    parts.headers.remove(header::CONTENT_LENGTH);
    Response::from_parts(parts, Body::from(failure::envelope(&failure)))
}
