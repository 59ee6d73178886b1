//! HTTP for all doors: a listener, and the checks between strangers and the routes.
//!
//! ```text
//! connection → count → policy → head → guard → access → rate → intake → flight → doors
//!  bounded              of the   bytes  host,   who      per    method,  bounded
//!  in number,           answer          origin  asks     token  type,
//!  time                                                         body
//! ```
//!
//! Invariants: no request reaches a route, not even a missing one, before its host and origin are accepted and
//! its token or session is known (the description of the issuer and a door's open paths need none); a route finds the
//! principal in the request's extensions; every wait and every size has a bound. The listener knows no protocol: doors
//! define what is served and how browsers may treat it.

mod answer;
mod caller;
mod checks;
mod count;
mod doors;
mod guard;
mod head;
mod listen;
mod load;
mod trace;
pub mod via;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::middleware::from_fn_with_state;
use axum::response::Response;
use parallel_llm_engine::value::next::{Advice, Next};
use parallel_llm_engine::{Code, Failure};
use parallel_llm_service::telemetry::Meter;
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;

pub use answer::{early, failure, status};
pub use caller::access::{Access, Unchecked};
pub use caller::check::Check;
pub use caller::resource::Resource;
pub use caller::sessions::{SessionId, Sessions, SignedIn};
pub use doors::door::Door;
pub use doors::policy::Policy;
pub use listen::tls::TlsFiles;
pub use load::limits::Limits;
pub use load::message;
pub use trace::trace_of;

use answer::status::Fault;
use caller::access::Gate;
use caller::cookie::Cookie;
use checks::Checks;
use doors::cors::Cors;
use doors::paths::Paths;
use guard::{Guard, Names};
use load::flight::Flight;
use load::intake::Intake;
use load::stopping::Stopping;

/// The configuration of a server.
#[derive(Clone, Debug)]
pub struct Config {
    /// The address. Port 0 takes a free one.
    pub address: SocketAddr,
    /// Whom the server admits.
    pub access: Access,
    /// Host names beside the server's own address: `name`, at any port, or `name:port`.
    pub hosts: Vec<String>,
    /// Admitted origins beside its own, such as `https://llm.example.com`.
    pub origins: Vec<String>,
    /// The certificate, if it speaks https itself.
    pub tls: Option<TlsFiles>,
    /// Whether a proxy in front of it speaks https.
    pub behind_proxy: bool,
    /// The resource of an issuer's tokens, if they are accepted.
    pub resource: Option<Resource>,
    /// The sessions of browsers, if there are any. They count only if tokens are required.
    pub sessions: Option<Sessions>,
    /// Counts what is answered.
    pub meter: Option<Meter>,
    /// The limits.
    pub limits: Limits,
}

impl Config {
    /// A server without TLS and without other names than its own address.
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
            sessions: None,
            meter: None,
            limits: Limits::default(),
        }
    }
}

/// A bound server that does not serve yet.
pub struct Listener {
    socket: TcpListener,
    address: SocketAddr,
    acceptor: Option<TlsAcceptor>,
    config: Config,
    names: Names,
}

/// Binds the address. An address that other machines can reach is refused unless tokens are required and encrypted.
pub async fn bind(config: Config) -> Result<Listener, Failure> {
    listen::exposure::check(&config)?;
    let acceptor = config.tls.as_ref().map(listen::tls::acceptor).transpose()?;
    let address = config.address;
    let unusable = |error: std::io::Error| {
        Failure::new(Code::SettingsInvalid, format!("the server cannot listen on {address}: {error}"))
            .with_next(Advice::UseAnotherPort)
    };
    let listener = TcpListener::bind(address).await.map_err(unusable)?;
    let address = listener.local_addr().map_err(unusable)?;
    let names = Names::new(address, &config)?;
    if let Some(sessions) = &config.sessions {
        let (Access::Open(check) | Access::Tokens(check)) = &config.access;
        let is_secure = config.tls.is_some() || config.behind_proxy;
        sessions.begin(Cookie::new(address, is_secure), Arc::clone(check))?;
    }
    if let Some(risk) = listen::exposure::risk(&config) {
        tracing::warn!("{risk}");
    }
    Ok(Listener { socket: listener, address, acceptor, config, names })
}

impl Listener {
    /// The bound address.
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// The base URLs of the server, such as `http://127.0.0.1:8930`: never empty, and never the unspecified address,
    /// which no client can call.
    pub fn urls(&self) -> Vec<String> {
        let scheme = if self.acceptor.is_some() { "https" } else { "http" };
        let own = (!self.address.ip().is_unspecified()).then(|| format!("{scheme}://{}", self.address));
        own.into_iter().chain(self.names.urls().iter().cloned()).collect()
    }

    /// Serves these doors until `stop`. Posts in flight are answered for up to `drain` longer, while new requests are turned
    /// away with a reason; then all other answers end, streams included.
    pub async fn serve(self, doors: Vec<Door>, stop: CancellationToken, drain: Duration) {
        let limits = self.config.limits;
        let paths = Arc::new(Paths::new(&doors));
        let linked = matches!(self.config.access, Access::Tokens(_)).then(|| Arc::clone(&paths));
        let flight = Flight::new(limits.requests_max);
        let checks = Checks {
            meter: self.config.meter.clone(),
            paths: Arc::clone(&paths),
            head_bytes_max: limits.head_bytes_max,
            guard: Guard { names: self.names, cors: Cors::new(&doors), linked },
            gate: Gate::new(self.config, Arc::clone(&paths)),
            stopping: Stopping { stop: stop.clone(), paths: Arc::clone(&paths) },
            flight: flight.clone(),
            intake: Intake::new(limits, paths),
        };
        let (routes, suggested) = Door::all(doors);
        let routes = routes
            .fallback(async move || nothing(&suggested))
            .method_not_allowed_fallback(async || no_method())
            .layer(from_fn_with_state(Arc::new(checks), checks::pass));
        let serving = listen::connection::Serving { acceptor: self.acceptor, limits, routes };
        let drained = CancellationToken::new();
        let mut connections = serving.clone().accept(&self.socket, &stop, &drained).await;
        let draining = async {
            flight.drain(drain).await;
            drained.cancel();
        };
        let late =
            serving.of_at_most(load::stopping::CONNECTIONS_MAX).accept(&self.socket, &drained, &drained);
        let (mut late, ()) = tokio::join!(late, draining);
        tokio::join!(listen::connection::end(&mut connections), listen::connection::end(&mut late));
    }
}

/// The answer to a method that the path does not serve. The router adds those that it does.
fn no_method() -> Response {
    let failure = Failure::new(Code::Usage, "this path does not serve this method");
    answer::failure::refusal(Fault::Method, &failure.with_next(Advice::UseAllowedMethod))
}

/// The answer at a path without a route.
fn nothing(paths: &[&str]) -> Response {
    let failure = Failure::new(Code::Usage, "there is nothing at this path");
    let failure = match paths {
        [] => failure,
        paths => failure.with_next(Next::choose_one(paths)),
    };
    answer::failure::refusal(Fault::NotFound, &failure)
}
