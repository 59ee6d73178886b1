//! The handle: starts a simulator, shows what it was asked, changes what it will answer, and stops it.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use tokio::net::TcpListener;
use tokio::task::JoinSet;

use crate::account::Account;
use crate::config::{HttpVersions, SimulatorConfig};
use crate::dialect;
use crate::ledger::LedgerView;
use crate::record::{RecordedRequest, Stats};
use crate::script::Script;
use crate::server::{Role, Server};
use crate::tls::{Certificate, Identity};

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
    /// Listens, and answers from then on. Fails if the address is not loopback or is taken, or no certificate can be
    /// made.
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

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Scheme and address, such as `http://127.0.0.1:8080`; `https` with TLS.
    pub fn origin(&self) -> String {
        let scheme = if self.certificate.is_some() { "https" } else { "http" };
        format!("{scheme}://{}", self.address)
    }

    /// What a client takes for `https://openrouter.ai/api/v1`.
    pub fn base_url(&self) -> String {
        format!("{}/api/v1", self.origin())
    }

    /// The certificate a client has to trust, in DER; `None` without TLS. It is a new one at each start.
    pub fn certificate_der(&self) -> Option<&[u8]> {
        self.certificate.as_ref().map(|certificate| certificate.der.as_slice())
    }

    /// The same certificate in PEM.
    pub fn certificate_pem(&self) -> Option<&str> {
        self.certificate.as_ref().map(|certificate| certificate.pem.as_str())
    }

    /// A key that is accepted.
    pub fn api_key(&self) -> &str {
        self.account.config.api_keys.first().expect("an account opens with at least one key")
    }

    /// Everything it was asked, oldest first; the control is not in it.
    pub fn requests(&self) -> Vec<RecordedRequest> {
        self.account.log().view()
    }

    /// Who followed the fault `redirect_307`; a good client does not.
    pub fn redirect_target_requests(&self) -> Vec<RecordedRequest> {
        self.account.redirect_log().view()
    }

    /// The counts.
    pub fn stats(&self) -> Stats {
        self.account.log().stats.clone()
    }

    /// What was charged.
    pub fn ledger(&self) -> LedgerView {
        self.account.ledger().view()
    }

    /// Puts a script on for a slug, from its first line; `"*"` is every slug without one of its own. A script for an
    /// alias is met by those who ask for the alias; one for a model also by those who reach it through an alias.
    pub fn script(&self, model: &str, script: Script) {
        self.account.scripts().set(model, script);
    }

    /// Stops, and returns when every connection is closed.
    pub async fn shutdown(mut self) {
        self.listeners.shutdown().await;
    }

    /// The names of everything it pretends to be, OpenRouter first; [`Self::base_url_of`] takes each.
    pub fn dialects() -> Vec<&'static str> {
        dialect::names()
    }

    /// What a client takes for the base URL of this provider, such as `http://127.0.0.1:8080/anthropic/v1`; `None` if
    /// nobody has this name.
    pub fn base_url_of(&self, dialect_name: &str) -> Option<String> {
        dialect::base_url(&self.origin(), dialect_name)
    }
}
