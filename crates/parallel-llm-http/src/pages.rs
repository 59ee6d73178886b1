//! Pages of the origins that the settings list: what their browsers ask before they send a request (CORS), and what lets
//! them read its answer.
//!
//! What always holds: the origin that is let in is the one that was looked at and found on the list, never any; a page
//! has no more than what it sends itself, because no answer lets a browser add cookies or the like.

use axum::extract::Request;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};

/// What a page may do, for the browser that asks before it.
const PREFLIGHT: [(HeaderName, HeaderValue); 3] = [
    (header::ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static("GET, POST, DELETE")),
    (
        header::ACCESS_CONTROL_ALLOW_HEADERS,
        HeaderValue::from_static(
            "authorization, content-type, accept, last-event-id, mcp-protocol-version, mcp-session-id, mcp-method, mcp-name",
        ),
    ),
    // Ten minutes: a list that has changed is to be felt soon.
    (header::ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static("600")),
];
/// What a page may read of an answer's head besides its type.
const EXPOSED: HeaderValue = HeaderValue::from_static("mcp-session-id, www-authenticate, retry-after");

/// Whether a browser asks what a page may do, which it does without the page's token.
pub(super) fn is_preflight(request: &Request) -> bool {
    request.method() == Method::OPTIONS
        && request.headers().contains_key(header::ACCESS_CONTROL_REQUEST_METHOD)
}

/// The answer to that.
pub(super) fn preflight() -> Response {
    (StatusCode::NO_CONTENT, HeaderMap::from_iter(PREFLIGHT)).into_response()
}

/// Lets pages of this origin read the answer.
pub(super) fn open(mut response: Response, origin: HeaderValue) -> Response {
    let headers = response.headers_mut();
    headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
    headers.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, EXPOSED);
    headers.append(header::VARY, HeaderValue::from_static("Origin"));
    response
}
