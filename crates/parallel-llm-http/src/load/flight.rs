//! The requests in flight: their limit, and what delays the shutdown.
//!
//! A post is a call that a client waits for, so the shutdown waits for it. Any other answer may be an endless stream,
//! which the shutdown closes. Invariant: no token holder has more than half of the permits, nor have all strangers
//! together.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::Request;
use axum::http::Method;
use axum::middleware::Next;
use axum::response::Response;
use tokio::sync::Semaphore;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::adaptive_limit::AdaptiveLimit;
use super::body::{Held, Holding};
use super::intake::Room;
use super::share::Shares;
use crate::answer::refusal::{self, Refusal};
use parallel_llm_service::Principal;

/// The requests in flight of one server.
#[derive(Clone, Debug)]
pub(crate) struct Flight {
    permits: Arc<Semaphore>,
    shares: Shares,
    posts: TaskTracker,
    posts_limit: Arc<AdaptiveLimit>,
    over: CancellationToken,
}

impl Flight {
    /// No requests, with this limit.
    pub(crate) fn new(requests_max: usize) -> Self {
        Self {
            permits: Arc::new(Semaphore::new(requests_max)),
            shares: Shares::new((requests_max / 2).max(1)),
            posts: TaskTracker::new(),
            posts_limit: Arc::new(AdaptiveLimit::of_at_most(requests_max)),
            over: CancellationToken::new(),
        }
    }

    /// Refuses a request for which there is no room before its body is read, so that a server with too much to do does
    /// nothing for it. A permit is taken only once the body is there: a slow sender must not hold one.
    pub(crate) fn check(&self, request: &Request) -> Result<(), Refusal> {
        if self.permits.available_permits() == 0 {
            return Err(too_many().into());
        }
        if request.method() != Method::POST {
            return Ok(());
        }
        let posts = self.posts.len();
        let posts_max = self.posts_limit.posts_max(posts);
        if posts >= posts_max {
            return Err(too_many().into());
        }
        let name = request.extensions().get::<Principal>().and_then(Principal::name);
        if name.is_some_and(|name| self.shares.held(name) >= posts_max.div_ceil(2)) {
            return Err(too_many_of_one().into());
        }
        Ok(())
    }

    /// Answers a request if there is a permit, and holds the permit until the answer has been read.
    pub(crate) async fn answer(&self, mut request: Request, next: Next) -> Response {
        // Strangers, who reach open paths only, share an empty name, which no token has.
        let name = request.extensions().get::<Principal>().map_or(Some(""), Principal::name);
        let share = match name.map(|name| self.shares.take(name)) {
            Some(None) => return too_many_of_one(),
            Some(share) => share,
            None => None,
        };
        let Ok(permit) = Arc::clone(&self.permits).try_acquire_owned() else {
            return too_many();
        };
        let post = (request.method() == Method::POST).then(|| self.posts.token());
        // Taken out of the extensions, because a route may keep those for as long as a session.
        let room = request.extensions_mut().remove::<Room>();
        let holding = Holding::new(permit, share, post, room);
        let response = next.run(request).await;
        let over = self.over.clone();
        response.map(|body| Held::wrap(body, holding, over))
    }

    /// Waits for posts in flight, at most `drain`, and ends all other answers.
    pub(crate) async fn drain(&self, drain: Duration) {
        self.posts.close();
        // An unanswered post is given up with its connection.
        let _ = timeout(drain, self.posts.wait()).await;
        self.over.cancel();
    }
}

fn too_many() -> Response {
    refusal::busy("the server has too many requests under way")
}

fn too_many_of_one() -> Response {
    refusal::busy("this caller has too many requests under way")
}
