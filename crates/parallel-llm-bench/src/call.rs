//! What the upstream tells of the calls it answered.

use serde::{Deserialize, Serialize};

/// One call, in nanoseconds of [`crate::clock`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Call {
    /// Whether it asked for a synthesis.
    pub synthesis: bool,
    /// The request was there, to its last byte.
    pub received_ns: u64,
    /// The reply is about to leave. It goes in one write, so this is the moment of its first byte and of its last.
    pub done_ns: u64,
}

impl Call {
    /// How long the upstream had it.
    pub const fn took_ns(&self) -> u64 {
        self.done_ns - self.received_ns
    }
}

/// What the upstream saw since it was last asked.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Seen {
    /// Connections that were opened.
    pub connections: u64,
    /// Calls, in the order in which their replies ended.
    pub calls: Vec<Call>,
}

/// What the floor needs to know: where the upstream is and what is to be sent to it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Script {
    /// `127.0.0.1:port`.
    pub address: String,
    /// Whole requests as the program sent them: five seats, then the synthesis.
    pub requests: Vec<String>,
}
