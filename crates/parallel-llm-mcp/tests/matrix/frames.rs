//! Servers with an invalid TLS certificate, and servers that break HTTP/2 frame by frame.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use parallel_llm_testkit::Sandbox;
use rcgen::{CertificateParams, DistinguishedName, DnType, KeyPair};
use rustls::pki_types::PrivatePkcs8KeyDer;
use rustls::{ServerConfig, ServerConnection, StreamOwned};

use super::wire;

/// The fault of the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ServerFault {
    /// Its certificate has expired.
    Expired,
    /// Its certificate names another host.
    OtherHost,
    /// Its certificate is self-signed and not trusted.
    Untrusted,
    /// It speaks only an unsafe version of TLS.
    OldProtocol,
    /// It reads a request and sends `GOAWAY` without processing it.
    GoAway,
    /// It refuses each stream.
    RefusedStream,
    /// It replies with endless empty frames.
    EmptyFrames,
}

/// The length of the preface of an HTTP/2 client.
const PREFACE_BYTES: usize = 24;
/// Types of frames.
const DATA: u8 = 0;
const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const GOAWAY: u8 = 7;
/// Flags: the stream ends; the header block is complete.
const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;
/// Error code: the stream was not processed.
const REFUSED_STREAM: [u8; 4] = [0, 0, 0, 7];
/// `:method: POST`, `:status: 200` and `:status: 404`, by their index in the static table of HPACK.
const POST: u8 = 0x83;
const STATUS_200: [u8; 1] = [0x88];
const STATUS_404: [u8; 1] = [0x8d];
/// The number of empty frames sent at once, and how often: together more than any client should accept.
const EMPTY_FRAMES: usize = 1_000;
const EMPTY_FRAMES_TIMES: usize = 1_000;

/// The server. Its threads end with their connections.
pub(crate) struct Server {
    port: u16,
    certificate_pem: String,
    fault: ServerFault,
    requests: Arc<AtomicUsize>,
}

impl Server {
    pub(crate) fn start(fault: ServerFault) -> Self {
        let (config, certificate_pem) = identity(fault);
        let listener = TcpListener::bind("127.0.0.1:0").expect("a local port is free");
        let port = listener.local_addr().expect("the listener is bound").port();
        let requests = Arc::new(AtomicUsize::new(0));
        let (config, counted) = (Arc::new(config), Arc::clone(&requests));
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let (config, counted) = (Arc::clone(&config), Arc::clone(&counted));
                // A client that has read enough closes the connection.
                thread::spawn(move || drop(serve(stream, config, fault, &counted)));
            }
        });
        Self { port, certificate_pem, fault, requests }
    }

    /// The number of calls received.
    pub(crate) fn requests(&self) -> usize {
        self.requests.load(Ordering::SeqCst)
    }

    /// Makes this server the provider `wire` of a sandbox. Returns the file of additional certificates to trust.
    pub(crate) fn join(&self, sandbox: &Sandbox) -> String {
        wire::provide(sandbox, &format!("https://127.0.0.1:{}/v1", self.port));
        let pem = match self.fault {
            ServerFault::Untrusted => identity(ServerFault::GoAway).1,
            _ => self.certificate_pem.clone(),
        };
        sandbox.write("playground/trusted.pem", pem).display().to_string()
    }
}

fn identity(fault: ServerFault) -> (ServerConfig, String) {
    let name = if fault == ServerFault::OtherHost { "provider.invalid" } else { "127.0.0.1" };
    let mut params = CertificateParams::new([name.to_owned()]).expect("a name is a name");
    params.distinguished_name = DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, format!("{fault:?}"));
    if fault == ServerFault::Expired {
        params.not_after = rcgen::date_time_ymd(2001, 1, 1);
    }
    let key = KeyPair::generate().expect("the machine gives randomness");
    let certificate = params.self_signed(&key).expect("it can be signed");
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("there are versions")
        .with_no_client_auth()
        .with_single_cert(
            vec![certificate.der().clone()],
            PrivatePkcs8KeyDer::from(key.serialize_der()).into(),
        );
    let mut config = config.expect("key and certificate belong together");
    config.alpn_protocols = vec![b"h2".to_vec()];
    (config, certificate.pem())
}

fn serve(
    mut stream: TcpStream,
    config: Arc<ServerConfig>,
    fault: ServerFault,
    requests: &AtomicUsize,
) -> std::io::Result<()> {
    if fault == ServerFault::OldProtocol {
        // The alert `protocol_version`, as a server that only speaks TLS 1.0 sends it.
        stream.read_exact(&mut [0; 5])?;
        return stream.write_all(&[0x15, 3, 1, 0, 2, 2, 70]);
    }
    let connection = ServerConnection::new(config).map_err(std::io::Error::other)?;
    let mut stream = StreamOwned::new(connection, stream);
    stream.read_exact(&mut [0; PREFACE_BYTES])?;
    stream.write_all(&frame(SETTINGS, 0, 0, &[]))?;
    loop {
        let (kind, id, first) = read_frame(&mut stream)?;
        if kind != HEADERS {
            continue;
        }
        if first != POST {
            // The list of models, which this server does not have, is not a call.
            stream.write_all(&frame(HEADERS, END_HEADERS | END_STREAM, id, &STATUS_404))?;
            stream.flush()?;
            continue;
        }
        requests.fetch_add(1, Ordering::SeqCst);
        match fault {
            ServerFault::RefusedStream => stream.write_all(&frame(RST_STREAM, 0, id, &REFUSED_STREAM))?,
            ServerFault::EmptyFrames => {
                stream.write_all(&frame(HEADERS, END_HEADERS, id, &STATUS_200))?;
                let empty = frame(DATA, 0, id, &[]).repeat(EMPTY_FRAMES);
                (0..EMPTY_FRAMES_TIMES).try_for_each(|_| stream.write_all(&empty))?;
            }
            _ => {
                stream.write_all(&frame(GOAWAY, 0, 0, &[0; 8]))?;
                stream.conn.send_close_notify();
                stream.flush()?;
                stream.sock.shutdown(Shutdown::Write)?;
                // Bytes that nobody reads would turn the end into a reset, which may overtake what was sent.
                return std::io::copy(&mut stream.sock, &mut std::io::sink()).map(drop);
            }
        }
        stream.flush()?;
    }
}

/// An HTTP/2 frame.
fn frame(kind: u8, flags: u8, id: u32, payload: &[u8]) -> Vec<u8> {
    let length = u8::try_from(payload.len()).expect("these are short");
    [&[0, 0, length, kind, flags], &id.to_be_bytes()[..], payload].concat()
}

/// The type, stream and first payload byte of the next frame.
fn read_frame(stream: &mut impl Read) -> std::io::Result<(u8, u32, u8)> {
    let mut head = [0; 9];
    stream.read_exact(&mut head)?;
    let length = u32::from_be_bytes([0, head[0], head[1], head[2]]);
    let mut payload = vec![0; length as usize];
    stream.read_exact(&mut payload)?;
    let id = u32::from_be_bytes([head[5] & 0x7f, head[6], head[7], head[8]]);
    Ok((head[3], id, payload.first().copied().unwrap_or_default()))
}
