//! Turns new requests away while the server is stopping and its calls in flight are answered, so that callers and load balancers
//! learn why, and where a door says so still get an answer.

use std::sync::Arc;

use axum::extract::Request;
use tokio_util::sync::CancellationToken;

use crate::answer::refusal::{self, Refusal};
use crate::doors::paths::Paths;

/// The most connections at that time: they are for an answer of a line.
pub(crate) const CONNECTIONS_MAX: usize = 32;

/// Whether the server is stopping, and what it serves all the same.
pub(crate) struct Stopping {
    pub(crate) stop: CancellationToken,
    pub(crate) paths: Arc<Paths>,
}

impl Stopping {
    /// Turns a request away if the server is stopping.
    pub(crate) fn check(&self, request: &Request) -> Result<(), Refusal> {
        let stays = self.paths.at(request.uri().path()).is_some_and(|terms| terms.stays);
        if self.stop.is_cancelled() && !stays {
            return Err(refusal::busy("the server is stopping").into());
        }
        Ok(())
    }
}
