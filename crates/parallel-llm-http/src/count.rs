//! Counts answers by their route, method and status, those of refused requests included.

use axum::extract::{MatchedPath, Request};
use axum::http::{Method, StatusCode};
use parallel_llm_service::telemetry::Meter;

/// The route of every path that has none, and the method of every request with one that is not served: a caller invents both.
const OTHER: &str = "other";

/// What an answer is counted by, beside its status.
pub(super) struct Counted {
    method: &'static str,
    route: Option<MatchedPath>,
}

impl Counted {
    /// For the answer to this request.
    pub(super) fn of(request: &Request) -> Self {
        let method = match *request.method() {
            Method::GET => "GET",
            Method::HEAD => "HEAD",
            Method::POST => "POST",
            Method::DELETE => "DELETE",
            _ => OTHER,
        };
        Self { method, route: request.extensions().get::<MatchedPath>().cloned() }
    }

    /// Counts the answer when its head is known.
    pub(super) fn note(&self, meter: &Meter, status: StatusCode) {
        let route = self.route.as_ref().map_or(OTHER, MatchedPath::as_str);
        meter.http_answered(route, self.method, status.as_u16());
    }
}
