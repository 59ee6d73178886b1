//! [`Door`]: the routes of a protocol, and its requirements on the listener.

use axum::Router;
use axum::http::HeaderName;
use parallel_llm_engine::Failure;

/// One protocol over HTTP.
#[derive(Clone, Debug)]
pub struct Door {
    /// The name of the protocol.
    pub name: &'static str,
    /// The routes. Each answer sets its own [`Policy`](crate::Policy).
    pub routes: Router,
    /// The path to suggest to clients that use a missing one. The paths below it belong to the door, too, as far as
    /// no other door's path is nearer.
    pub path: Option<&'static str>,
    /// Further paths of the door, to which no client is sent.
    pub beside: Vec<&'static str>,
    /// Whether its paths are served while the server is stopping.
    pub stays: bool,
    /// Paths that are served to everyone: exact ones, or folders with a `/` at the end. A request to one of them has a
    /// principal only if it brings a valid token or session.
    pub open_paths: Vec<&'static str>,
    /// The page where a browser signs in, which is open. Sessions count only at the paths of a door that has one, and a
    /// browser without a session is sent there, with the path and query that it asked for as `to`.
    pub sign_in: Option<&'static str>,
    /// Whether posts may be forms, beside JSON.
    pub forms: bool,
    /// Paths whose forms reach their route without a principal when a browser's session has ended, so that what a person
    /// has typed is not lost. The route asks the browser to sign in, and does nothing else.
    pub kept_forms: Vec<&'static str>,
    /// Whether its clients send a key even where none is wanted. A server that admits everyone ignores one that cannot be a
    /// token.
    pub foreign_keys: bool,
    /// The body of a refusal at its paths, if the protocol has a shape of its own for it; the status stays as it is.
    pub refusal: Option<fn(&Failure) -> String>,
    /// Headers of the protocol that a page of a listed origin may send.
    pub page_sends: Vec<HeaderName>,
    /// Headers of the protocol that such a page may read.
    pub page_reads: Vec<HeaderName>,
}

/// Routes without a protocol of their own.
impl From<Router> for Door {
    fn from(routes: Router) -> Self {
        Self {
            name: "HTTP",
            routes,
            path: None,
            beside: Vec::new(),
            stays: false,
            open_paths: Vec::new(),
            sign_in: None,
            forms: false,
            kept_forms: Vec::new(),
            foreign_keys: false,
            refusal: None,
            page_sends: Vec::new(),
            page_reads: Vec::new(),
        }
    }
}

impl Door {
    /// The routes and paths of several doors.
    pub(crate) fn all(doors: Vec<Self>) -> (Router, Vec<&'static str>) {
        let paths = doors.iter().filter_map(|door| door.path).collect();
        let routes = doors.into_iter().fold(Router::new(), |all, door| all.merge(door.routes));
        (routes, paths)
    }
}
