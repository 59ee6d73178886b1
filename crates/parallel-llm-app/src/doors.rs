//! The doors over HTTP, a line each.

use parallel_llm_http::{Door, Sessions};
use parallel_llm_service::{Services, Shutdown};

/// The web page alone, over these services.
pub fn page(services: &Services, shutdown: &Shutdown, sessions: &Sessions) -> Door {
    parallel_llm_web_door::door(services, shutdown, Some(sessions))
}

/// Every door over these services, until the shutdown. Without `sessions` everyone is the owner.
pub fn over_http(services: &Services, shutdown: &Shutdown, sessions: Option<&Sessions>) -> Vec<Door> {
    vec![
        parallel_llm_mcp_door::door(services, shutdown),
        parallel_llm_ops_door::door(services, shutdown),
        parallel_llm_web_door::door(services, shutdown, sessions),
    ]
}
