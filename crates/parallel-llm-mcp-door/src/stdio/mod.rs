//! MCP on pipes: lines read and written, the wire between them and the protocol library, and the server over stdin and stdout.

mod outbox;
mod pipe;
mod server;
mod wire;

pub use server::{Ended, run, run_until};
