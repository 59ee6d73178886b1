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

use super::connections::{Connection, Connections};
use super::linger::{Lingering, Refused};
use super::stall::Stalling;
use crate::load::body::Held;
use crate::load::limits::Limits;

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
pub(crate) struct Serving {
    pub(crate) acceptor: Option<TlsAcceptor>,
    pub(crate) limits: Limits,
    pub(crate) routes: Router,
}

impl Serving {
    /// The same for fewer connections.
    pub(crate) fn of_at_most(self, connections_max: usize) -> Self {
        Self { limits: Limits { connections_max, ..self.limits }, ..self }
    }

    /// Serves until `stop`, then returns the open connections, which take no further request. One without any still takes its first,
    /// until `end`: a client that has just connected learns why it is turned away.
    pub(crate) async fn accept(
        self,
        listener: &TcpListener,
        stop: &CancellationToken,
        end: &CancellationToken,
    ) -> JoinSet<()> {
        let all = Connections::new(self.limits.connections_max);
        let mut tasks = JoinSet::new();
        let next = async || {
            let (stream, peer) = accept(listener).await;
            (stream, all.admit(peer).await)
        };
        while let Some((stream, connection)) = stop.run_until_cancelled(next()).await {
            while tasks.try_join_next().is_some() {}
            let (serving, ending) = (self.clone(), Ending { stop: stop.clone(), end: end.clone() });
            let connection = Arc::new(connection);
            tasks.spawn(async move {
                let served = tokio::select! {
                    served = serving.connection(stream, Arc::clone(&connection), ending) => served,
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
        ending: Ending,
    ) -> io::Result<()> {
        stream.set_nodelay(true)?;
        match self.acceptor.clone() {
            Some(acceptor) => {
                let stream = timeout(HANDSHAKE_MAX, acceptor.accept(stream)).await??;
                self.serve(stream, connection, ending).await
            }
            None => self.serve(stream, connection, ending).await,
        }
    }

    async fn serve<T>(self, stream: T, connection: Arc<Connection>, ending: Ending) -> io::Result<()>
    where
        T: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let refused = Refused::default();
        let stream = Lingering::new(Stalling::new(stream, self.limits.stall_max), refused.clone());
        let asked = CancellationToken::new();
        let routes = TowerToHyperService::new(self.routes);
        let routes = TrackedRoutes { routes, connection, refused, asked: asked.clone() };
        let talking = Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(self.limits.head_max)
            .max_headers(HEADERS_MAX)
            .max_buf_size(self.limits.head_bytes_max)
            .serve_connection(TokioIo::new(stream), routes);
        let mut talking = std::pin::pin!(talking);
        tokio::select! {
            served = &mut talking => return served.map_err(io::Error::other),
            () = ending.reached(&asked) => talking.as_mut().graceful_shutdown(),
        }
        talking.await.map_err(io::Error::other)
    }
}

/// When a connection takes no further request.
struct Ending {
    stop: CancellationToken,
    end: CancellationToken,
}

impl Ending {
    /// Waits until a connection ends whose first request is told by `asked`.
    async fn reached(&self, asked: &CancellationToken) {
        self.stop.cancelled().await;
        self.end.run_until_cancelled(asked.cancelled()).await;
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
    /// Set with its first request.
    asked: CancellationToken,
}

impl Service<Request<Incoming>> for TrackedRoutes {
    type Response = Response<axum::body::Body>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Infallible>> + Send>>;

    fn call(&self, request: Request<Incoming>) -> Self::Future {
        self.asked.cancel();
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
pub(crate) async fn end(connections: &mut JoinSet<()>) {
    let _ = timeout(FLUSH_MAX, async { while connections.join_next().await.is_some() {} }).await;
    connections.shutdown().await;
}
