//! Connections: an address that may be listened on, TLS, the limit on connections, and how each ends.

pub(super) mod connection;
mod connections;
pub(super) mod exposure;
mod linger;
mod stall;
pub(super) mod tls;
