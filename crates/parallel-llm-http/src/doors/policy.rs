//! The browser policy of an answer: headers against sniffing, framing, caching and foreign readers.
//!
//! [`Policy::on`] sets the policy of an answer, [`Policy::over`] that of a router. Invariants: an answer without
//! a policy may not be sniffed, framed, cached or read by pages; and no policy lets pages of other origins read an
//! answer, which only `cors` does.

use axum::Router;
use axum::http::{HeaderName, HeaderValue, header};
use axum::middleware::map_response;
use axum::response::Response;

/// Headers of every answer: no sniffing, no use by other origins.
const ALWAYS: [(HeaderName, HeaderValue); 2] = [
    (header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
    (HeaderName::from_static("cross-origin-resource-policy"), HeaderValue::from_static("same-origin")),
];
const NO_REFERRER: HeaderValue = HeaderValue::from_static("no-referrer");
/// The referrer policy of pages. Under `no-referrer` a browser posts their forms with `Origin: null`, which the guard
/// refuses; under this one only other origins get no referrer.
const OWN_REFERRER: HeaderValue = HeaderValue::from_static("same-origin");
const NO_CONTENT_AT_ALL: HeaderValue = HeaderValue::from_static("default-src 'none'; frame-ancestors 'none'");
/// Answers that cost money or are private are not stored by caches.
const NO_STORE: HeaderValue = HeaderValue::from_static("no-store");

/// What a browser may do with an answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Policy {
    /// Nothing: the answer is for programs.
    #[default]
    Api,
    /// Show it as a page.
    Page {
        /// A `Content-Security-Policy`, which should begin with `default-src 'none'` and end with `frame-ancestors
        /// 'none'`.
        content_security: HeaderValue,
        /// A `Cache-Control`.
        cache: HeaderValue,
    },
}

impl Policy {
    /// Sets this policy for all answers of these routes that do not set their own.
    pub fn over(self, routes: Router) -> Router {
        routes.layer(map_response(move |mut response: Response| {
            let policy = self.clone();
            async move {
                response.extensions_mut().get_or_insert_with(|| policy);
                response
            }
        }))
    }

    /// Sets the policy of an answer.
    pub fn on(self, mut response: Response) -> Response {
        response.extensions_mut().insert(self);
        response
    }

    fn headers(self) -> impl Iterator<Item = (HeaderName, HeaderValue)> {
        let (content_security, cache, referrer) = match self {
            Self::Api => (NO_CONTENT_AT_ALL, NO_STORE, NO_REFERRER),
            Self::Page { content_security, cache } => (content_security, cache, OWN_REFERRER),
        };
        let own = [
            (header::CONTENT_SECURITY_POLICY, content_security),
            (header::CACHE_CONTROL, cache),
            (header::REFERRER_POLICY, referrer),
        ];
        ALWAYS.into_iter().chain(own)
    }
}

/// Adds the headers of an answer's policy, replacing those of its route.
pub(crate) fn add(mut response: Response) -> Response {
    let policy = response.extensions_mut().remove::<Policy>().unwrap_or_default();
    response.headers_mut().extend(policy.headers());
    response
}
