//! Streamable HTTP: the handler behind `/mcp`, in all protocol versions.
//!
//! The HTTP listener puts the principal into each request; a request without it is not served. Hosts, origins and the
//! length of bodies are also checked there.

use std::sync::Arc;

use axum::Router;
use axum::http::HeaderName;
use axum::middleware::{from_fn, from_fn_with_state, map_response};
use rmcp::ServerHandler;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use tokio_util::sync::CancellationToken;

pub use super::sessions::SessionLimits;
use super::sessions::{self, SESSION, Sessions};
use super::unread::{self, Unread};
use super::{body, early, lifecycle, refusal};
use crate::protocol::answer_first;
use parallel_llm_http::Door;

/// The path of the protocol.
pub const PATH: &str = "/mcp";

/// Protocol headers, beside that of sessions, that pages may send.
const HEADERS: [HeaderName; 3] = [
    HeaderName::from_static("mcp-protocol-version"),
    HeaderName::from_static("mcp-method"),
    HeaderName::from_static("mcp-name"),
];

/// The door to a handler, which is made for each connection, until `end`.
pub fn door<H: ServerHandler>(make: impl Fn() -> H + Send + Sync + 'static, end: CancellationToken) -> Door {
    door_within(make, end, SessionLimits::default())
}

/// The same with other limits of sessions.
pub fn door_within<H: ServerHandler>(
    make: impl Fn() -> H + Send + Sync + 'static,
    end: CancellationToken,
    limits: SessionLimits,
) -> Door {
    let sessions = Arc::new(Sessions::new(limits));
    let config = StreamableHttpServerConfig::default()
        .disable_allowed_hosts()
        .with_max_request_body_bytes(usize::MAX)
        // The library would give the stream that belongs to no call an event with the id of that stream's first message.
        .with_sse_retry(None)
        .with_cancellation_token(end);
    let service = StreamableHttpService::new(move || Ok(make()), Arc::clone(&sessions), config);
    let routes = Router::new()
        .route_service(PATH, service)
        .layer(map_response(async |response| answer_first::in_events(response)))
        .layer(map_response(refusal::reword))
        .layer(from_fn_with_state(sessions, sessions::admit))
        .layer(from_fn(lifecycle::check))
        .layer(from_fn_with_state(body::Turns::new(), body::check))
        .layer(from_fn(early::answer))
        .layer(from_fn_with_state(Unread::new(unread::BYTES_MAX), unread::bound));
    let [version, method, name] = HEADERS;
    let page_sends = vec![version, SESSION, method, name];
    Door { name: "MCP", path: Some(PATH), page_sends, page_reads: vec![SESSION], ..Door::from(routes) }
}
