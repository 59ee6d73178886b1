//! [`Door`]: the routes of a protocol, and its requirements on the listener.

use axum::Router;
use axum::http::HeaderName;

/// One protocol over HTTP.
#[derive(Clone, Debug)]
pub struct Door {
    /// The name of the protocol.
    pub name: &'static str,
    /// The routes. Each answer sets its own [`Policy`](super::Policy).
    pub routes: Router,
    /// The path to suggest to clients that use a missing one.
    pub path: Option<&'static str>,
    /// Headers of the protocol that a page of a listed origin may send.
    pub page_sends: Vec<HeaderName>,
    /// Headers of the protocol that such a page may read.
    pub page_reads: Vec<HeaderName>,
}

/// Routes without a protocol of their own.
impl From<Router> for Door {
    fn from(routes: Router) -> Self {
        Self { name: "HTTP", routes, path: None, page_sends: Vec::new(), page_reads: Vec::new() }
    }
}

impl Door {
    /// The routes and paths of several doors.
    pub(super) fn all(doors: Vec<Self>) -> (Router, Vec<&'static str>) {
        let paths = doors.iter().filter_map(|door| door.path).collect();
        let routes = doors.into_iter().fold(Router::new(), |all, door| all.merge(door.routes));
        (routes, paths)
    }
}
