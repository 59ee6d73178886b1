//! The MCP door: tools over the service, prompts that lead to them, and runs as resources.
//!
//! ```text
//! stdio: pipe → line → wire ─┐
//!                            ├→ handler → tools → service
//! HTTP: early → streamable  ─┘
//! ```
//!
//! [`stdio`] owns the connection and its end; the handler knows no transport. What always holds: every request, and
//! every line that cannot be parsed, gets exactly one reply; a client that leaves, stalls or gives up loses nothing
//! that was paid for; a panic ends one call and nothing else.

mod address;
mod answer_first;
mod arguments;
mod body;
mod call;
mod client_cancel;
mod client_timeout;
mod completion;
mod confirm;
mod early;
#[doc(hidden)]
pub mod fuzz;
mod handler;
mod lifecycle;
mod line;
mod next_step;
mod outbox;
mod part;
mod pending;
mod pipe;
mod progress;
mod prompts;
mod refusal;
mod reply_turns;
mod request_id;
mod resources;
mod result;
mod run_result;
mod schema;
mod sessions;
pub mod stdio;
pub mod streamable;
mod task;
mod tools;
mod unread;
mod version;
pub mod vocabulary;
mod wire;

use rmcp::service::{RoleServer, ServerInitializeError};
use rmcp::transport::IntoTransport;
use rmcp::{ServerHandler, ServiceExt};

use parallel_llm_http::Door;
use parallel_llm_service::{Services, Shutdown};

/// MCP over HTTP.
pub fn door(service: &Services, shutdown: &Shutdown) -> Door {
    let handler = handler::Handler::new(handler::Reach::Network, service.clone(), shutdown.clone());
    streamable::door(move || handler.clone(), shutdown.end.clone())
}

/// Serves one connection to its end.
pub async fn serve<T, E, A>(handler: impl ServerHandler, transport: T)
where
    T: IntoTransport<RoleServer, E, A>,
    E: std::error::Error + Send + Sync + 'static,
{
    let running = match handler.serve(transport).await {
        Ok(running) => running,
        // Some clients only check that a server starts.
        Err(ServerInitializeError::ConnectionClosed(_) | ServerInitializeError::Cancelled) => return,
        Err(error) => return tracing::warn!("the connection did not begin: {error}"),
    };
    if let Err(error) = running.waiting().await {
        tracing::error!("the connection broke: {error}");
    }
}
