//! CORS for the origins that the settings list: preflight answers, and headers that let pages exposed answers.
//!
//! Invariants: the admitted origin is the one that was compared with the list, never a wildcard; no answer
//! allows credentials, so a page has only what it sends itself. The layer of tower-http treats every `OPTIONS` as a
//! preflight, even one that is not, and cannot use the result of the guard's comparison.

use axum::extract::Request;
use axum::http::{HeaderName, HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};

use super::door::Door;

const METHODS: HeaderValue = HeaderValue::from_static("GET, POST, DELETE");
/// Request headers allowed for any protocol: the token, a body, and the position in a stream.
const ALLOWED: [HeaderName; 4] =
    [header::AUTHORIZATION, header::CONTENT_TYPE, header::ACCEPT, HeaderName::from_static("last-event-id")];
/// Response headers readable for any protocol, beside the type.
const EXPOSED: [HeaderName; 2] = [header::WWW_AUTHENTICATE, header::RETRY_AFTER];
/// How long a browser may cache a preflight, in seconds: short, so that a changed list takes effect soon.
const MAX_AGE: HeaderValue = HeaderValue::from_static("600");

/// The headers that pages of listed origins may use.
#[derive(Debug)]
pub(crate) struct Cors {
    allowed: HeaderValue,
    exposed: HeaderValue,
}

impl Cors {
    /// The headers that these doors allow.
    pub(crate) fn new(doors: &[Door]) -> Self {
        let allowed = doors.iter().flat_map(|door| &door.page_sends);
        let exposed = doors.iter().flat_map(|door| &door.page_reads);
        Self { allowed: list(ALLOWED.iter().chain(allowed)), exposed: list(exposed.chain(&EXPOSED)) }
    }

    /// The answer to a preflight.
    pub(crate) fn preflight(&self) -> Response {
        let headers = [
            (header::ACCESS_CONTROL_ALLOW_METHODS, METHODS),
            (header::ACCESS_CONTROL_ALLOW_HEADERS, self.allowed.clone()),
            (header::ACCESS_CONTROL_MAX_AGE, MAX_AGE),
        ];
        (StatusCode::NO_CONTENT, headers).into_response()
    }

    /// Lets pages of this origin exposed the answer.
    pub(crate) fn open(&self, mut response: Response, origin: HeaderValue) -> Response {
        let headers = response.headers_mut();
        headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
        headers.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, self.exposed.clone());
        headers.append(header::VARY, HeaderValue::from_static("Origin"));
        response
    }
}

/// Whether a request is a preflight, which carries no token.
pub(crate) fn is_preflight(request: &Request) -> bool {
    request.method() == Method::OPTIONS
        && request.headers().contains_key(header::ACCESS_CONTROL_REQUEST_METHOD)
}

fn list<'a>(names: impl Iterator<Item = &'a HeaderName>) -> HeaderValue {
    let names: Vec<&str> = names.map(HeaderName::as_str).collect();
    names.join(", ").parse().expect("names of headers are the characters of a header")
}
