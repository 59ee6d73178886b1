//! HTTP for all doors: a listener, and what stands between a stranger and the routes behind it.
//!
//! ```text
//! connection → policy → head → guard → access → rate → intake → flight → doors
//!  bounded     of the   bytes  host,   who      per    method,  bounded
//!  in number,  answer          origin  asks     token  type,
//!  time                                                body
//! ```
//!
//! What always holds: nothing reaches a route, not even one that is not there, before its host and origin were found
//! ours and its token known (who issues tokens is told without one); a route finds who asks in the request's extensions; every wait and every size has a bound.
//! The listener knows no protocol: what is served, and how browsers may treat it, is said by its doors.

mod access;
mod body;
mod connection;
mod connections;
mod cors;
mod door;
pub mod early;
mod exposure;
pub mod failure;
mod flight;
mod guard;
mod head;
mod intake;
mod limits;
mod linger;
pub mod message;
mod policy;
mod rate;
mod refusal;
mod resource;
mod share;
mod stall;
pub mod status;
mod tls;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::middleware::from_fn_with_state;
use axum::response::Response;
use parallel_llm_engine::value::next::{Advice, Next};
use parallel_llm_engine::{Code, Failure};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;

pub use access::{Access, Check};
pub use door::Door;
pub use limits::Limits;
pub use policy::Policy;
pub use resource::Resource;
pub use tls::TlsFiles;

use access::Gate;
use cors::Cors;
use flight::Flight;
use guard::{Guard, Names};
use intake::Intake;
use status::Fault;

/// How a server is to listen.
#[derive(Clone, Debug)]
pub struct Config {
    /// Where. Port 0 takes a free one.
    pub address: SocketAddr,
    /// Who may ask.
    pub access: Access,
    /// Names that clients call the server by besides its own address: `name`, at any port, or `name:port`.
    pub hosts: Vec<String>,
    /// Origins that may ask besides its own, such as `https://llm.example.com`.
    pub origins: Vec<String>,
    /// The certificate, where it speaks https itself.
    pub tls: Option<TlsFiles>,
    /// Whether a proxy before it speaks https.
    pub behind_proxy: bool,
    /// What an issuer's tokens are for, where some are taken.
    pub resource: Option<Resource>,
    /// How much is taken on.
    pub limits: Limits,
}

impl Config {
    /// A server without TLS, that is called by its own address only.
    pub fn new(address: SocketAddr, access: Access) -> Self {
        let (hosts, origins) = (Vec::new(), Vec::new());
        Self {
            address,
            access,
            hosts,
            origins,
            tls: None,
            behind_proxy: false,
            resource: None,
            limits: Limits::default(),
        }
    }
}

/// Where a server listens, before it serves.
pub struct Listener {
    socket: TcpListener,
    address: SocketAddr,
    acceptor: Option<TlsAcceptor>,
    config: Config,
    names: Names,
}

/// Begins to listen. An address that other machines reach is refused unless tokens are asked for and kept secret on the
/// way.
pub async fn bind(config: Config) -> Result<Listener, Failure> {
    exposure::check(&config)?;
    let acceptor = config.tls.as_ref().map(tls::acceptor).transpose()?;
    let address = config.address;
    let unusable = |error: std::io::Error| {
        Failure::new(Code::SettingsInvalid, format!("the server cannot listen on {address}: {error}"))
            .with_next(Advice::UseAnotherPort)
    };
    let listener = TcpListener::bind(address).await.map_err(unusable)?;
    let address = listener.local_addr().map_err(unusable)?;
    let names = Names::new(address, &config)?;
    if let Some(risk) = exposure::risk(&config) {
        tracing::warn!("{risk}");
    }
    Ok(Listener { socket: listener, address, acceptor, config, names })
}

impl Listener {
    /// Where it listens.
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// What the addresses begin with by which it can be called, such as `http://127.0.0.1:8930`: never empty, and never
    /// that of all addresses, which is nobody's name.
    pub fn urls(&self) -> Vec<String> {
        let scheme = if self.acceptor.is_some() { "https" } else { "http" };
        let own = (!self.address.ip().is_unspecified()).then(|| format!("{scheme}://{}", self.address));
        own.into_iter().chain(self.names.urls().iter().cloned()).collect()
    }

    /// Serves these doors until `stop`. Posts under way are answered for `drain` longer; then, or once there are none,
    /// other answers end, streams included.
    pub async fn serve(self, doors: Vec<Door>, stop: CancellationToken, drain: Duration) {
        let flight = Flight::new(self.config.limits.requests_max);
        let guard = Guard { names: self.names, cors: Cors::new(&doors) };
        let (routes, paths) = Door::all(doors);
        let routes = routes
            .fallback(async move || nothing(&paths))
            .layer(from_fn_with_state(flight.clone(), flight::admit))
            .layer(from_fn_with_state(Arc::new(Intake::new(self.config.limits)), intake::read))
            .layer(from_fn_with_state(
                Arc::new(Gate::new(self.config.access, self.config.resource)),
                access::check,
            ))
            .layer(from_fn_with_state(Arc::new(guard), guard::check))
            .layer(from_fn_with_state(self.config.limits.head_bytes_max, head::check))
            .layer(axum::middleware::map_response(policy::add));
        let serving = connection::Serving { acceptor: self.acceptor, limits: self.config.limits, routes };
        let mut connections = serving.accept(self.socket, &stop).await;
        flight.land(drain).await;
        connection::end(&mut connections).await;
    }
}

/// The answer at a path that no door has.
fn nothing(paths: &[&str]) -> Response {
    let failure = Failure::new(Code::Usage, "there is nothing at this path");
    let failure = match paths {
        [] => failure,
        paths => failure.with_next(Next::choose_one(paths)),
    };
    failure::refusal(Fault::NotFound, &failure)
}
