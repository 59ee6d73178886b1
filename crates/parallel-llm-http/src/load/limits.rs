//! The limits of a server, each with its reason.

use std::time::Duration;

use super::message;

/// How much a server accepts at once, and how long it waits.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// The most connections. A further one replaces an idle one; if none is idle, it waits.
    pub connections_max: usize,
    /// The most requests in flight, streams included; further ones are refused. One token may have half of them, so
    /// that none takes all.
    pub requests_max: usize,
    /// The longest head of a request in bytes. It also bounds what is written ahead of a slow reader.
    pub head_bytes_max: usize,
    /// The longest time for a head to arrive, and for an idle connection to wait for the next one.
    pub head_max: Duration,
    /// The longest body of a request in bytes.
    pub body_bytes_max: usize,
    /// The longest body of a request without a principal in bytes, which only an open path accepts.
    pub stranger_body_bytes_max: usize,
    /// The memory of all bodies in flight in bytes, values included. A body counts until its answer has been read.
    pub bodies_bytes_max: usize,
    /// The longest pause within a body.
    pub body_idle_max: Duration,
    /// The longest time for a whole body.
    pub body_max: Duration,
    /// The longest time that a client may read nothing.
    pub stall_max: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            // Half the usual number of open files; calls to providers need the rest.
            connections_max: 512,
            // Fewer than connections, so that a busy server can still refuse.
            requests_max: 384,
            // A token and a browser's headers take two of them.
            head_bytes_max: 64 * 1024,
            // Longer than clients keep an idle connection before they open another.
            head_max: Duration::from_secs(30),
            // The same as a line on stdin.
            body_bytes_max: message::BYTES_MAX,
            // A form with a token; from all connections at once an eighth of the memory of bodies.
            stranger_body_bytes_max: 64 * 1024,
            bodies_bytes_max: message::ALL_BYTES_MAX,
            body_idle_max: Duration::from_secs(15),
            // The longest body at one megabit a second.
            body_max: Duration::from_secs(300),
            // A client that reads nothing for this long, despite keep-alive comments every few seconds, has disconnected.
            stall_max: Duration::from_secs(300),
        }
    }
}
