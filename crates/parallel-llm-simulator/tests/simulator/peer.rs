//! A client on hyper: either HTTP version, with or without TLS, with several requests on a connection.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::client::conn::{http1, http2};
use hyper::header::HeaderMap;
use hyper::{Request, Response, StatusCode, Version};
use hyper_util::rt::{TokioExecutor, TokioIo};
use parallel_llm_simulator::Simulator;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::crypto::ring::default_provider;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

use crate::client::Ask;

/// Silence longer than this counts as a reply that stays open.
const QUIET: Duration = Duration::from_secs(1);

/// The most bytes read, so that an endless reply ends.
const BYTES_MAX: usize = 2 * 1024 * 1024;

/// How a client connects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Way {
    pub(crate) version: Version,
    pub(crate) tls: bool,
}

/// All ways to connect.
pub(crate) const WAYS: [Way; 4] = [
    Way { version: Version::HTTP_11, tls: false },
    Way { version: Version::HTTP_2, tls: false },
    Way { version: Version::HTTP_11, tls: true },
    Way { version: Version::HTTP_2, tls: true },
];

/// One connection.
#[derive(Debug)]
pub(crate) struct Peer {
    origin: String,
    sender: Sender,
    _connection: JoinSet<()>,
}

#[derive(Debug)]
enum Sender {
    One(http1::SendRequest<Full<Bytes>>),
    Two(http2::SendRequest<Full<Bytes>>),
}

/// How a reply ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// Normally.
    Whole,
    /// With an error of the reply or of its connection.
    Broken,
    /// Not within the time of the test.
    Open,
    /// It was longer than the limit.
    Endless,
}

/// A reply as received; a piece is an HTTP/1.1 chunk as hyper reads it, or a DATA frame.
#[derive(Debug)]
pub(crate) struct Heard {
    pub(crate) status: Option<StatusCode>,
    pub(crate) headers: HeaderMap,
    pub(crate) pieces: Vec<Bytes>,
    pub(crate) end: End,
}

impl Heard {
    pub(crate) fn text(&self) -> String {
        String::from_utf8(self.pieces.concat()).unwrap()
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().unwrap())
    }

    fn without_head(end: End) -> Self {
        Self { status: None, headers: HeaderMap::new(), pieces: Vec::new(), end }
    }
}

/// Connects to the simulator.
pub(crate) async fn meet(simulator: &Simulator, way: Way) -> Peer {
    let stream = TcpStream::connect(simulator.address()).await.unwrap();
    if !way.tls {
        return speak(simulator, way.version, stream).await;
    }
    let protocol: &[u8] = if way.version == Version::HTTP_2 { b"h2" } else { b"http/1.1" };
    let connector = trusting(simulator.certificate_der().unwrap(), &[protocol]);
    let stream = connector.connect(ServerName::try_from("127.0.0.1").unwrap(), stream).await.unwrap();
    assert_eq!(stream.get_ref().1.alpn_protocol(), Some(protocol));
    speak(simulator, way.version, stream).await
}

/// TLS that trusts only this certificate.
pub(crate) fn trusting(certificate: &[u8], protocols: &[&[u8]]) -> TlsConnector {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from(certificate.to_vec())).unwrap();
    let builder = ClientConfig::builder_with_provider(Arc::new(default_provider()));
    let builder = builder.with_safe_default_protocol_versions().unwrap();
    let mut config = builder.with_root_certificates(roots).with_no_client_auth();
    config.alpn_protocols = protocols.iter().map(|name| name.to_vec()).collect();
    TlsConnector::from(Arc::new(config))
}

async fn speak<S>(simulator: &Simulator, version: Version, stream: S) -> Peer
where
    S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
{
    let mut connection = JoinSet::new();
    let io = TokioIo::new(stream);
    // Errors of a connection appear in its replies.
    let sender = if version == Version::HTTP_2 {
        let (sender, running) = http2::handshake(TokioExecutor::new(), io).await.unwrap();
        connection.spawn(async move { drop(running.await) });
        Sender::Two(sender)
    } else {
        let (sender, running) = http1::handshake(io).await.unwrap();
        connection.spawn(async move { drop(running.await) });
        Sender::One(sender)
    };
    Peer { origin: simulator.origin(), sender, _connection: connection }
}

impl Peer {
    /// The head of the reply; an error if the request or its connection failed before.
    pub(crate) async fn begin(&mut self, ask: &Ask) -> hyper::Result<Response<Incoming>> {
        match &mut self.sender {
            Sender::One(sender) => {
                let request = request(ask, ask.path.clone());
                sender.ready().await?;
                sender.send_request(request).await
            }
            Sender::Two(sender) => {
                let request = request(ask, format!("{}{}", self.origin, ask.path));
                sender.ready().await?;
                sender.send_request(request).await
            }
        }
    }

    /// Another sender on the same HTTP/2 connection, usable as long as the first one exists.
    pub(crate) fn beside(&self) -> Self {
        let Sender::Two(sender) = &self.sender else { panic!("HTTP/1.1 has one request at a time") };
        Self { origin: self.origin.clone(), sender: Sender::Two(sender.clone()), _connection: JoinSet::new() }
    }

    /// The whole reply, up to its end or error.
    pub(crate) async fn hear(&mut self, ask: &Ask) -> Heard {
        match timeout(QUIET, self.begin(ask)).await {
            Err(_) => Heard::without_head(End::Open),
            Ok(Err(_)) => Heard::without_head(End::Broken),
            Ok(Ok(response)) => read(response).await,
        }
    }
}

/// Reads a body up to its end or error.
pub(crate) async fn read(response: Response<Incoming>) -> Heard {
    let (head, mut body) = response.into_parts();
    let mut pieces = Vec::new();
    let mut bytes = 0;
    let end = loop {
        if bytes > BYTES_MAX {
            break End::Endless;
        }
        match timeout(QUIET, body.frame()).await {
            Err(_) => break End::Open,
            Ok(None) => break End::Whole,
            Ok(Some(Err(_))) => break End::Broken,
            Ok(Some(Ok(frame))) => {
                let piece = frame.into_data().unwrap_or_default();
                bytes += piece.len();
                pieces.push(piece);
            }
        }
    };
    Heard { status: Some(head.status), headers: head.headers, pieces, end }
}

fn request(ask: &Ask, uri: String) -> Request<Full<Bytes>> {
    let mut request = Request::builder().method(ask.method).uri(uri);
    let named = [("authorization", &ask.authorization), ("x-sim-scenario", &ask.scenario)];
    for (name, value) in named {
        if let Some(value) = value {
            request = request.header(name, value);
        }
    }
    let extra = ask.extra_headers.lines().filter_map(|line| line.split_once(": "));
    let request = extra.fold(request, |request, (name, value)| request.header(name, value));
    request.body(Full::from(ask.body.clone())).unwrap()
}
