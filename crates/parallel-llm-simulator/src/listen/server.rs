//! Accepts connections and serves HTTP/1.1 and HTTP/2 on them, with or without TLS, within bounds.
//!
//! `route` decides the replies. Every connection is a task in the listener's task set, and every HTTP/2 stream a task
//! in its connection's, so that dropping the listener ends them all.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use hyper::rt::Executor;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use parking_lot::Mutex;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use tokio_rustls::TlsAcceptor;

use super::route;
use super::socket::{Socket, Transport, Wire};
use crate::behaviour::config::HttpVersions;
use crate::state::account::Account;

/// Longest head of a request on HTTP/1.1, and the most bytes buffered for a slow client on both versions.
const BUFFER_BYTES_MAX: usize = 256 * 1024;

/// Most headers in one request on HTTP/1.1.
const HEADERS_MAX: usize = 100;

/// Longest header list of one request on HTTP/2, uncompressed, including the protocol's 32 bytes per header.
const HEADER_LIST_BYTES_MAX: u32 = 64 * 1024;

/// Most concurrent requests on one HTTP/2 connection. Public servers allow 100 to 256.
const STREAMS_MAX: u32 = 256;

/// Most streams that a client may reset before they are accepted; more close the connection, since a flood of resets is
/// an attack.
const STREAMS_RESET_MAX: usize = 64;

/// Longest silence on a connection: before its first request and, on HTTP/1.1, between two. Clients keep idle
/// connections for about 90 s. On HTTP/2 it is the interval between pings.
const IDLE_MAX: Duration = Duration::from_secs(600);

/// Longest wait for the reply to an HTTP/2 ping.
const PING_MAX: Duration = Duration::from_secs(20);

/// Longest TLS handshake.
const HANDSHAKE_MAX: Duration = Duration::from_secs(10);

/// Pause after a failed `accept`: it fails when descriptors run out, and only time helps.
const ACCEPT_PAUSE: Duration = Duration::from_millis(10);

/// Which of the two listeners this is.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Role {
    /// The simulated providers.
    Api,
    /// The target of `redirect_307`.
    RedirectTarget,
}

/// The state that all connections of one listener share.
#[derive(Clone)]
pub(crate) struct Server {
    pub(crate) account: Arc<Account>,
    pub(crate) role: Role,
    /// `None`: no TLS.
    pub(crate) acceptor: Option<TlsAcceptor>,
    pub(crate) http: HttpVersions,
}

impl Server {
    /// Serves until the future is dropped.
    pub(crate) async fn serve(self, listener: TcpListener) {
        let slots = Arc::new(Semaphore::new(self.account.config.connections_max));
        let mut connections = JoinSet::new();
        loop {
            let slot = Arc::clone(&slots).acquire_owned().await.expect("the semaphore is never closed");
            let Ok((stream, _)) = listener.accept().await else {
                sleep(ACCEPT_PAUSE).await;
                continue;
            };
            while connections.try_join_next().is_some() {}
            let server = self.clone();
            connections.spawn(async move {
                let _slot = slot;
                // Many scripts break the connection on purpose; the log records how each request ended.
                let _ended = server.connection(stream).await;
            });
        }
    }

    async fn connection(self, stream: TcpStream) -> io::Result<()> {
        stream.set_nodelay(true)?;
        if matches!(self.role, Role::Api) {
            self.account.log().stats.connections += 1;
        }
        let stream: Box<dyn Transport> = match &self.acceptor {
            Some(acceptor) => Box::new(timeout(HANDSHAKE_MAX, acceptor.accept(stream)).await??),
            None => Box::new(stream),
        };
        let wire = Arc::new(Wire::new());
        let socket = TokioIo::new(Socket::new(stream, Arc::clone(&wire)));
        let service = service_fn(|request| {
            wire.note_request(request.version());
            let (account, wire, role) = (Arc::clone(&self.account), Arc::clone(&wire), self.role);
            async move {
                match role {
                    Role::Api => route::answer(account, wire, request).await,
                    Role::RedirectTarget => route::redirect_target(account, wire, request).await,
                }
            }
        });
        let http = self.builder();
        tokio::select! {
            served = http.serve_connection(socket, service) => served.map_err(io::Error::other),
            () = wire.closed(IDLE_MAX) => Ok(()),
        }
    }

    fn builder(&self) -> Builder<Streams> {
        let mut http = Builder::new(Streams::default());
        http.http1()
            .title_case_headers(true)
            .max_buf_size(BUFFER_BYTES_MAX)
            .max_headers(HEADERS_MAX)
            .timer(TokioTimer::new())
            .header_read_timeout(IDLE_MAX);
        http.http2()
            .max_concurrent_streams(STREAMS_MAX)
            .max_pending_accept_reset_streams(STREAMS_RESET_MAX)
            .max_header_list_size(HEADER_LIST_BYTES_MAX)
            .max_send_buf_size(BUFFER_BYTES_MAX)
            .timer(TokioTimer::new())
            .keep_alive_interval(IDLE_MAX)
            .keep_alive_timeout(PING_MAX);
        match self.http {
            HttpVersions::Both => http,
            HttpVersions::Only1 => http.http1_only(),
            HttpVersions::Only2 => http.http2_only(),
        }
    }
}

/// The tasks of one HTTP/2 connection's streams, at most [`STREAMS_MAX`]; they end with the connection.
#[derive(Clone, Debug, Default)]
struct Streams(Arc<Mutex<JoinSet<()>>>);

impl<F: Future<Output = ()> + Send + 'static> Executor<F> for Streams {
    fn execute(&self, stream: F) {
        let mut streams = self.0.lock();
        while streams.try_join_next().is_some() {}
        streams.spawn(stream);
    }
}
