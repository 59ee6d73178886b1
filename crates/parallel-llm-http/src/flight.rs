//! The requests under way: how many there may be, and what still holds the end of the server.
//!
//! A post is a call that somebody waits for, so the end waits for it. Any other answer may be a stream without an end,
//! which the end closes. What always holds: no principal but the owner has more than half of the places.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::{Request, State};
use axum::http::Method;
use axum::middleware::Next;
use axum::response::Response;
use tokio::sync::Semaphore;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::body::{Held, Holding};
use super::intake::Room;
use super::refusal;
use super::share::Shares;
use parallel_llm_service::Principal;

/// The requests under way of one server.
#[derive(Clone, Debug)]
pub(super) struct Flight {
    places: Arc<Semaphore>,
    shares: Shares,
    posts: TaskTracker,
    over: CancellationToken,
}

impl Flight {
    /// Nothing under way yet, with room for so many.
    pub(super) fn new(requests_max: usize) -> Self {
        Self {
            places: Arc::new(Semaphore::new(requests_max)),
            shares: Shares::new((requests_max / 2).max(1)),
            posts: TaskTracker::new(),
            over: CancellationToken::new(),
        }
    }

    /// Waits for the posts under way, but no longer than this, and ends all other answers.
    pub(super) async fn land(&self, drain: Duration) {
        self.posts.close();
        // What is not answered by now is given up with its connection.
        let _ = timeout(drain, self.posts.wait()).await;
        self.over.cancel();
    }
}

/// Lets a request pass where there is a place for it, and holds the place until its answer has been read.
pub(super) async fn admit(State(flight): State<Flight>, mut request: Request, next: Next) -> Response {
    let name = request.extensions().get::<Principal>().and_then(Principal::name);
    let share = match name.map(|name| flight.shares.take(name)) {
        Some(None) => return refusal::busy("this token has too many requests under way"),
        Some(share) => share,
        None => None,
    };
    let Ok(place) = Arc::clone(&flight.places).try_acquire_owned() else {
        return refusal::busy("the server has too many requests under way");
    };
    let post = (request.method() == Method::POST).then(|| flight.posts.token());
    // Held here alone: a route may keep what else comes with a request for as long as a session.
    let room = request.extensions_mut().remove::<Room>();
    let holding = Holding::new(place, share, post, room);
    let response = next.run(request).await;
    let over = flight.over.clone();
    response.map(|body| Held::wrap(body, holding, over))
}
