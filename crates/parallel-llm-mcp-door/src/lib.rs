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

mod call;
mod completion;
#[doc(hidden)]
pub mod fuzz;
mod handler;
mod http;
mod prompts;
mod protocol;
mod resources;
mod results;
pub mod stdio;
mod tools;
pub mod vocabulary;

pub use self::http::streamable;

use parallel_llm_http::Door;
use parallel_llm_service::{Services, Shutdown};

/// MCP over HTTP.
pub fn door(service: &Services, shutdown: &Shutdown) -> Door {
    let handler = handler::Handler::new(handler::Reach::Network, service.clone(), shutdown.clone());
    http::streamable::door(move || handler.clone(), shutdown.end.clone())
}
