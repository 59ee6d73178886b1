//! Accepts connections and serves HTTP/1.1 and HTTP/2 on each, within bounds, with or without TLS. What is answered is
//! left to `route`.
//!
//! Every connection is a task of the listener's own set, and every HTTP/2 stream one of its connection's, so stopping
//! the listener ends them all.

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

use crate::account::Account;
use crate::config::HttpVersions;
use crate::route;
use crate::socket::{Socket, Transport, Wire};

/// Longest head of a request on HTTP/1.1, and on both the most that is written ahead of a slow client.
const BUFFER_BYTES_MAX: usize = 256 * 1024;

/// Headers of one request on HTTP/1.1.
const HEADERS_MAX: usize = 100;

/// Headers of one request on HTTP/2, uncompressed, with the 32 bytes that the protocol adds to each.
const HEADER_LIST_BYTES_MAX: u32 = 64 * 1024;

/// Requests at once on one HTTP/2 connection; a client waits with more, or opens another. Public servers allow from 100
/// to 256.
const STREAMS_MAX: u32 = 256;

/// Streams the client opened and reset before they were looked at; more end the connection, as a flood of resets does.
const STREAMS_RESET_MAX: usize = 64;

/// How long a connection may stay silent: before its first request, and on HTTP/1.1 between two. Clients keep idle
/// connections for about 90 s. On HTTP/2 it is how often the client is asked whether it is still there.
const IDLE_MAX: Duration = Duration::from_secs(600);

/// How long a client may take to say on HTTP/2 that it is still there.
const PING_MAX: Duration = Duration::from_secs(20);

/// How long a TLS handshake may take.
const HANDSHAKE_MAX: Duration = Duration::from_secs(10);

/// Pause after a failed `accept`: it fails when descriptors run out, and only time helps.
const ACCEPT_PAUSE: Duration = Duration::from_millis(10);

/// Which of the two listeners this is.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Role {
    /// The pretend OpenRouter.
    Api,
    /// The target of `redirect_307`.
    RedirectTarget,
}

/// What all connections of one listener share.
#[derive(Clone)]
pub(crate) struct Server {
    pub(crate) account: Arc<Account>,
    pub(crate) role: Role,
    /// `None`: no TLS.
    pub(crate) acceptor: Option<TlsAcceptor>,
    pub(crate) http: HttpVersions,
}

impl Server {
    /// Serves until it is dropped.
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
                // A connection that breaks is what many scripts ask for; the log says how each request ended.
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
            wire.speaks(request.version());
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
            () = wire.over(IDLE_MAX) => Ok(()),
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

/// Runs the streams of one HTTP/2 connection, at most [`STREAMS_MAX`]; they end with the connection.
#[derive(Clone, Debug, Default)]
struct Streams(Arc<Mutex<JoinSet<()>>>);

impl<F: Future<Output = ()> + Send + 'static> Executor<F> for Streams {
    fn execute(&self, stream: F) {
        let mut streams = self.0.lock();
        while streams.try_join_next().is_some() {}
        streams.spawn(stream);
    }
}
