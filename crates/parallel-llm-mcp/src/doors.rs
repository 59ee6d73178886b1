//! The doors over HTTP. One more is one more line.

use parallel_llm_http::Door;
use parallel_llm_service::{Services, Shutdown};

/// Every door over these services, until this shutdown.
pub(crate) fn over_http(services: &Services, shutdown: &Shutdown) -> Vec<Door> {
    vec![parallel_llm_mcp_door::door(services, shutdown)]
}
