//! Streamable HTTP: the same handler behind `/mcp`, in both eras of the protocol.
//!
//! Who asks is found in each request, where the HTTP door has put it; a request without it is not served.

use std::sync::Arc;
use std::time::Duration;

use rmcp::ServerHandler;
use rmcp::transport::streamable_http_server::session::local::{LocalSessionManager, SessionConfig};
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use tokio_util::sync::CancellationToken;

use super::line::LINE_BYTES_MAX;

/// Where clients find the protocol.
pub const PATH: &str = "/mcp";
/// How long a session may go without a request: far longer than any call. The library's five minutes end sessions with
/// a call in flight.
const SESSION_IDLE_MAX: Duration = Duration::from_secs(24 * 60 * 60);

/// The routes of a handler, which is made anew for each connection, until `stop`.
pub fn routes<H: ServerHandler>(
    make: impl Fn() -> H + Send + Sync + 'static,
    stop: CancellationToken,
) -> axum::Router {
    let mut sessions = LocalSessionManager::default();
    sessions.session_config = SessionConfig::default();
    sessions.session_config.keep_alive = Some(SESSION_IDLE_MAX);
    let config = StreamableHttpServerConfig::default()
        // Which hosts and origins may ask is the HTTP door's to say.
        .disable_allowed_hosts()
        .with_max_request_body_bytes(LINE_BYTES_MAX)
        .with_cancellation_token(stop);
    let service = StreamableHttpService::new(move || Ok(make()), Arc::new(sessions), config);
    axum::Router::new().route_service(PATH, service)
}
