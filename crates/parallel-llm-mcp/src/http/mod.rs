//! The HTTP door: a listener, and what stands between a stranger and the routes behind it.
//!
//! What always holds: a request passes the guard (host, origin) before anything else looks at it, and carries who asks
//! when it reaches a route.

mod guard;

use std::net::SocketAddr;
use std::time::Duration;

use axum::Router;
use parallel_llm_engine::{Code, Failure};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::service::Asker;

/// Where a server listens, before it serves.
#[derive(Debug)]
pub struct Listener {
    listener: TcpListener,
    address: SocketAddr,
}

/// Begins to listen. Port 0 takes a free one.
pub async fn bind(address: SocketAddr) -> Result<Listener, Failure> {
    if !address.ip().is_loopback() {
        let message = format!("`{address}` can be reached from other machines");
        return Err(Failure::new(Code::SettingsInvalid, message).with_next("listen on 127.0.0.1"));
    }
    let unusable = |error: std::io::Error| {
        Failure::new(Code::SettingsInvalid, format!("the server cannot listen on {address}: {error}"))
            .with_next("choose another port, or end the program that has this one")
    };
    let listener = TcpListener::bind(address).await.map_err(unusable)?;
    let address = listener.local_addr().map_err(unusable)?;
    Ok(Listener { listener, address })
}

impl Listener {
    /// Where it listens.
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves these routes until `stop`, and requests under way for `drain` longer.
    pub async fn serve(self, routes: Router, stop: CancellationToken, drain: Duration) {
        let routes = routes
            .layer(axum::Extension(Asker::Owner))
            .layer(axum::middleware::from_fn_with_state(self.address, guard::check));
        let serving = axum::serve(self.listener, routes)
            .with_graceful_shutdown({
                let stop = stop.clone();
                async move { stop.cancelled().await }
            })
            .into_future();
        let over = async {
            stop.cancelled().await;
            tokio::time::sleep(drain).await;
        };
        tokio::select! {
            served = serving => if let Err(error) = served {
                tracing::error!("the server stopped: {error}");
            },
            () = over => {}
        }
    }
}
