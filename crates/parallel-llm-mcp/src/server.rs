//! [`Server`]: offers a panel to MCP clients on stdin and stdout, or to programs and browsers over HTTP.
//!
//! It is the program's own server: the same doors with the same safe defaults. Over HTTP every request needs a token, unless
//! the server is open, which only a loopback address may be; another address needs TLS. It handles no signal and prints
//! nothing: it ends when its caller says so. Runs that are under way then belong to the panel.

use std::fmt;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use parallel_llm_app::doors;
use parallel_llm_engine::{Code, Failure};
use parallel_llm_http::{Access, Config, Listener, Sessions, TlsFiles};
use parallel_llm_mcp_door::stdio;
use parallel_llm_service::{Services, Shutdown};
use secrecy::{ExposeSecret, SecretString};
use tokio_util::sync::CancellationToken;

use crate::error::{Cause, Error};
use crate::panel::Panel;

/// The port of a server that is named `http` and nothing more, as in the program's documentation.
const PORT: u16 = 8930;

/// How a server is reached.
///
/// ```
/// use parallel_llm_mcp::server::Transport;
///
/// assert!(matches!("stdio".parse(), Ok(Transport::Stdio)));
/// let unknown = "sse".parse::<Transport>().unwrap_err();
/// assert_eq!(unknown.to_string(), "there is no transport `sse`; there are `stdio` and `http`");
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Transport {
    /// MCP on stdin and stdout, for the client that started this process. Nothing else may be printed on stdout.
    Stdio,
    /// MCP, the web page and all other doors over HTTP.
    Http(Http),
}

impl FromStr for Transport {
    type Err = Error;

    /// Reads `stdio`, `http` (at `127.0.0.1:8930`), or `http://ADDRESS`.
    fn from_str(text: &str) -> Result<Self, Error> {
        let address = |text: &str| text.trim_end_matches('/').parse().ok();
        match text.trim() {
            "stdio" => Ok(Self::Stdio),
            "http" => Ok(Self::Http(Http::at((Ipv4Addr::LOCALHOST, PORT)))),
            other => match other.strip_prefix("http://").and_then(address) {
                Some(address) => Ok(Self::Http(Http::at::<SocketAddr>(address))),
                None => Err(Error::Transport(other.to_owned())),
            },
        }
    }
}

/// A server over HTTP. Every request needs a token, as [`Panel::make_token`] makes them, unless it is open.
#[derive(Clone, Debug)]
#[must_use]
pub struct Http {
    address: SocketAddr,
    is_open: bool,
    tls: Option<TlsFiles>,
    hosts: Vec<String>,
    origins: Vec<String>,
    behind_proxy: bool,
}

impl Http {
    /// A server at this address. Port 0 takes a free one.
    pub fn at<A: Into<SocketAddr>>(address: A) -> Self {
        let (address, hosts, origins) = (address.into(), Vec::new(), Vec::new());
        Self { address, is_open: false, tls: None, hosts, origins, behind_proxy: false }
    }

    /// Admits everybody who reaches the address, without a token; on this machine only.
    pub const fn open(mut self) -> Self {
        self.is_open = true;
        self
    }

    /// Speaks https, with the certificate and the key in these files (PEM).
    pub fn tls(mut self, certificate: impl Into<PathBuf>, key: impl Into<PathBuf>) -> Self {
        self.tls = Some(TlsFiles { certificate: certificate.into(), key: key.into() });
        self
    }

    /// A host name that clients use besides the server's own address.
    pub fn host(mut self, name: impl Into<String>) -> Self {
        self.hosts.push(name.into());
        self
    }

    /// An origin whose pages may call the server, such as `https://llm.example.com`.
    pub fn origin(mut self, origin: impl Into<String>) -> Self {
        self.origins.push(origin.into());
        self
    }

    /// A proxy in front of this server speaks https.
    pub const fn behind_proxy(mut self) -> Self {
        self.behind_proxy = true;
        self
    }
}

/// Serves a panel.
///
/// ```no_run
/// # async fn example() -> Result<(), parallel_llm_mcp::Error> {
/// use parallel_llm_mcp::{CancellationToken, Panel, Server};
/// use parallel_llm_mcp::server::{Http, Transport};
///
/// let panel = Panel::builder().key("sk-or-...").build()?;
/// let stop = CancellationToken::new();
/// let http = Http::at(([127, 0, 0, 1], 0)).open();
/// let server = Server::new(&panel).bind(Transport::Http(http)).await?;
/// assert!(server.urls()[0].starts_with("http://127.0.0.1:"));
/// server.run_until(stop.cancelled()).await?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Server {
    panel: Panel,
}

impl Server {
    /// A server of this panel.
    pub fn new(panel: &Panel) -> Self {
        Self { panel: panel.clone() }
    }

