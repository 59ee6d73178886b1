//! Connections: accepted with or without TLS, requests read from them, and replies played on them.

mod player;
mod route;
pub(crate) mod server;
mod socket;
pub(crate) mod tls;
