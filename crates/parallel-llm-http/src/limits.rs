//! How much the door takes on. Every bound stands here with its reason.

use std::time::Duration;

use crate::message;

/// How much a server takes on at once, and how long it waits for what is slow.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Connections at once. One more takes the place of one that waits for a request; where none does, it waits itself.
    pub connections_max: usize,
    /// Requests under way at once, streams included; further ones are refused. Of one token at most half as many, so that
    /// no token takes the room of all.
    pub requests_max: usize,
    /// The head of a request in bytes. It also bounds what is written ahead of a slow reader.
    pub head_bytes_max: usize,
    /// How long a head may take to come, and how long a connection may wait for its next one.
    pub head_max: Duration,
    /// The body of a request in bytes.
    pub body_bytes_max: usize,
    /// What the bodies of all requests under way take, in bytes, with the values in them: one counts until its answer has
    /// been read.
    pub bodies_bytes_max: usize,
    /// How long a body may come without a byte.
    pub body_idle_max: Duration,
    /// How long a whole body may take.
    pub body_max: Duration,
    /// How long a client may read nothing of what is written to it.
    pub stall_max: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            // Half the usual number of open files; calls to providers need the rest.
            connections_max: 512,
            // Fewer than connections, so that a server with too much to do can still say so.
            requests_max: 384,
            // A token and a browser's headers take two of them.
            head_bytes_max: 64 * 1024,
            // Longer than clients keep a connection without use before they open another.
            head_max: Duration::from_secs(30),
            // As a line on stdin.
            body_bytes_max: message::BYTES_MAX,
            bodies_bytes_max: message::ALL_BYTES_MAX,
            body_idle_max: Duration::from_secs(15),
            // The longest body over a line of one megabit a second.
            body_max: Duration::from_secs(300),
            // Whoever reads nothing for so long, with keep-alive comments written every few seconds, is gone.
            stall_max: Duration::from_secs(300),
        }
    }
}
