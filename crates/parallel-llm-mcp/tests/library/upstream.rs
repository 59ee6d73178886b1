//! A simulated provider behind a wire that counts its open connections.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use parallel_llm_mcp::{Client, Panel, PanelBuilder, client::ClientBuilder};
use parallel_llm_testkit::simulator::{Script, Simulator, SimulatorConfig};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

/// The models of the panels here. None of them writes at length, so that a run takes milliseconds.
pub(crate) const MODELS: [&str; 2] = ["openai/gpt-6.1-sol", "x-ai/grok-4.7"];
/// Their synthesizer.
pub(crate) const WRITER: &str = "google/gemini-4-argon";
/// The longest wait for a connection to close.
const CLOSING_MAX: Duration = Duration::from_secs(5);

/// A simulator and the wire to it.
pub(crate) struct Upstream {
    pub(crate) simulator: Simulator,
    base_url: String,
    open: Arc<AtomicUsize>,
    _wire: JoinSet<()>,
}

impl Upstream {
    /// A simulator that answers at once.
    pub(crate) async fn start() -> Self {
        let local = "a local port is free";
        let simulator = Simulator::start(SimulatorConfig::instant()).await.expect(local);
        let listener = TcpListener::bind("127.0.0.1:0").await.expect(local);
        let target = simulator.address();
        let base_url = format!("http://{}/api/v1", listener.local_addr().expect(local));
        let (open, mut wire) = (Arc::new(AtomicUsize::new(0)), JoinSet::new());
        let counted = Arc::clone(&open);
        wire.spawn(async move {
            let mut connections = JoinSet::new();
            loop {
                let (mut near, _) = listener.accept().await.expect(local);
                let counted = Arc::clone(&counted);
                connections.spawn(async move {
                    counted.fetch_add(1, Ordering::SeqCst);
                    let mut far = TcpStream::connect(target).await.expect("the simulator listens");
                    let _ = tokio::io::copy_bidirectional(&mut near, &mut far).await;
                    counted.fetch_sub(1, Ordering::SeqCst);
                });
            }
        });
        Self { simulator, base_url, open, _wire: wire }
    }

    /// The same, where this model answers by this script.
    pub(crate) fn scripted(self, model: &str, script: Script) -> Self {
        self.simulator.script(model, script);
        self
    }

    /// A panel of two models that is called here.
    pub(crate) fn panel(&self) -> PanelBuilder {
        Panel::builder()
            .key(self.simulator.api_key())
            .base_url(&self.base_url)
            .panel(MODELS)
            .synthesizer([WRITER])
            .retries_max(0)
            .drain(Duration::from_millis(500))
    }

    /// A client that calls here.
    pub(crate) fn client(&self) -> ClientBuilder {
        Client::builder().key(self.simulator.api_key()).base_url(&self.base_url)
    }

    /// The chat requests so far.
    pub(crate) fn requests(&self) -> u64 {
        let requests = self.simulator.requests();
        requests.iter().filter(|request| request.path.ends_with("/chat/completions")).count() as u64
    }

    /// Waits until this many connections are open.
    pub(crate) async fn connections(&self, expected: usize) {
        let counted = async {
            while self.open.load(Ordering::SeqCst) != expected {
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
        };
        let waited = tokio::time::timeout(CLOSING_MAX, counted).await;
        let open = self.open.load(Ordering::SeqCst);
        assert!(waited.is_ok(), "{open} connections are open, not {expected}");
    }

    /// Waits until this many chat requests are being answered.
    pub(crate) async fn in_flight(&self, expected: u64) {
        let counted = async {
            while self.simulator.stats().in_flight != expected {
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
        };
        assert!(tokio::time::timeout(CLOSING_MAX, counted).await.is_ok(), "not {expected} in flight");
    }
}
