//! What every answer tells a browser that came across it: nothing here is to be sniffed, framed, kept or read by pages.
//!
//! What never is among them: a header that lets pages of other origins read an answer.

use axum::http::{HeaderName, HeaderValue, header};
use axum::response::Response;

const HEADERS: [(HeaderName, HeaderValue); 5] = [
    (header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
    (header::REFERRER_POLICY, HeaderValue::from_static("no-referrer")),
    (header::CONTENT_SECURITY_POLICY, HeaderValue::from_static("default-src 'none'; frame-ancestors 'none'")),
    (HeaderName::from_static("cross-origin-resource-policy"), HeaderValue::from_static("same-origin")),
    (header::CACHE_CONTROL, HeaderValue::from_static("no-store")),
];

/// Adds them, in place of what a route said.
pub(super) async fn add(mut response: Response) -> Response {
    response.headers_mut().extend(HEADERS);
    response
}
