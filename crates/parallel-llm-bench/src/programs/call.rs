//! The calls that the upstream answered, and the input of the floor.

use serde::{Deserialize, Serialize};

/// One call, with times in nanoseconds of [`crate::clock`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Call {
    /// Whether it was a synthesis.
    pub synthesis: bool,
    /// When the last byte of the request arrived.
    pub received_ns: u64,
    /// When the reply was about to be sent, in one write.
    pub done_ns: u64,
}

impl Call {
    /// The time between both.
    pub const fn took_ns(&self) -> u64 {
        self.done_ns - self.received_ns
    }
}

/// The connections and calls of the upstream since the last query.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Observed {
    /// The number of connections that were opened.
    pub connections: u64,
    /// Calls, in the order in which their replies ended.
    pub calls: Vec<Call>,
}

/// The input of the floor: the upstream's address and the requests to send.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Script {
    /// `127.0.0.1:port`.
    pub address: String,
    /// Whole requests as the program sent them: five seats, then the synthesis.
    pub requests: Vec<String>,
}
