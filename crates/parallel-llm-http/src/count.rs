//! Counts answers by their route, method and status, those of refused requests included.

use axum::extract::{MatchedPath, Request, State};
use axum::http::Method;
use axum::middleware::Next;
use axum::response::Response;
use parallel_llm_service::telemetry::Meter;

/// The route of every path that has none, and the method of every request with one that is not served: a caller invents both.
const OTHER: &str = "other";

/// Counts an answer when its head is known.
pub(super) async fn answered(State(meter): State<Option<Meter>>, request: Request, next: Next) -> Response {
    let Some(meter) = meter else { return next.run(request).await };
    let method = match *request.method() {
        Method::GET => "GET",
        Method::HEAD => "HEAD",
        Method::POST => "POST",
        Method::DELETE => "DELETE",
        _ => OTHER,
    };
    let route = request.extensions().get::<MatchedPath>().cloned();
    let response = next.run(request).await;
    let route = route.as_ref().map_or(OTHER, MatchedPath::as_str);
    meter.http_answered(route, method, response.status().as_u16());
    response
}
