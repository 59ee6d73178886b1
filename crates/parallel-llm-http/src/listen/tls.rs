//! The server's certificate and key.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parallel_llm_engine::value::next::Advice;
use parallel_llm_engine::{Code, Failure};
use rustls::ServerConfig;
use rustls::crypto::ring::default_provider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::TlsAcceptor;

/// The longest file in bytes. A certificate chain takes a tenth of it.
const FILE_BYTES_MAX: u64 = 256 * 1024;

/// The paths of the certificate and the key, both in PEM.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsFiles {
    /// The certificate chain.
    pub certificate: PathBuf,
    /// The private key.
    pub key: PathBuf,
}

/// Reads both files, once: a renewed certificate needs a restart.
pub(crate) fn acceptor(files: &TlsFiles) -> Result<TlsAcceptor, Failure> {
    let pem = read(&files.certificate, "tls_cert")?;
    let unread = |setting, path: &Path, why: String| refused(setting, path, &why);
    let chain: Vec<CertificateDer<'static>> = CertificateDer::pem_slice_iter(&pem)
        .collect::<Result<_, _>>()
        .map_err(|error| unread("tls_cert", &files.certificate, error.to_string()))?;
    if chain.is_empty() {
        return Err(refused("tls_cert", &files.certificate, "it holds no certificate"));
    }
    let pem = read(&files.key, "tls_key")?;
    // The error is not shown: it could quote the key.
    let key = PrivateKeyDer::from_pem_slice(&pem)
        .map_err(|_| refused("tls_key", &files.key, "it holds no key in PEM"))?;
    let builder = ServerConfig::builder_with_provider(Arc::new(default_provider()));
    let builder = builder.with_safe_default_protocol_versions().expect("ring serves the versions of TLS");
    let config = builder.with_no_client_auth().with_single_cert(chain, key);
    let mut config = config.map_err(|error| unread("tls_key", &files.key, error.to_string()))?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(TlsAcceptor::from(Arc::new(config)))
}

fn read(path: &Path, setting: &str) -> Result<Vec<u8>, Failure> {
    // Opening a pipe could block for ever.
    if path.metadata().is_ok_and(|metadata| !metadata.is_file()) {
        return Err(refused(setting, path, "it is not a file"));
    }
    let mut pem = Vec::new();
    let file = std::fs::File::open(path).and_then(|file| file.take(FILE_BYTES_MAX + 1).read_to_end(&mut pem));
    file.map_err(|error| refused(setting, path, &error.to_string()))?;
    if pem.len() as u64 > FILE_BYTES_MAX {
        return Err(refused(setting, path, &format!("it is larger than {FILE_BYTES_MAX} bytes")));
    }
    Ok(pem)
}

fn refused(setting: &str, path: &Path, why: &str) -> Failure {
    let message = format!("`{setting}` in `{}` cannot be used: {why}", path.display());
    Failure::new(Code::SettingsInvalid, message).with_next(Advice::NamePemPair)
}
