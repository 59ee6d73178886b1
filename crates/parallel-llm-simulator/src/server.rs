//! Accepts connections and serves HTTP/1.1 on each, within bounds. What is answered is left to `route`.
//!
//! Every connection is a task of the listener's own set, so stopping the listener closes them all.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::sleep;

use crate::account::Account;
use crate::route;
use crate::socket::{Socket, Wire};

/// Longest head of a request, and the most that is written ahead of a slow client.
const BUFFER_BYTES_MAX: usize = 256 * 1024;

/// Headers of one request.
const HEADERS_MAX: usize = 100;

/// How long a connection may stay silent between requests. Clients keep idle connections for about 90 s.
const IDLE_MAX: Duration = Duration::from_secs(600);

/// Pause after a failed `accept`: it fails when descriptors run out, and only time helps.
const ACCEPT_PAUSE: Duration = Duration::from_millis(10);

/// Which of the two listeners this is.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Role {
    /// The pretend OpenRouter.
    Door,
    /// The target of `redirect_307`.
    Trap,
}

/// Serves until it is dropped.
pub(crate) async fn serve(listener: TcpListener, account: Arc<Account>, role: Role) {
    let places = Arc::new(Semaphore::new(account.config.connections_max));
    let mut connections = JoinSet::new();
    loop {
        let place = Arc::clone(&places).acquire_owned().await.expect("the semaphore is never closed");
        let Ok((stream, _)) = listener.accept().await else {
            sleep(ACCEPT_PAUSE).await;
            continue;
        };
        while connections.try_join_next().is_some() {}
        let account = Arc::clone(&account);
        connections.spawn(async move {
            let _place = place;
            // A connection that breaks is what many scripts ask for; the log says how each request ended.
            let _ended = connection(stream, account, role).await;
        });
    }
}

async fn connection(stream: TcpStream, account: Arc<Account>, role: Role) -> io::Result<()> {
    stream.set_nodelay(true)?;
    if matches!(role, Role::Door) {
        account.log().stats.connections += 1;
    }
    let wire = Arc::new(Wire::new());
    let socket = TokioIo::new(Socket::new(stream, Arc::clone(&wire)));
    let service = service_fn(|request| {
        let (account, wire) = (Arc::clone(&account), Arc::clone(&wire));
        async move {
            match role {
                Role::Door => route::answer(account, wire, request).await,
                Role::Trap => route::trap(account, wire, request).await,
            }
        }
    });
    let mut http = http1::Builder::new();
    http.title_case_headers(true)
        .max_buf_size(BUFFER_BYTES_MAX)
        .max_headers(HEADERS_MAX)
        .timer(TokioTimer::new())
        .header_read_timeout(IDLE_MAX);
    http.serve_connection(socket, service).await.map_err(io::Error::other)
}
