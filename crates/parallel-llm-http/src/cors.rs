//! Pages of the origins that the settings list: what their browsers ask before they send a request (CORS), and what lets
//! them read its answer.
//!
//! What always holds: the origin that is let in is the one that was looked at and found on the list, never any; a page
//! has no more than what it sends itself, because no answer lets a browser add cookies or the like. The library's layer
//! (tower-http) takes any `OPTIONS` for a browser's question, also one that is none, and is not asked who was found listed.

use axum::extract::Request;
use axum::http::{HeaderName, HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};

use super::door::Door;

const METHODS: HeaderValue = HeaderValue::from_static("GET, POST, DELETE");
/// What a page may send of any protocol: its token, a body, and how far it has read a stream.
const SENT: [HeaderName; 4] =
    [header::AUTHORIZATION, header::CONTENT_TYPE, header::ACCEPT, HeaderName::from_static("last-event-id")];
/// What a page may read of any answer's head besides its type.
const READ: [HeaderName; 2] = [header::WWW_AUTHENTICATE, header::RETRY_AFTER];
/// In seconds. Ten minutes: a list that has changed is to be felt soon.
const KEPT: HeaderValue = HeaderValue::from_static("600");

/// What pages of listed origins may do.
#[derive(Debug)]
pub(super) struct Cors {
    sent: HeaderValue,
    read: HeaderValue,
}

impl Cors {
    /// What these doors let pages do.
    pub(super) fn new(doors: &[Door]) -> Self {
        let sent = doors.iter().flat_map(|door| &door.page_sends);
        let read = doors.iter().flat_map(|door| &door.page_reads);
        Self { sent: list(SENT.iter().chain(sent)), read: list(read.chain(&READ)) }
    }

    /// The answer to a browser that asks what a page may do.
    pub(super) fn preflight(&self) -> Response {
        let headers = [
            (header::ACCESS_CONTROL_ALLOW_METHODS, METHODS),
            (header::ACCESS_CONTROL_ALLOW_HEADERS, self.sent.clone()),
            (header::ACCESS_CONTROL_MAX_AGE, KEPT),
        ];
        (StatusCode::NO_CONTENT, headers).into_response()
    }

    /// Lets pages of this origin read the answer.
    pub(super) fn open(&self, mut response: Response, origin: HeaderValue) -> Response {
        let headers = response.headers_mut();
        headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
        headers.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, self.read.clone());
        headers.append(header::VARY, HeaderValue::from_static("Origin"));
        response
    }
}

/// Whether a browser asks what a page may do, which it does without the page's token.
pub(super) fn is_preflight(request: &Request) -> bool {
    request.method() == Method::OPTIONS
        && request.headers().contains_key(header::ACCESS_CONTROL_REQUEST_METHOD)
}

fn list<'a>(names: impl Iterator<Item = &'a HeaderName>) -> HeaderValue {
    let names: Vec<&str> = names.map(HeaderName::as_str).collect();
    names.join(", ").parse().expect("names of headers are the characters of a header")
}
