//! What the library refuses in plain words, told as everywhere: one JSON object. Replies of the protocol stay as they
//! are, but for two of the library's: one that is a bare name is made a sentence, and one that repeats a header is bounded.

use axum::body::{Body, HttpBody};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use parallel_llm_engine::value::next::Advice;
use parallel_llm_engine::{Code, Failure};
use rmcp::model::ErrorCode;
use serde_json::Value;

use super::line::Refusal;
use super::vocabulary;
use parallel_llm_engine::text::safe;
use parallel_llm_http::status::Fault;
use parallel_llm_service::Principal;
use parallel_llm_service::report::ErrorReport;

/// The longest of the library's texts that is read.
const TEXT_BYTES_MAX: usize = 64 * 1024;
/// Characters of it that are passed on.
const TEXT_CHARS_MAX: usize = 300;
/// The longest of the library's replies that is looked at: one that repeats the longest header, whose every byte may be
/// escaped as six. A longer one has been put together by us.
const REPLY_BYTES_MAX: usize = 512 * 1024;

/// An answer that replies to a message of the protocol with this.
pub(super) fn reply(fault: Fault, refusal: &Refusal) -> Response {
    let json = [(header::CONTENT_TYPE, HeaderValue::from_static("application/json"))];
    (fault.status(), json, refusal.to_line()).into_response()
}

/// Puts the library's own words for a refusal in order, and leaves every other answer alone.
pub(super) async fn reword(response: Response) -> Response {
    let status = response.status();
    if !status.is_client_error() && !status.is_server_error() {
        return response;
    }
    // The library names a type only where it speaks the protocol.
    match response.headers().get(header::CONTENT_TYPE) {
        None => as_object(response).await,
        Some(kind) if kind == "application/json" => with_sentence(response).await,
        Some(_) => response,
    }
}

/// A refusal in plain words as the one JSON object.
async fn as_object(response: Response) -> Response {
    let status = response.status();
    let (mut parts, body) = response.into_parts();
    let bytes = axum::body::to_bytes(body, TEXT_BYTES_MAX).await.unwrap_or_default();
    let text = safe::excerpt(&String::from_utf8_lossy(&bytes), TEXT_CHARS_MAX);
    let failure = if status.is_server_error() {
        Failure::new(Code::Internal, format!("the request could not be served: {text}"))
    } else {
        let next = match status {
            StatusCode::NOT_FOUND => Advice::BeginSession,
            StatusCode::METHOD_NOT_ALLOWED => Advice::UsePost,
            _ => Advice::ReadSpecification,
        };
        Failure::new(Code::Usage, format!("the request is not of the protocol: {text}")).with_next(next)
    };
    parts.headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    parts.headers.remove(header::CONTENT_LENGTH);
    Response::from_parts(parts, Body::from(ErrorReport::line(&failure, vocabulary::of(&Principal::Owner))))
}

/// A reply of the protocol whose message is a sentence of some length.
async fn with_sentence(response: Response) -> Response {
    let is_short = response.body().size_hint().upper().is_some_and(|bytes| bytes <= REPLY_BYTES_MAX as u64);
    if !is_short {
        return response;
    }
    let (mut parts, body) = response.into_parts();
    let bytes = axum::body::to_bytes(body, REPLY_BYTES_MAX).await.unwrap_or_default();
    let Some(reply) = serde_json::from_slice(&bytes).ok().and_then(sentenced) else {
        return Response::from_parts(parts, Body::from(bytes));
    };
    parts.headers.remove(header::CONTENT_LENGTH);
    Response::from_parts(parts, Body::from(reply.to_string()))
}

/// The reply in better words; `None` where it has them already.
fn sentenced(mut reply: Value) -> Option<Value> {
    let error = reply.get_mut("error")?;
    let message = error["message"].as_str()?;
    let better = match i32::try_from(error["code"].as_i64()?).ok().map(ErrorCode)? {
        ErrorCode::METHOD_NOT_FOUND if !message.contains(' ') => {
            let method = safe::excerpt(message, TEXT_CHARS_MAX);
            format!("there is no method `{method}` in this version of the protocol")
        }
        ErrorCode::HEADER_MISMATCH => safe::excerpt(message, TEXT_CHARS_MAX),
        _ => return None,
    };
    error["message"] = better.into();
    Some(reply)
}
