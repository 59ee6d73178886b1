//! Accepts connections and serves HTTP/1.1 on each, with or without TLS.
//!
//! A connection is accepted before there is room for it: only then is it known that a client needs one.
//!
//! Every connection is a task of one set, so that all end with the server.

use std::convert::Infallible;
use std::io;
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::http::{Request, Response};
use hyper::body::Incoming;
use hyper::server::conn::http1::Builder;
use hyper::service::Service;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;

use super::body::Held;
use super::connections::{Connection, Connections};
use super::limits::Limits;
use super::linger::{Lingering, Refused};
use super::stall::Stalling;

/// The most headers of a request.
const HEADERS_MAX: usize = 100;
/// The longest TLS handshake.
const HANDSHAKE_MAX: Duration = Duration::from_secs(10);
/// The pause after a failed `accept`, which fails when descriptors run out.
const ACCEPT_PAUSE: Duration = Duration::from_millis(10);
/// The time clients have to read the last bytes at the end of the server.
const FLUSH_MAX: Duration = Duration::from_secs(1);

/// The state shared by all connections.
#[derive(Clone)]
pub(super) struct Serving {
    pub(super) acceptor: Option<TlsAcceptor>,
    pub(super) limits: Limits,
    pub(super) routes: Router,
}

impl Serving {
    /// The same for fewer connections.
    pub(super) fn of_at_most(self, connections_max: usize) -> Self {
        Self { limits: Limits { connections_max, ..self.limits }, ..self }
    }

    /// Serves until `stop`, then returns the open connections, which take no further request.
    pub(super) async fn accept(self, listener: &TcpListener, stop: &CancellationToken) -> JoinSet<()> {
        let all = Connections::new(self.limits.connections_max);
        let mut tasks = JoinSet::new();
        let next = async || {
            let (stream, peer) = accept(listener).await;
            (stream, all.admit(peer).await)
        };
        while let Some((stream, connection)) = stop.run_until_cancelled(next()).await {
            while tasks.try_join_next().is_some() {}
            let (serving, stop) = (self.clone(), stop.clone());
            let connection = Arc::new(connection);
            tasks.spawn(async move {
                let served = tokio::select! {
                    served = serving.connection(stream, Arc::clone(&connection), stop) => served,
                    // It is evicted for another connection.
                    () = connection.evicted() => Ok(()),
                };
                if let Err(error) = served {
                    tracing::debug!("a connection broke: {error}");
                }
            });
        }
        tasks
    }

    async fn connection(
        self,
        stream: TcpStream,
        connection: Arc<Connection>,
        stop: CancellationToken,
    ) -> io::Result<()> {
        stream.set_nodelay(true)?;
        match self.acceptor.clone() {
            Some(acceptor) => {
                let stream = timeout(HANDSHAKE_MAX, acceptor.accept(stream)).await??;
                self.serve(stream, connection, stop).await
            }
            None => self.serve(stream, connection, stop).await,
        }
    }

    async fn serve<T>(self, stream: T, connection: Arc<Connection>, stop: CancellationToken) -> io::Result<()>
    where
        T: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let refused = Refused::default();
        let stream = Lingering::new(Stalling::new(stream, self.limits.stall_max), refused.clone());
        let routes = TrackedRoutes { routes: TowerToHyperService::new(self.routes), connection, refused };
        let talking = Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(self.limits.head_max)
            .max_headers(HEADERS_MAX)
            .max_buf_size(self.limits.head_bytes_max)
            .serve_connection(TokioIo::new(stream), routes);
        let mut talking = std::pin::pin!(talking);
        tokio::select! {
            served = &mut talking => return served.map_err(io::Error::other),
            () = stop.cancelled() => talking.as_mut().graceful_shutdown(),
        }
        talking.await.map_err(io::Error::other)
    }
}

/// The next connection and its peer.
async fn accept(listener: &TcpListener) -> (TcpStream, IpAddr) {
    loop {
        match listener.accept().await {
            Ok((stream, peer)) => return (stream, peer.ip().to_canonical()),
            Err(_) => sleep(ACCEPT_PAUSE).await,
        }
    }
}

/// The routes of one connection, which tracks its use.
struct TrackedRoutes {
    routes: TowerToHyperService<Router>,
    connection: Arc<Connection>,
    refused: Refused,
}

impl Service<Request<Incoming>> for TrackedRoutes {
    type Response = Response<axum::body::Body>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Infallible>> + Send>>;

    fn call(&self, request: Request<Incoming>) -> Self::Future {
        let (busy, refused) = (self.connection.busy(), self.refused.clone());
        let answering = self.routes.call(request);
        Box::pin(async move {
            let response = answering.await?;
            let status = response.status();
            // The body of an accepted request has been read to its end, that of a refused one may not.
            refused.set(status.is_client_error() || status.is_server_error());
            Ok(response.map(|body| Held::wrap(body, busy, CancellationToken::new())))
        })
    }
}

/// Waits up to [`FLUSH_MAX`] for pending writes, then closes all connections.
pub(super) async fn end(connections: &mut JoinSet<()>) {
    let _ = timeout(FLUSH_MAX, async { while connections.join_next().await.is_some() {} }).await;
    connections.shutdown().await;
}
