//! The pooled HTTP client, and how a body is read.
//!
//! Invariants: no redirect is followed; no request is sent twice (one whose pooled connection turns out to be closed
//! before a byte was written goes to another connection); every body is read with a limit on its decoded bytes; a proxy
//! is never used for this machine. The only timeout here is the one for connecting: how long a reply may take is up to
//! the engine.

use std::sync::Arc;
use std::time::Duration;

use http::{HeaderMap, HeaderValue, header};
use parallel_llm_engine::{Code, Failure};
use parking_lot::Mutex;
use reqwest::{Client, ClientBuilder, Response};
use rustls::RootCertStore;
use rustls::crypto::ring;
use rustls::pki_types::CertificateDer;
use url::Url;

use super::endpoint::is_loopback;

/// How long an idle connection is kept: long enough for the next run of a conversation, short enough to free the memory
/// of a burst within a minute.
const POOL_IDLE: Duration = Duration::from_secs(20);
/// How much a provider may send of one reply over HTTP/2 before it is read. A long list of models takes six round
/// trips.
const STREAM_WINDOW_BYTES: u32 = 256 * 1024;
/// The same for all replies on one connection, for as many calls as a process makes at once by default. Otherwise replies that are
/// not read for a while, because there is no room for more text, would block the one that will make room.
const CONNECTION_WINDOW_BYTES: u32 = 4096 * STREAM_WINDOW_BYTES;
/// Calls at once in one pool. An HTTP/2 client has one connection to a host, on which a provider allows so many streams at once,
/// commonly a hundred or more; further calls would wait inside the client, where they look as if they were sent. So they
/// go through another pool.
const CALLS_PER_POOL: usize = 100;
/// The `User-Agent` header.
const USER_AGENT: &str = concat!("parallel-llm-mcp/", env!("CARGO_PKG_VERSION"));

/// How an address is reached. Each route has its own pools, made when they are first used.
#[derive(Clone, Copy, Debug)]
enum Route {
    /// Plain http, allowed only to this machine: no proxy, and no certificates to load.
    Plain,
    /// TLS to this machine: no proxy.
    Local,
    /// TLS to other machines, through the system's proxy if there is one.
    Remote,
}

impl Route {
    fn to(url: &Url) -> Self {
        match (url.scheme() == "https", is_loopback(url)) {
            (false, _) => Self::Plain,
            (true, true) => Self::Local,
            (true, false) => Self::Remote,
        }
    }
}

/// Pooled connections to all providers.
#[derive(Debug)]
pub(crate) struct Http {
    connect_timeout_ms: u64,
    /// Certificates to trust besides the system's.
    certificates: Vec<CertificateDer<'static>>,
    /// Whether remote machines are reached through the system's proxy.
    system_proxy: bool,
    routes: Mutex<[RoutePools; 3]>,
}

/// The pools of a route.
#[derive(Debug, Default)]
struct RoutePools {
    /// What all its connections share, which takes milliseconds to read.
    tls: Option<rustls::ClientConfig>,
    pools: Vec<Pool>,
}

/// Connections, of which one has so many calls at most over HTTP/2.
#[derive(Debug)]
struct Pool {
    client: Client,
    /// Cloned for each call that uses it.
    calls: Arc<()>,
}

/// A client for one call, until it is dropped.
#[derive(Clone, Debug)]
pub(crate) struct PooledClient {
    pub(crate) client: Client,
    pub(crate) _call: Arc<()>,
}

impl Pool {
    fn in_use(&self) -> usize {
        Arc::strong_count(&self.calls) - 1
    }
}

impl Http {
    /// Builds nothing yet: reading certificates takes milliseconds that would delay the program's start.
    pub(crate) fn new(connect_timeout_ms: u64, certificates: Vec<Vec<u8>>, system_proxy: bool) -> Self {
        let certificates = certificates.into_iter().map(CertificateDer::from).collect();
        Self { connect_timeout_ms, certificates, system_proxy, routes: Mutex::default() }
    }

    /// The timeout for connecting.
    pub(crate) const fn connect_timeout_ms(&self) -> u64 {
        self.connect_timeout_ms
    }

