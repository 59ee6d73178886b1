//! Turns an API error into the dialect's own reply: its status, text and shape.

use hyper::StatusCode;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::error_text::{ApiError, ErrorKind, ErrorText};
use super::row::{Dialect, Shape};
use super::table::DIALECTS;
use crate::replies::json::Object;
use crate::replies::off_protocol;
use crate::replies::reply::Reply;

/// The user id in OpenRouter's errors.
pub(crate) const USER_ID: &str = "user_sim";

/// The reply for this error.
pub(crate) fn error_reply(dialect: &Dialect, cause: &ApiError) -> Reply {
    if dialect.is_openrouter() && matches!(cause.kind, ErrorKind::WrongType | ErrorKind::UnknownField) {
        return off_protocol::zod(Some(&cause.details.reason));
    }
    let text = text_of(dialect, cause);
    let status = StatusCode::from_u16(text.status).expect("every error has a status of three digits");
    let reply = Reply::json(status, error_body(dialect, cause));
    text.headers.iter().fold(reply, |reply, (name, value)| reply.header(name, &cause.details.fill(value)))
}

/// OpenRouter's error reply outside its chat endpoint.
pub(crate) fn openrouter_error(kind: ErrorKind, reason: &str) -> Reply {
    let mut cause = ApiError::new(kind);
    reason.clone_into(&mut cause.details.reason);
    error_reply(&DIALECTS[0], &cause)
}

/// The rule's own text, or the dialect's text for this kind.
fn text_of(dialect: &Dialect, cause: &ApiError) -> &'static ErrorText {
    cause.text.unwrap_or_else(|| dialect.error(cause.kind))
}

/// `null` for an empty text.
fn text_or_null(text: &str) -> Value {
    if text.is_empty() { Value::Null } else { Value::from(text) }
}

/// The body of an error, which is also its event inside a stream.
pub(crate) fn error_body(dialect: &Dialect, cause: &ApiError) -> Vec<u8> {
    let (text, details) = (text_of(dialect, cause), &cause.details);
    let message = details.fill(&text.message);
    let (kind, code) = (text_or_null(&text.kind), text_or_null(&text.code));
    let param = text_or_null(&details.fill(&text.param));
    let plain = || Object::new().with("message", &message).with("type", &kind).with("param", &param);
    match dialect.shape {
        _ if lists_validation_errors(dialect, cause) => validation_errors(cause),
        Shape::Azure if text.kind.is_empty() => {
            let inner = Object::new().with("code", &code).with("message", &message);
            enveloped(azure_filter(inner, cause.kind))
        }
        Shape::Router => router(text, &message, cause),
        Shape::OpenAi | Shape::Azure => enveloped(plain().with("code", &code)),
        Shape::Anthropic => {
            let inner = Object::new().with("type", &text.kind).with("message", &message);
            let body = Object::new().with("type", "error").nest("error", inner);
            body.with("request_id", &format!("req_{}", details.request_id)).bytes()
        }
        Shape::Gemini => enveloped(gemini(text, &message, cause)),
        Shape::GeminiList => {
            let inner = Object::new().nest("error", gemini(text, &message, cause)).bytes();
            [b"[", inner.as_slice(), b"]"].concat()
        }
        Shape::Xai => Object::new().with("code", &text.kind).with("error", &message).bytes(),
        Shape::Mistral if text.kind.is_empty() => {
            Object::new().with("message", &message).with("request_id", &details.request_id).bytes()
        }
        Shape::Mistral => {
            let body = Object::new().with("object", "error").with("message", &message);
            body.with("type", &kind).with("param", &param).with("code", &code).bytes()
        }
        Shape::Vllm if text.kind.is_empty() => Object::new().with("error", &message).bytes(),
        Shape::Vllm => enveloped(plain().with("code", &text.status)),
        Shape::Short => enveloped(Object::new().with("message", &message).with("type", &kind)),
        Shape::Bare => Object::new().with("error", &message).bytes(),
    }
}