    /// Serves until stdin ends; over HTTP for ever.
    pub async fn run(&self, transport: Transport) -> Result<(), Error> {
        self.bind(transport).await?.run_until(std::future::pending()).await
    }

    /// Binds the address, if there is one to bind. Nothing is served yet.
    pub async fn bind(&self, transport: Transport) -> Result<BoundServer, Error> {
        let panel = self.panel.clone();
        match transport {
            Transport::Stdio => Ok(BoundServer { panel, door: Door::Pipes }),
            Transport::Http(http) => {
                let services = panel.services().clone().without_checks();
                let (listener, sessions) = http.bind(&services).await.map_err(|failure| refused(&failure))?;
                Ok(BoundServer { panel, door: Door::Http { listener: Box::new(listener), sessions } })
            }
        }
    }
}

impl Http {
    async fn bind(self, services: &Services) -> Result<(Listener, Option<Sessions>), Failure> {
        let check = doors::check_of(services);
        let (access, sessions) = if self.is_open {
            (Access::Open(check), None)
        } else if services.settings.in_memory && services.settings.issuer.is_none() {
            let message = "tokens are kept in a folder, and this panel has none";
            let next = parallel_llm_engine::value::next::Advice::KeepRunsInFolder;
            return Err(Failure::new(Code::SettingsInvalid, message).with_next(next));
        } else {
            (Access::Tokens(check), Some(Sessions::new(services.sessions.clone())?))
        };
        let config = doors::listening(&services.settings, self.address, access)?;
        let config = Config {
            sessions: sessions.clone(),
            tls: self.tls.or(config.tls),
            hosts: [config.hosts, self.hosts].concat(),
            origins: [config.origins, self.origins].concat(),
            behind_proxy: self.behind_proxy || config.behind_proxy,
            ..config
        };
        Ok((parallel_llm_http::bind(config).await?, sessions))
    }
}

/// A server that has its address and does not serve yet.
pub struct BoundServer {
    panel: Panel,
    door: Door,
}

enum Door {
    Pipes,
    Http { listener: Box<Listener>, sessions: Option<Sessions> },
}

impl fmt::Debug for BoundServer {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("BoundServer").field("urls", &self.urls()).finish_non_exhaustive()
    }
}

impl BoundServer {
    /// The base URLs of the server, such as `http://127.0.0.1:8930`; none on stdin and stdout.
    pub fn urls(&self) -> Vec<String> {
        match &self.door {
            Door::Pipes => Vec::new(),
            Door::Http { listener, .. } => listener.urls(),
        }
    }

    /// The link with which the owner signs in to the page, once; `None` if there is nothing to sign in to. Show it to nobody
    /// else.
    pub fn sign_in_link(&self) -> Option<SecretString> {
        let Door::Http { listener, sessions: Some(sessions) } = &self.door else { return None };
        let page = doors::page(self.panel.services(), &Shutdown::new(Duration::ZERO), sessions);
        let page = doors::sign_in_page(&listener.urls(), page.sign_in?);
        let code = sessions.link_codes().borrow().expose_secret().to_owned();
        Some(SecretString::from(format!("{page}?code={code}")))
    }

    /// Serves until `shutdown` is ready, and on stdin and stdout no longer than stdin. Open calls are answered in time with
    /// what is there; the panel stays open.
    pub async fn run_until(self, shutdown: impl Future<Output = ()>) -> Result<(), Error> {
        let services = self.panel.services().clone();
        services.begin_export();
        let stop = CancellationToken::new();
        // Whatever was begun for a client ends with this future, also if it is dropped.
        let _stopped = stop.clone().drop_guard();
        let served = async {
            match self.door {
                // The owner has started the client on this machine, so it may attach files where the owner allows that.
                Door::Pipes => stdio::run_until(&services.with_files(), &stop).await.map_err(|error| {
                    let message = format!("no thread can be started for the client: {error}");
                    refused(&Failure::new(Code::Internal, message))
                }),
                Door::Http { listener, sessions } => {
                    let services = services.clone().without_checks();
                    let drain = Duration::from_millis(services.settings.drain_ms);
                    let ending = Shutdown::on(stop.clone(), drain);
                    let _ended = ending.end.clone().drop_guard();
                    // Questions to a provider that is this server are refused; a log would be the host's.
                    let _ = services.listens_at(listener.address(), &listener.urls());
                    let doors = doors::over_http(&services, &ending, sessions.as_ref());
                    let lost = stop.run_until_cancelled(services.ask.continue_lost_runs());
                    tokio::join!(listener.serve(doors, stop.clone(), drain), lost);
                    Ok(())
                }
            }
        };
        let stopping = async {
            shutdown.await;
            stop.cancel();
        };
        let mut served = std::pin::pin!(served);
        tokio::select! {
            done = &mut served => return done,
            () = stopping => {}
        }
        served.await
    }
}

fn refused(failure: &Failure) -> Error {
    Error::Server(Cause::of(failure))
}
