//! What the answers of a route tell a browser that came across them.
//!
//! An answer says which policy is its own ([`Policy::on`]), a router does so for all of its routes. What always holds: an
//! answer that says nothing is nothing for a browser: not to be sniffed, framed, kept, or read by pages; and no policy lets
//! pages of other origins read an answer, which `cors` alone does.

use axum::Router;
use axum::http::{HeaderName, HeaderValue, header};
use axum::middleware::map_response;
use axum::response::Response;

/// Whatever an answer is: its type is what it says, and an address of ours is told to nobody.
const ALWAYS: [(HeaderName, HeaderValue); 3] = [
    (header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
    (header::REFERRER_POLICY, HeaderValue::from_static("no-referrer")),
    (HeaderName::from_static("cross-origin-resource-policy"), HeaderValue::from_static("same-origin")),
];
const NO_CONTENT_AT_ALL: HeaderValue = HeaderValue::from_static("default-src 'none'; frame-ancestors 'none'");
/// What has cost money, or is somebody's alone, is kept by nothing on its way.
const NO_STORE: HeaderValue = HeaderValue::from_static("no-store");

/// What a browser may do with an answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Policy {
    /// Nothing: it is for programs.
    #[default]
    Api,
    /// Show it, within these bounds.
    Page {
        /// What the page may load and do: a `Content-Security-Policy`, which should begin with `default-src 'none'` and
        /// end with `frame-ancestors 'none'`.
        content_security: HeaderValue,
        /// How long it may be kept: a `Cache-Control`.
        cache: HeaderValue,
    },
}

impl Policy {
    /// Says that the answers of these routes are under this policy, unless one says another itself.
    pub fn over(self, routes: Router) -> Router {
        routes.layer(map_response(move |mut response: Response| {
            let policy = self.clone();
            async move {
                response.extensions_mut().get_or_insert_with(|| policy);
                response
            }
        }))
    }

    /// Says that this answer is under this policy.
    pub fn on(self, mut response: Response) -> Response {
        response.extensions_mut().insert(self);
        response
    }

    fn headers(self) -> impl Iterator<Item = (HeaderName, HeaderValue)> {
        let (content_security, cache) = match self {
            Self::Api => (NO_CONTENT_AT_ALL, NO_STORE),
            Self::Page { content_security, cache } => (content_security, cache),
        };
        let own = [(header::CONTENT_SECURITY_POLICY, content_security), (header::CACHE_CONTROL, cache)];
        ALWAYS.into_iter().chain(own)
    }
}

/// Adds what the policy of an answer says, in place of what its route said.
pub(super) async fn add(mut response: Response) -> Response {
    let policy = response.extensions_mut().remove::<Policy>().unwrap_or_default();
    response.headers_mut().extend(policy.headers());
    response
}
