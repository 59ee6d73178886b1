//! Turns new requests away while the server is stopping and its calls in flight are answered, so that callers and load balancers
//! learn why, and where a door says so still get an answer.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::Response;
use tokio_util::sync::CancellationToken;

use super::paths::Paths;
use super::refusal;

/// The most connections at that time: they are for an answer of a line.
pub(super) const CONNECTIONS_MAX: usize = 32;

/// Whether the server is stopping, and what it serves all the same.
#[derive(Clone)]
pub(super) struct Stopping {
    pub(super) stop: CancellationToken,
    pub(super) paths: Arc<Paths>,
}

/// Turns a request away if the server is stopping.
pub(super) async fn refuse(State(stopping): State<Stopping>, request: Request, next: Next) -> Response {
    let stays = stopping.paths.at(request.uri().path()).is_some_and(|terms| terms.stays);
    if stopping.stop.is_cancelled() && !stays {
        return refusal::busy("the server is stopping");
    }
    next.run(request).await
}
