//! `serve`: what MCP clients start, or connect to.

use std::net::SocketAddr;

/// Serve MCP on stdin and stdout, or over HTTP
#[derive(Debug, Default, clap::Args)]
pub struct Serve {
    /// Serve over HTTP at this address instead, for example `127.0.0.1:8930`
    #[arg(long, value_name = "ADDRESS")]
    pub http: Option<SocketAddr>,
}
