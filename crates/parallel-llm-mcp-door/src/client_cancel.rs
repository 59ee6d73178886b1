//! Whether a client took its call back, where the library cannot tell: in a session.
//!
//! The library ends the wait of a call for several reasons, of which the end of its session is one. Only the client's own
//! word may end what is paid for, so in a session each request carries this, and the word is noted in it.

use tokio_util::sync::CancellationToken;

/// The client's word to give one request up, which it may give as long as the request is in flight.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ClientCancel(CancellationToken);

impl ClientCancel {
    /// The client gives its word.
    pub(super) fn give(&self) {
        self.0.cancel();
    }

    /// Cancelled once the word is given.
    pub(super) const fn given(&self) -> &CancellationToken {
        &self.0
    }
}
