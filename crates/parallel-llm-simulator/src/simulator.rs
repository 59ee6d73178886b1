//! The handle of a running simulator: start it, read its log, change its scripts, stop it.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use tokio::net::TcpListener;
use tokio::task::JoinSet;

use crate::behaviour::config::{HttpVersions, SimulatorConfig};
use crate::behaviour::script::Script;
use crate::dialect;
use crate::listen::server::{Role, Server};
use crate::listen::tls::{Certificate, Identity};
use crate::state::account::Account;
use crate::state::ledger::LedgerView;
use crate::state::record::{RecordedRequest, Stats};

/// A running simulator. Dropping it closes its listeners and connections.
#[derive(Debug)]
pub struct Simulator {
    address: SocketAddr,
    account: Arc<Account>,
    /// `None`: no TLS.
    certificate: Option<Certificate>,
    listeners: JoinSet<()>,
}

impl Simulator {
    /// Starts listening and answering. Fails if the address is not loopback, the port is taken, or no certificate can
    /// be made.
    pub async fn start(config: SimulatorConfig) -> io::Result<Self> {
        if !config.address.ip().is_loopback() {
            let reason = format!("the simulator listens on loopback only, not on `{}`", config.address);
            return Err(io::Error::new(io::ErrorKind::InvalidInput, reason));
        }
        let listener = TcpListener::bind(config.address).await?;
        let target = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let address = listener.local_addr()?;
        let (http, make) = (config.http, || Identity::make(address.ip(), config.http));
        let identity = config.tls.then(make).transpose()?;
        let (acceptor, certificate) = identity.map(|made| (made.acceptor, made.certificate)).unzip();
        let account = Arc::new(Account::open(config, target.local_addr()?));
        let api_server = Server { account: Arc::clone(&account), role: Role::Api, acceptor, http };
        let target_server = Server {
            role: Role::RedirectTarget,
            acceptor: None,
            http: HttpVersions::Both,
            ..api_server.clone()
        };
        let mut listeners = JoinSet::new();
        listeners.spawn(api_server.serve(listener));
        listeners.spawn(target_server.serve(target));
        Ok(Self { address, account, certificate, listeners })
    }

    /// The address it listens on.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Scheme and address, such as `http://127.0.0.1:8080`; `https` with TLS.
    pub fn origin(&self) -> String {
        let scheme = if self.certificate.is_some() { "https" } else { "http" };
        format!("{scheme}://{}", self.address)
    }

    /// The base URL that replaces `https://openrouter.ai/api/v1`.
    pub fn base_url(&self) -> String {
        format!("{}/api/v1", self.origin())
    }

    /// The certificate a client has to trust, in DER; `None` without TLS. Each start makes a new one.
    pub fn certificate_der(&self) -> Option<&[u8]> {
        self.certificate.as_ref().map(|certificate| certificate.der.as_slice())
    }

    /// The same certificate in PEM.
    pub fn certificate_pem(&self) -> Option<&str> {
        self.certificate.as_ref().map(|certificate| certificate.pem.as_str())
    }

    /// An accepted key.
    pub fn api_key(&self) -> &str {
        self.account.config.api_keys.first().expect("an account opens with at least one key")
    }

    /// Every recorded request, oldest first, without those to the control routes.
    pub fn requests(&self) -> Vec<RecordedRequest> {
        self.account.log().view()
    }

    /// The requests of clients that followed the redirect of `redirect_307`; a correct client sends none.
    pub fn redirect_target_requests(&self) -> Vec<RecordedRequest> {
        self.account.redirect_log().view()
    }

    pub fn stats(&self) -> Stats {
        self.account.log().stats.clone()
    }

    /// The charges so far.
    pub fn ledger(&self) -> LedgerView {
        self.account.ledger().view()
    }

    /// Sets the script of a slug and restarts its count of requests; `"*"` means every slug without a script of
    /// its own. The script of an alias applies to requests for the alias, the script of a model also to requests that
    /// reach it through an alias.
    pub fn script(&self, model: &str, script: Script) {
        self.account.scripts().set(model, script);
    }

    /// Stops, and returns when every connection is closed.
    pub async fn shutdown(mut self) {
        self.listeners.shutdown().await;
    }

    /// The names of all simulated providers, OpenRouter first; [`Self::base_url_of`] takes each.
    pub fn dialects() -> Vec<&'static str> {
        dialect::names()
    }

    /// The base URL of this provider, such as `http://127.0.0.1:8080/anthropic/v1`; `None` if the name is unknown.
    pub fn base_url_of(&self, dialect_name: &str) -> Option<String> {
        dialect::base_url(&self.origin(), dialect_name)
    }
}
