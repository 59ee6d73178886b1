//! The library's refusals as one JSON object. Protocol replies stay as they are, except two of the library's: a bare
//! method name becomes a sentence, and a repeated header is shortened.

use axum::body::{Body, HttpBody};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use parallel_llm_engine::value::next::Advice;
use parallel_llm_engine::{Code, Failure};
use rmcp::model::ErrorCode;
use serde_json::Value;

use crate::protocol::line::Refusal;
use crate::vocabulary;
use parallel_llm_engine::text::safe;
use parallel_llm_http::status::Fault;
use parallel_llm_service::Principal;
use parallel_llm_service::report::ErrorReport;

/// The longest text of the library that is read, in bytes.
const TEXT_BYTES_MAX: usize = 64 * 1024;
/// The longest excerpt passed on, in characters.
const TEXT_CHARS_MAX: usize = 300;
/// The longest reply of the library that is checked, in bytes: one that repeats the longest header with every byte
/// escaped as six. Longer replies are our own.
const REPLY_BYTES_MAX: usize = 512 * 1024;

/// The HTTP answer with a protocol refusal.
pub(super) fn reply(fault: Fault, refusal: &Refusal) -> Response {
    let json = [(header::CONTENT_TYPE, HeaderValue::from_static("application/json"))];
    (fault.status(), json, refusal.to_line()).into_response()
}

/// Rewords the library's refusals; other answers pass unchanged.
pub(super) async fn reword(response: Response) -> Response {
    let status = response.status();
    if !status.is_client_error() && !status.is_server_error() {
        return response;
    }
    // The library sets a media type only on protocol replies.
    match response.headers().get(header::CONTENT_TYPE) {
        None => as_object(response).await,
        Some(kind) if kind == "application/json" => with_sentence(response).await,
        Some(_) => response,
    }
}

/// A plain-text refusal as JSON.
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

/// A protocol reply whose message is a sentence of bounded length.
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

/// The reworded reply; `None` if it needs no change.
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
