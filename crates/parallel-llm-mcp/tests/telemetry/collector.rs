//! A stand-in for a collector: keeps what it is sent, refuses, or never answers.

use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::sync::mpsc::sync_channel;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, Uri};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

/// What a collector does with what it is sent.
#[derive(Clone, Copy, Debug)]
pub(super) enum Does {
    Takes,
    Refuses(StatusCode),
    Hangs,
}

/// A request that it was sent.
#[derive(Clone, Debug)]
pub(super) struct Received {
    pub(super) path: String,
    pub(super) headers: HeaderMap,
    pub(super) body: Bytes,
}

/// A collector on a thread of its own. It stops when dropped.
pub(super) struct Collector {
    pub(super) address: SocketAddr,
    received: Arc<Mutex<Vec<Received>>>,
    end: CancellationToken,
}

type Kept = (Does, Arc<Mutex<Vec<Received>>>);

impl Collector {
    pub(super) fn that(does: Does) -> Self {
        let (received, end) = (Arc::<Mutex<Vec<Received>>>::default(), CancellationToken::new());
        let routes = Router::new().fallback(receive).with_state((does, Arc::clone(&received)));
        let (sender, bound) = sync_channel(1);
        let ended = end.clone();
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            runtime.expect("a test machine can start a thread").block_on(async {
                let listener =
                    tokio::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.expect("a free port");
                sender.send(listener.local_addr().expect("it is bound")).expect("the test waits");
                let serving = axum::serve(listener, routes).into_future();
                ended.run_until_cancelled(serving).await.transpose().expect("it serves");
            });
        });
        Self { address: bound.recv().expect("it begins"), received, end }
    }

    /// An address at which nobody listens.
    pub(super) fn nowhere() -> SocketAddr {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
        listener.local_addr().expect("it is bound")
    }

    pub(super) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Everything it was sent so far.
    pub(super) fn received(&self) -> Vec<Received> {
        self.received.lock().expect("no test holds it").clone()
    }

    /// The spans it was sent, by their beginning and name.
    pub(super) fn spans(&self) -> Vec<Value> {
        let bodies = self.bodies("/v1/traces").into_iter();
        let mut spans: Vec<Value> =
            bodies.flat_map(|body| list(&body["resourceSpans"][0]["scopeSpans"][0]["spans"])).collect();
        spans
            .sort_by_key(|span| (span["kind"].as_u64(), attribute(span, "gen_ai.request.model").to_string()));
        spans
    }

    /// The bodies posted to a path.
    pub(super) fn bodies(&self, path: &str) -> Vec<Value> {
        let posted = self.received().into_iter().filter(|received| received.path == path);
        posted.map(|received| serde_json::from_slice(&received.body).expect("JSON")).collect()
    }
}

impl Drop for Collector {
    fn drop(&mut self) {
        self.end.cancel();
    }
}

async fn receive(
    State((does, kept)): State<Kept>,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> (StatusCode, String) {
    kept.lock().expect("no test holds it").push(Received { path: uri.path().to_owned(), headers, body });
    match does {
        Does::Takes => (StatusCode::OK, json!({}).to_string()),
        Does::Refuses(status) => (status, String::new()),
        Does::Hangs => {
            tokio::time::sleep(Duration::from_secs(3_600)).await;
            (StatusCode::OK, String::new())
        }
    }
}

/// The entries of a list.
pub(super) fn list(value: &Value) -> Vec<Value> {
    value.as_array().cloned().unwrap_or_default()
}

/// An attribute of a span, without its type.
pub(super) fn attribute(span: &Value, name: &str) -> Value {
    let found = list(&span["attributes"]).into_iter().find(|attribute| attribute["key"] == name);
    let value = found.and_then(|attribute| attribute["value"].as_object()?.values().next().cloned());
    value.unwrap_or_default()
}
