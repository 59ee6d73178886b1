//! TLS with a certificate made at start.

use parallel_llm_simulator::{HttpVersions, Simulator, SimulatorConfig};
use tokio::net::TcpStream;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};

use crate::client::{End, get, send};
use crate::peer::trusting;

async fn started(http: HttpVersions) -> Simulator {
    let config = SimulatorConfig { tls: true, http, ..SimulatorConfig::instant() };
    Simulator::start(config).await.unwrap()
}

/// The negotiated protocol; `None` if the handshake fails.
async fn agreed(simulator: &Simulator, certificate: &[u8], name: &'static str) -> Option<String> {
    let stream = TcpStream::connect(simulator.address()).await.unwrap();
    let connector = trusting(certificate, &[b"http/1.1", b"h2"]);
    let stream = connector.connect(ServerName::try_from(name).unwrap(), stream).await.ok()?;
    Some(String::from_utf8(stream.get_ref().1.alpn_protocol().unwrap().to_vec()).unwrap())
}

#[tokio::test]
async fn the_certificate_is_for_loopback_and_for_this_simulator() {
    let simulator = started(HttpVersions::Both).await;
    let certificate = simulator.certificate_der().unwrap();
    for name in ["127.0.0.1", "localhost"] {
        assert_eq!(agreed(&simulator, certificate, name).await.as_deref(), Some("h2"), "{name}");
    }
    assert_eq!(agreed(&simulator, certificate, "openrouter.ai").await, None);
    let other = started(HttpVersions::Both).await;
    assert_eq!(agreed(&other, certificate, "127.0.0.1").await, None);
    let pem = simulator.certificate_pem().unwrap();
    assert_eq!(CertificateDer::from_pem_slice(pem.as_bytes()).unwrap().as_ref(), certificate);
}

#[tokio::test]
async fn alpn_offers_the_chosen_versions() {
    for (http, protocol) in
        [(HttpVersions::Both, "h2"), (HttpVersions::Only1, "http/1.1"), (HttpVersions::Only2, "h2")]
    {
        let simulator = started(http).await;
        let certificate = simulator.certificate_der().unwrap();
        assert_eq!(agreed(&simulator, certificate, "127.0.0.1").await.as_deref(), Some(protocol), "{http:?}");
    }
}

#[tokio::test]
async fn the_urls_are_https() {
    let simulator = started(HttpVersions::Both).await;
    let address = simulator.address();
    assert_eq!(simulator.origin(), format!("https://{address}"));
    assert_eq!(simulator.base_url(), format!("https://{address}/api/v1"));
    let plain = Simulator::start(SimulatorConfig::instant()).await.unwrap();
    assert_eq!(plain.base_url(), format!("http://{}/api/v1", plain.address()));
    assert_eq!((plain.certificate_der(), plain.certificate_pem()), (None, None));
}

#[tokio::test]
async fn a_client_without_tls_is_refused() {
    let simulator = started(HttpVersions::Both).await;
    let reply = send(&simulator, &get(&simulator, "/api/v1/credits")).await;
    assert_eq!(reply.status, 0);
    assert!(matches!(reply.end, End::Cut | End::Reset));
    assert_eq!(simulator.requests(), []);
}