    /// The client for a call to this address.
    pub(crate) fn client(&self, url: &Url) -> Result<PooledClient, Failure> {
        let route = Route::to(url);
        let RoutePools { tls, pools } = &mut self.routes.lock()[route as usize];
        // Plain connections have one call each, so one pool has room for all.
        let has_room = |pool: &Pool| matches!(route, Route::Plain) || pool.in_use() < CALLS_PER_POOL;
        let at = if let Some(at) = pools.iter().position(has_room) {
            at
        } else {
            let tls = match tls {
                Some(tls) => tls.clone(),
                None => tls.insert(self.tls(route)?).clone(),
            };
            pools.push(Pool { client: self.build(route, tls)?, calls: Arc::default() });
            pools.len() - 1
        };
        let pool = &pools[at];
        Ok(PooledClient { client: pool.client.clone(), _call: Arc::clone(&pool.calls) })
    }

    /// Closes idle connections. A later call opens new ones.
    pub(crate) fn close(&self) {
        *self.routes.lock() = Default::default();
    }

    fn tls(&self, route: Route) -> Result<rustls::ClientConfig, Failure> {
        let mut roots = match route {
            Route::Plain => RootCertStore::empty(),
            Route::Local | Route::Remote => roots(rustls_native_certs::load_native_certs().certs),
        };
        roots.add_parsable_certificates(self.certificates.iter().cloned());
        tls(roots)
    }

    fn build(&self, route: Route, tls: rustls::ClientConfig) -> Result<Client, Failure> {
        let builder = builder(tls, Duration::from_millis(self.connect_timeout_ms));
        let builder = match route {
            Route::Plain | Route::Local => builder.no_proxy(),
            Route::Remote if !self.system_proxy => builder.no_proxy(),
            Route::Remote => builder,
        };
        builder.build().map_err(|error| {
            Failure::new(Code::Internal, format!("the HTTP client cannot be built: {}", error.without_url()))
        })
    }
}

#[expect(clippy::disallowed_methods, reason = "the one client where a client is made")]
fn builder(tls: rustls::ClientConfig, connect_timeout: Duration) -> ClientBuilder {
    let identity = HeaderMap::from_iter([(header::ACCEPT_ENCODING, HeaderValue::from_static("identity"))]);
    Client::builder()
        .tls_backend_preconfigured(tls)
        .user_agent(USER_AGENT)
        // Compressed streams arrive in bursts. One that is compressed anyway is decoded.
        .default_headers(identity)
        .redirect(reqwest::redirect::Policy::none())
        // Not even for what HTTP/2 calls safe: only the engine decides whether a call may be paid for twice.
        .retry(reqwest::retry::never())
        .referer(false)
        .connect_timeout(connect_timeout)
        .pool_idle_timeout(POOL_IDLE)
        .tcp_nodelay(true)
        .http2_initial_stream_window_size(STREAM_WINDOW_BYTES)
        .http2_initial_connection_window_size(CONNECTION_WINDOW_BYTES)
}

fn tls(roots: RootCertStore) -> Result<rustls::ClientConfig, Failure> {
    let provider = std::sync::Arc::new(ring::default_provider());
    let versions =
        rustls::ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let versions =
        versions.map_err(|error| Failure::new(Code::Internal, format!("TLS cannot be set up: {error}")))?;
    let mut tls = versions.with_root_certificates(roots).with_no_client_auth();
    tls.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(tls)
}

/// The system's certificates, or the bundled Mozilla list if the system has none, as in a bare container.
fn roots(system: Vec<CertificateDer<'static>>) -> RootCertStore {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(system);
    if roots.is_empty() {
        roots.add_parsable_certificates(webpki_root_certs::TLS_SERVER_ROOT_CERTS.iter().cloned());
    }
    roots
}

/// Appends decoded bytes to `body` until it holds `bytes_max` or the body ends. Returns whether it ended. What was
/// received stays in `body` if this fails or is dropped.
pub(crate) async fn read(
    response: &mut Response,
    bytes_max: usize,
    body: &mut Vec<u8>,
) -> reqwest::Result<bool> {
    while let Some(bytes) = response.chunk().await? {
        let room = bytes_max - body.len();
        body.extend_from_slice(&bytes[..bytes.len().min(room)]);
        if bytes.len() > room {
            return Ok(false);
        }
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_without_certificates_gets_the_bundled_ones() {
        assert!(roots(Vec::new()).len() > 100);
        assert!(roots(vec![CertificateDer::from(vec![1, 2, 3])]).len() > 100);
        assert_eq!(roots(vec![webpki_root_certs::TLS_SERVER_ROOT_CERTS[0].clone()]).len(), 1);
    }

    #[test]
    fn a_client_needs_no_certificates_to_be_built() {
        let tls = tls(RootCertStore::empty()).unwrap();
        assert!(builder(tls, Duration::from_secs(1)).build().is_ok());
    }
}
