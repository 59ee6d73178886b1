//! The doors over HTTP, a line each.

use parallel_llm_http::Door;
use parallel_llm_service::{Services, Shutdown};

/// Every door over these services, until the shutdown.
pub(crate) fn over_http(services: &Services, shutdown: &Shutdown) -> Vec<Door> {
    vec![parallel_llm_mcp_door::door(services, shutdown)]
}
