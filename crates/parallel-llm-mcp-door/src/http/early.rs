//! Protocol answers that come after their headers: as events, with the request's id.
//!
//! What always holds: a refusal that comes late still carries the request's id, and the reason.

use std::sync::{Arc, OnceLock};

use axum::body::Body;
use axum::extract::Request;
use axum::http::{Method, header};
use axum::middleware::Next;
use axum::response::Response;
use rmcp::model::{ClientJsonRpcMessage, JsonRpcMessage, RequestId};
use serde_json::Value;

use crate::protocol::line::Refusal;
use parallel_llm_http::early;

/// The reason if a late answer is not of the protocol and gives none.
const LOST: &str = "the call failed before it began";

/// The id of the current request, once it is known. Clones share it.
#[derive(Clone, Debug, Default)]
pub(super) struct Asked(Arc<OnceLock<RequestId>>);

impl Asked {
    /// Notes the id if the message is a request.
    pub(super) fn note(&self, message: &ClientJsonRpcMessage) {
        if let JsonRpcMessage::Request(request) = message {
            self.note_id(request.id.clone());
        }
    }

    /// Notes the id, unless one was noted.
    pub(super) fn note_id(&self, id: RequestId) {
        self.0.get_or_init(|| id);
    }

    /// The id, if it is noted.
    pub(super) fn id(&self) -> Option<&RequestId> {
        self.0.get()
    }
}

/// Passes the route's answer on, with early headers if it is late.
pub(super) async fn answer(mut request: Request, next: Next) -> Response {
    if request.method() != Method::POST || !early::takes_events(request.headers()) {
        return next.run(request).await;
    }
    let asked = request.extensions_mut().get_or_insert_default::<Asked>().clone();
    let into_events = |response| Box::pin(as_events(response, asked)) as _;
    early::answer(Box::pin(next.run(request)), Box::new(into_events)).await
}

/// The answer as a stream of events.
async fn as_events(response: Response, asked: Asked) -> Body {
    let (parts, body) = response.into_parts();
    if early::names(&parts.headers, &header::CONTENT_TYPE, early::EVENTS) {
        return body;
    }
    let bytes = axum::body::to_bytes(body, early::EVENT_BYTES_MAX).await.unwrap_or_default();
    match bytes.trim_ascii() {
        // An accepted notification has no answer.
        [] => Body::empty(),
        json => early::event(reply(json, &asked).trim_ascii()).into(),
    }
}

/// An answer as a protocol reply. A reply without an id gets that of the request; a refusal from outside the protocol
/// becomes an error with its reason.
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
