//! Encrypted connections, by rustls on ring, and whose certificate is trusted.

use std::future::Future;
use std::io;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{CertificateError, ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_postgres::tls::{ChannelBinding, MakeTlsConnect, TlsConnect, TlsStream};
use tokio_rustls::TlsConnector;

/// Whose certificate is trusted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Trust {
    /// Anyone's: protects from those who only listen.
    Anyone,
    /// That of an authority in this file, or of the system, for whatever host.
    Authority(Option<PathBuf>),
    /// The same, for the host of the address.
    Host(Option<PathBuf>),
}

/// Makes encrypted streams.
#[derive(Clone)]
pub(super) struct Connector(TlsConnector);

impl Connector {
    /// Reads the certificates that are trusted.
    pub(super) fn of(trust: &Trust) -> io::Result<Self> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()
            .map_err(io::Error::other)?;
        let config = match trust {
            Trust::Host(file) => {
                builder.with_root_certificates(roots(file.as_deref())?).with_no_client_auth()
            }
            Trust::Anyone => {
                let verifier = Lenient { provider, authority: None };
                builder.dangerous().with_custom_certificate_verifier(Arc::new(verifier)).with_no_client_auth()
            }
            Trust::Authority(file) => {
                let roots = Arc::new(roots(file.as_deref())?);
                let authority =
                    WebPkiServerVerifier::builder_with_provider(roots, Arc::clone(&provider)).build();
                let verifier = Lenient { provider, authority: Some(authority.map_err(io::Error::other)?) };
                builder.dangerous().with_custom_certificate_verifier(Arc::new(verifier)).with_no_client_auth()
            }
        };
        Ok(Self(TlsConnector::from(Arc::new(config))))
    }
}

/// The certificates in this file, or those of the system.
fn roots(file: Option<&Path>) -> io::Result<RootCertStore> {
    let mut roots = RootCertStore::empty();
    let certificates: Vec<CertificateDer<'static>> = match file {
        Some(file) => {
            let unreadable = |cause: &dyn std::fmt::Display| {
                io::Error::other(format!("the certificates in `{}` cannot be read: {cause}", file.display()))
            };
            let read = CertificateDer::pem_file_iter(file).map_err(|cause| unreadable(&cause))?;
            read.collect::<Result<_, _>>().map_err(|cause| unreadable(&cause))?
        }
        None => rustls_native_certs::load_native_certs().certs,
    };
    roots.add_parsable_certificates(certificates);
    if roots.is_empty() {
        return Err(io::Error::other("there is no certificate to trust"));
    }
    Ok(roots)
}

/// Verifies less than a name: only the authority, or nothing but that the server has its certificate's key.
#[derive(Debug)]
struct Lenient {
    provider: Arc<CryptoProvider>,
    authority: Option<Arc<WebPkiServerVerifier>>,
}

impl ServerCertVerifier for Lenient {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let Some(authority) = &self.authority else { return Ok(ServerCertVerified::assertion()) };
        // The name is compared last, when everything else is verified.
        match authority.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now) {
            Err(Error::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            )) => Ok(ServerCertVerified::assertion()),
            verified => verified,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        rustls::crypto::verify_tls12_signature(message, certificate, signature, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        rustls::crypto::verify_tls13_signature(message, certificate, signature, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin + Send + 'static> MakeTlsConnect<S> for Connector {
    type Stream = Stream<S>;
    type TlsConnect = OneConnect;
    type Error = rustls::pki_types::InvalidDnsNameError;

    fn make_tls_connect(&mut self, host: &str) -> Result<OneConnect, Self::Error> {
        // A socket of the system has no name, and is never encrypted.
        let name = if host.is_empty() { "localhost" } else { host };
        Ok(OneConnect { connector: self.0.clone(), name: ServerName::try_from(name.to_owned())? })
    }
}

/// One connection about to be encrypted.
pub(super) struct OneConnect {
    connector: TlsConnector,
    name: ServerName<'static>,
}

impl<S: AsyncRead + AsyncWrite + Unpin + Send + 'static> TlsConnect<S> for OneConnect {
    type Stream = Stream<S>;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<Stream<S>>> + Send>>;

    fn connect(self, stream: S) -> Self::Future {
        let connect = self.connector.connect(self.name, stream);
        Box::pin(async move { Ok(Stream(connect.await?)) })
    }
}

/// An encrypted stream.
pub(super) struct Stream<S>(tokio_rustls::client::TlsStream<S>);

impl<S: AsyncRead + AsyncWrite + Unpin> TlsStream for Stream<S> {
    /// None: an address that asks for it is refused by the driver. It adds to `sslmode=require` what `verify-full` has.
    fn channel_binding(&self) -> ChannelBinding {
        ChannelBinding::none()
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncRead for Stream<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(context, buffer)
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for Stream<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(context)
    }
}
