//! Turns new requests away while the server is stopping and its calls in flight are answered, so that callers and load balancers
//! learn why, and where a door says so still get an answer.

use std::sync::Arc;

use axum::extract::Request;
use tokio_util::sync::CancellationToken;

use super::paths::Paths;
use super::refusal::{self, Refusal};

/// The most connections at that time: they are for an answer of a line.
pub(super) const CONNECTIONS_MAX: usize = 32;

/// Whether the server is stopping, and what it serves all the same.
pub(super) struct Stopping {
    pub(super) stop: CancellationToken,
    pub(super) paths: Arc<Paths>,
}

impl Stopping {
    /// Turns a request away if the server is stopping.
    pub(super) fn check(&self, request: &Request) -> Result<(), Refusal> {
        let stays = self.paths.at(request.uri().path()).is_some_and(|terms| terms.stays);
        if self.stop.is_cancelled() && !stays {
            return Err(refusal::busy("the server is stopping").into());
        }
        Ok(())
    }
}
