//! Encrypted connections to a server: what each word of `sslmode` accepts. The server of the tests speaks plainly, so a front
//! encrypts for it.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use crate::support::place::only_on_a_server;
use crate::support::{Fixture, every_kind, plan, run_id, write};
use parallel_llm_engine::request::StoreMode;
use parallel_llm_store::{RunScope, Store, StoreConfig};
use rcgen::generate_simple_self_signed;
use rustls::ServerConfig;
use rustls::pki_types::PrivateKeyDer;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;

/// What a client sends first: it asks whether the server encrypts.
const SSL_REQUEST: [u8; 8] = [0, 0, 0, 8, 4, 210, 22, 47];

/// The server behind a front of its own.
struct Front {
    port: u16,
    _task: JoinSet<()>,
}

/// A certificate for this name that is its own authority, in a file.
fn certificate(folder: &Path, name: &str) -> (PathBuf, TlsAcceptor) {
    let made = generate_simple_self_signed([name.to_owned()]).unwrap();
    let file = folder.join(format!("{name}.pem"));
    std::fs::write(&file, made.cert.pem()).unwrap();
    let key = PrivateKeyDer::try_from(made.signing_key.serialize_der()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![made.cert.der().clone()], key)
        .unwrap();
    (file, TlsAcceptor::from(Arc::new(config)))
}

impl Front {
    /// A front of this address that encrypts, or says that it does not.
    async fn of(address: String, acceptor: Option<TlsAcceptor>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let mut task = JoinSet::new();
        task.spawn(async move {
            let mut streams = JoinSet::new();
            loop {
                let (near, _) = listener.accept().await.unwrap();
                streams.spawn(pass_on(near, address.clone(), acceptor.clone()));
            }
        });
        Self { port, _task: task }
    }
}

/// A client that refuses the certificate, or the lack of one, leaves.
async fn pass_on(mut near: TcpStream, address: String, acceptor: Option<TlsAcceptor>) -> Option<()> {
    let mut first = [0; SSL_REQUEST.len()];
    near.read_exact(&mut first).await.ok()?;
    assert_eq!(first, SSL_REQUEST, "nothing is said before encryption is asked for");
    let mut far = TcpStream::connect(address).await.ok()?;
    if let Some(acceptor) = acceptor {
        near.write_all(b"S").await.ok()?;
        let mut near = acceptor.accept(near).await.ok()?;
        copy_bidirectional(&mut near, &mut far).await.ok()?;
    } else {
        near.write_all(b"N").await.ok()?;
        copy_bidirectional(&mut near, &mut far).await.ok()?;
    }
    Some(())
}

#[tokio::test(flavor = "multi_thread")]
async fn each_word_of_sslmode_accepts_what_it_promises() {
    only_on_a_server!();
    let fixture = Fixture::new().await;
    write(&fixture.store, plan(1, StoreMode::Full), every_kind()).await;
    let url = fixture.place.url.clone().unwrap();
    let (begin, rest) = url.split_once('@').unwrap();
    let (address, rest) = rest.split_once('/').unwrap();
    let folder = fixture.folder.path();
    let (ours, encrypting) = certificate(folder, "localhost");
    let (others, of_another) = certificate(folder, "db.example.com");
    let [encrypting, of_another, plain] =
        [Some(encrypting), Some(of_another), None].map(|acceptor| Front::of(address.to_owned(), acceptor));
    let (encrypting, of_another, plain) = tokio::join!(encrypting, of_another, plain);
    let check = async |front: &Front, mode: &str, roots: Option<&PathBuf>, refused: Option<&str>| {
        let words = roots.map_or_else(String::new, |file| format!("&sslrootcert={}", file.display()));
        let rest = rest.replace("sslmode=disable", &format!("sslmode={mode}{words}"));
        let url = format!("{begin}:s3cret@localhost:{}/{rest}", front.port);
        let mut config = StoreConfig::on_server(url.parse().unwrap(), folder.join("elsewhere"));
        config.wait = Duration::from_secs(2);
        match (Store::open(config).await, refused) {
            (Ok(store), None) => {
                let stored = store.load(RunScope::All, run_id(1)).await.unwrap().unwrap();
                assert_eq!(stored.events, every_kind());
                store.close().await;
            }
            (Err(failure), Some(refused)) => {
                assert!(failure.message.contains(refused), "{mode}: {failure:?}");
                assert!(!format!("{failure:?}").contains("s3cret"), "{failure:?}");
            }
            (opened, _) => panic!("{mode} {roots:?}: {:?}", opened.map(drop)),
        }
    };
    check(&encrypting, "verify-full", Some(&ours), None).await;
    check(&encrypting, "verify-full", Some(&others), Some("certificate")).await;
    check(&encrypting, "verify-full", None, Some("certificate")).await;
    check(&of_another, "verify-full", Some(&others), Some("certificate")).await;
    check(&of_another, "verify-ca", Some(&others), None).await;
    check(&of_another, "verify-ca", Some(&ours), Some("certificate")).await;
    check(&of_another, "require", Some(&ours), Some("certificate")).await;
    check(&of_another, "require", None, None).await;
    check(&of_another, "prefer", None, None).await;
    check(&plain, "prefer", None, None).await;
    for mode in ["require", "verify-ca", "verify-full"] {
        check(&plain, mode, Some(&ours), Some("TLS")).await;
    }
}
