//! Who may ask at all: requests that name this server as their host, and come from no page of another origin.

use std::net::SocketAddr;

use axum::extract::{Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

/// Lets a request pass, or refuses it.
pub(super) async fn check(State(address): State<SocketAddr>, request: Request, next: Next) -> Response {
    if is_ours(request.headers(), address) {
        next.run(request).await
    } else {
        (StatusCode::FORBIDDEN, "this host or origin is not served here\n").into_response()
    }
}

/// Whether the host is this server's, and the origin, where there is one, too.
fn is_ours(headers: &HeaderMap, address: SocketAddr) -> bool {
    let names = [
        format!("127.0.0.1:{}", address.port()),
        format!("localhost:{}", address.port()),
        format!("[::1]:{}", address.port()),
    ];
    let says = |name, expected: &dyn Fn(&str) -> bool| {
        headers.get_all(name).iter().all(|value| value.to_str().is_ok_and(expected))
    };
    let hosts = headers.get_all(header::HOST).iter().count();
    hosts == 1
        && says(header::HOST, &|host| names.iter().any(|name| name.eq_ignore_ascii_case(host)))
        && says(header::ORIGIN, &|origin| names.iter().any(|name| origin == format!("http://{name}")))
}
