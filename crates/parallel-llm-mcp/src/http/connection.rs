//! Accepts connections and serves HTTP/1.1 on each, with or without TLS, within bounds.
//!
//! Every connection is a task of one set, so that the end of the server is the end of them all.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1::Builder;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;

use super::limits::Limits;
use super::stall::Stalling;

/// Headers of one request.
const HEADERS_MAX: usize = 100;
/// How long a TLS handshake may take.
const HANDSHAKE_MAX: Duration = Duration::from_secs(10);
/// Pause after a failed `accept`: it fails when descriptors run out, and only time helps.
const ACCEPT_PAUSE: Duration = Duration::from_millis(10);
/// How long clients may take to read the last of what was written to them.
const FLUSH_MAX: Duration = Duration::from_secs(1);

/// What all connections share.
#[derive(Clone)]
pub(super) struct Serving {
    pub(super) acceptor: Option<TlsAcceptor>,
    pub(super) limits: Limits,
    pub(super) routes: Router,
}

impl Serving {
    /// Serves until `stop`, and then gives the connections that are left; they take no further request.
    pub(super) async fn accept(self, listener: TcpListener, stop: &CancellationToken) -> JoinSet<()> {
        let places = Arc::new(Semaphore::new(self.limits.connections_max));
        let mut connections = JoinSet::new();
        let next = async || {
            let place = Arc::clone(&places).acquire_owned().await.expect("the semaphore is never closed");
            loop {
                match listener.accept().await {
                    Ok((stream, _)) => return (place, stream),
                    Err(_) => sleep(ACCEPT_PAUSE).await,
                }
            }
        };
        while let Some((place, stream)) = stop.run_until_cancelled(next()).await {
            while connections.try_join_next().is_some() {}
            let (serving, stop) = (self.clone(), stop.clone());
            connections.spawn(async move {
                let _place = place;
                if let Err(error) = serving.connection(stream, stop).await {
                    tracing::debug!("a connection broke: {error}");
                }
            });
        }
        connections
    }

    async fn connection(self, stream: TcpStream, stop: CancellationToken) -> io::Result<()> {
        stream.set_nodelay(true)?;
        match self.acceptor.clone() {
            Some(acceptor) => {
                let stream = timeout(HANDSHAKE_MAX, acceptor.accept(stream)).await??;
                self.talk(stream, stop).await
            }
            None => self.talk(stream, stop).await,
        }
    }

    async fn talk<T>(self, stream: T, stop: CancellationToken) -> io::Result<()>
    where
        T: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let socket = TokioIo::new(Stalling::new(stream, self.limits.stall_max));
        let connection = Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(self.limits.head_max)
            .max_headers(HEADERS_MAX)
            .max_buf_size(self.limits.head_bytes_max)
            .serve_connection(socket, TowerToHyperService::new(self.routes));
        let mut connection = std::pin::pin!(connection);
        tokio::select! {
            served = &mut connection => return served.map_err(io::Error::other),
            () = stop.cancelled() => connection.as_mut().graceful_shutdown(),
        }
        connection.await.map_err(io::Error::other)
    }
}

/// Waits a little for what is written, and closes all connections.
pub(super) async fn end(connections: &mut JoinSet<()>) {
    let _ = timeout(FLUSH_MAX, async { while connections.join_next().await.is_some() {} }).await;
    connections.shutdown().await;
}