fn router(text: &ErrorText, message: &str, cause: &ApiError) -> Vec<u8> {
    let error = Object::new().with("message", message).with("code", &text.status);
    let error = match &text.metadata {
        Some(metadata) => {
            let filled = cause.details.fill_json(metadata.get());
            let filled = RawValue::from_string(filled).expect("what fills a gap is escaped");
            error.with("metadata", &filled)
        }
        None => error,
    };
    let body = Object::new().nest("error", error);
    if text.user { body.with("user_id", USER_ID).bytes() } else { body.bytes() }
}

fn enveloped(inner: Object) -> Vec<u8> {
    Object::new().nest("error", inner).bytes()
}

/// Whether the reply is FastAPI's list of validation errors.
fn lists_validation_errors(dialect: &Dialect, cause: &ApiError) -> bool {
    matches!(dialect.shape, Shape::Mistral | Shape::Vllm) && text_of(dialect, cause).status == 422
}

/// `{"detail":[{"type","loc","msg","input"}]}`, with the validation library's names for types.
fn validation_errors(cause: &ApiError) -> Vec<u8> {
    let details = &cause.details;
    let entry = |kind: &str, message: &str, at: &[String], input: &Value| {
        let at: Vec<&str> = ["body"].into_iter().chain(at.iter().map(String::as_str)).collect();
        Object::new().with("type", kind).with("loc", &at).with("msg", message).with("input", input)
    };
    let unknown = |(at, input): &(Vec<String>, Value)| {
        entry("extra_forbidden", "Extra inputs are not permitted", at, input)
    };
    let list: Vec<Object> = match (cause.kind, cause.text) {
        (ErrorKind::UnknownField, None) => details.unknown.iter().map(unknown).collect(),
        (_, Some(text)) => vec![entry(&text.kind, &details.fill(&text.message), &details.at, &details.value)],
        (ErrorKind::NoMessages, None) => {
            vec![entry("missing", "Field required", &["messages".to_owned()], &json!({}))]
        }
        (ErrorKind::BadBody, None) => {
            vec![entry("json_invalid", "JSON decode error", &["0".to_owned()], &json!({}))]
        }
        _ => vec![entry("value_error", "Value error, invalid argument", &details.at, &details.value)],
    };
    Object::new().list("detail", list).bytes()
}

/// Google's error with its details: a retry delay, a quota, a field, or the reason a key is invalid.
fn gemini(text: &ErrorText, message: &str, cause: &ApiError) -> Object {
    let error = Object::new().with("code", &text.status).with("message", message).with("status", &text.kind);
    let kind = |name: &str| format!("type.googleapis.com/google.rpc.{name}");
    let details = match cause.kind {
        ErrorKind::RateHinted => json!([{"@type": kind("RetryInfo"), "retryDelay": "1s"}]),
        ErrorKind::RateDay => json!([{"@type": kind("QuotaFailure"), "violations": [{
            "quotaMetric": "generativelanguage.googleapis.com/generate_content_free_tier_requests",
            "quotaId": "GenerateRequestsPerDayPerProjectPerModel-FreeTier",
        }]}]),
        ErrorKind::KeyBad => json!([{
            "@type": kind("ErrorInfo"),
            "reason": "API_KEY_INVALID",
            "domain": "googleapis.com",
            "metadata": {"service": "generativelanguage.googleapis.com"},
        }]),
        ErrorKind::UnknownField if cause.text.is_none() => {
            let violation = json!({"field": cause.details.at.join("."), "description": message});
            json!([{"@type": kind("BadRequest"), "fieldViolations": [violation]}])
        }
        _ => return error,
    };
    error.with("details", &details)
}

/// Adds what Azure reports about a prompt that its filter stopped.
fn azure_filter(inner: Object, kind: ErrorKind) -> Object {
    if kind != ErrorKind::Moderation {
        return inner;
    }
    let result = json!({"violence": {"filtered": true, "severity": "high"}});
    let reason = json!({"code": "ResponsibleAIPolicyViolation", "content_filter_result": result});
    inner.with("type", &Value::Null).with("param", "prompt").with("status", &400).with("innererror", &reason)
}
