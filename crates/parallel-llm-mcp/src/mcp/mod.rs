//! The MCP door.

pub mod stdio {
    //! Placeholder.
    pub async fn run(_: crate::service::Service) {}
}
