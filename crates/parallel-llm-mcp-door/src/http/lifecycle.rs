//! The begin and end of HTTP sessions, where the library deviates from the specification.
//!
//! The newest protocol version has no handshake, so `initialize` is an unknown method in it (404, -32601); the library
//! would begin a session. A deleted session is gone when its DELETE is answered, so the status is 204; the Python SDK
//! takes the library's 202 for a failure.

use axum::body::{Body, HttpBody};
use axum::extract::Request;
use axum::http::{HeaderMap, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use rmcp::model::{ProtocolVersion, RequestId, ServerJsonRpcMessage};
use serde::Deserialize;
use serde_json::Value;

use crate::handler;
use crate::protocol::version;
use parallel_llm_http::status::Fault;

/// The header with the protocol version of a request.
const VERSION: &str = "mcp-protocol-version";
/// The member of `_meta` with the same.
const VERSION_META: &str = "io.modelcontextprotocol/protocolVersion";
/// The longest `initialize` in bytes: names and capabilities of clients are short.
const INITIALIZE_BYTES_MAX: u64 = 64 * 1024;

/// Refuses a handshake in the version without one, and corrects the status of a session's end.
pub(super) async fn check(request: Request, next: Next) -> Response {
    let is_end = request.method() == Method::DELETE;
    let is_short = request.body().size_hint().upper().is_some_and(|bytes| bytes <= INITIALIZE_BYTES_MAX);
    let mut request = request;
    if request.method() == Method::POST && is_short {
        let (parts, body) = request.into_parts();
        // The body is in memory already; the library refuses what cannot be parsed.
        let bytes = axum::body::to_bytes(body, INITIALIZE_BYTES_MAX as usize).await.unwrap_or_default();
        if let Some(refused) = refuse_handshake(&parts.headers, &bytes) {
            return refused;
        }
        request = Request::from_parts(parts, Body::from(bytes));
    }
    let mut response = next.run(request).await;
    if is_end && response.status() == StatusCode::ACCEPTED {
        *response.status_mut() = StatusCode::NO_CONTENT;
    }
    response
}

/// The reply to an `initialize` of the newest version; `None` for any other request.
fn refuse_handshake(headers: &HeaderMap, body: &[u8]) -> Option<Response> {
    #[derive(Deserialize)]
    struct HandshakeHead {
        id: RequestId,
        method: String,
        params: Option<Value>,
    }
    let head: HandshakeHead =
        serde_json::from_slice(body).ok().filter(|head: &HandshakeHead| head.method == "initialize")?;
    let of_header = headers.get(VERSION).and_then(|version| version.to_str().ok());
    let of_body = head.params.as_ref().and_then(|params| params["_meta"][VERSION_META].as_str());
    let versions = ProtocolVersion::KNOWN_VERSIONS.iter();
    let mut newest = versions.filter(|version| version::is_newest(version));
    let version = newest.find(|known| [of_header, of_body].contains(&Some(known.as_str())))?;
    let refused = ServerJsonRpcMessage::error(handler::no_method(&head.method, version), Some(head.id));
    let reply = serde_json::to_vec(&refused).expect("a reply is plain data with string keys");
    let json = [(header::CONTENT_TYPE, "application/json")];
    Some((Fault::NotFound.status(), json, reply).into_response())
}
