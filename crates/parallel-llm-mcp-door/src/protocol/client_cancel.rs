//! The cancel of a request by its client, for sessions, where the library does not report it.
//!
//! The library ends a waiting call for several reasons, one of which is the end of its session. Only the client's own
//! cancel may end a paid run, so each request of a session carries this flag.

use tokio_util::sync::CancellationToken;

/// The cancel flag of one request in flight.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ClientCancel(CancellationToken);

impl ClientCancel {
    /// Sets the flag.
    pub(crate) fn give(&self) {
        self.0.cancel();
    }

    /// Cancelled once the flag is set.
    pub(crate) const fn given(&self) -> &CancellationToken {
        &self.0
    }
}
