//! TLS for the listener: a self-signed certificate made at start, and the protocols of ALPN.
//!
//! Clients have to be given the certificate to trust it. Its key never leaves memory.

use std::collections::BTreeSet;
use std::io;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use rcgen::{CertifiedKey, generate_simple_self_signed};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring::default_provider;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};

use crate::behaviour::config::HttpVersions;

/// A certificate with its key, ready to accept connections.
pub(crate) struct Identity {
    pub(crate) acceptor: TlsAcceptor,
    pub(crate) certificate: Certificate,
}

/// The public half, which clients have to trust.
#[derive(Debug)]
pub(crate) struct Certificate {
    pub(crate) der: Vec<u8>,
    pub(crate) pem: String,
}

impl Identity {
    /// A new certificate for `localhost`, 127.0.0.1 and this address. Fails only if the machine gives no randomness.
    pub(crate) fn make(address: IpAddr, http: HttpVersions) -> io::Result<Self> {
        let addresses = [IpAddr::from(Ipv4Addr::LOCALHOST), address].map(|address| address.to_string());
        let names = BTreeSet::from(addresses).into_iter().chain(["localhost".to_owned()]);
        let made = generate_simple_self_signed(names.collect::<Vec<_>>()).map_err(io::Error::other)?;
        let CertifiedKey { cert, signing_key } = made;
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(signing_key.serialize_der()));
        let config = config(cert.der().clone(), key, http)?;
        let certificate = Certificate { der: cert.der().to_vec(), pem: cert.pem() };
        Ok(Self { acceptor: TlsAcceptor::from(Arc::new(config)), certificate })
    }
}

fn config(
    certificate: CertificateDer<'static>,
    key: PrivateKeyDer<'static>,
    http: HttpVersions,
) -> io::Result<ServerConfig> {
    let builder = ServerConfig::builder_with_provider(Arc::new(default_provider()));
    let builder = builder.with_safe_default_protocol_versions().map_err(io::Error::other)?;
    let mut config =
        builder.with_no_client_auth().with_single_cert(vec![certificate], key).map_err(io::Error::other)?;
    config.alpn_protocols = protocols(http).iter().map(|name| name.as_bytes().to_vec()).collect();
    Ok(config)
}

/// The protocols ALPN offers, the preferred one first.
fn protocols(http: HttpVersions) -> &'static [&'static str] {
    match http {
        HttpVersions::Both => &["h2", "http/1.1"],
        HttpVersions::Only1 => &["http/1.1"],
        HttpVersions::Only2 => &["h2"],
    }
}
