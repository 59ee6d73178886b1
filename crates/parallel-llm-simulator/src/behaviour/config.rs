//! The configuration of a simulator; its defaults are a plausible OpenRouter account.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr};

use super::script::{Behaviour, Latency, Script};

/// The configuration of a simulator.
#[derive(Clone, Debug)]
pub struct SimulatorConfig {
    /// The same seed gives the same answers, latencies and ids.
    pub seed: u64,
    /// The address to listen on. Only loopback is accepted; port 0 picks a free port.
    pub address: SocketAddr,
    /// Accepted keys. If empty, one is derived from the seed.
    pub api_keys: Vec<String>,
    /// Serves HTTPS with a certificate made at start, for `localhost`, 127.0.0.1 and the address.
    pub tls: bool,
    /// Accepted HTTP versions; with TLS these are the ones ALPN offers.
    pub http: HttpVersions,
    /// Longest request body; longer ones get a 413.
    pub body_bytes_max: usize,
    /// Most connections served at once; more wait in the listener's backlog.
    pub connections_max: usize,
    /// Factor for every latency: 0 never sleeps, 1 waits as scripted.
    pub time_scale: f64,
    /// How long after its end a generation is still unknown to `/generation`.
    pub generation_delay_ms: u64,
    /// The behaviour of models without a script.
    pub behaviour: Behaviour,
    /// Scripts by slug; `"*"` applies to every model without a script of its own.
    pub scripts: BTreeMap<String, Script>,
}

/// Accepted HTTP versions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum HttpVersions {
    /// HTTP/1.1 and HTTP/2, as the client chooses.
    #[default]
    Both,
    /// HTTP/1.1.
    Only1,
    /// HTTP/2; without TLS only with prior knowledge.
    Only2,
}

/// OpenRouter publishes no limit; this fits every prompt of the tests.
const BODY_BYTES_MAX: usize = 10 * 1024 * 1024;

/// Enough for a thousand runs at once, below the usual limit on descriptors.
const CONNECTIONS_MAX: usize = 4096;

/// A synthesis with its analysis is about a thousand tokens; at this speed the demo ends after some eight seconds.
const SYNTHESIS_TOKENS_PER_S: u32 = 400;

impl Default for SimulatorConfig {
    fn default() -> Self {
        Self {
            seed: 1,
            address: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
            api_keys: Vec::new(),
            tls: false,
            http: HttpVersions::Both,
            body_bytes_max: BODY_BYTES_MAX,
            connections_max: CONNECTIONS_MAX,
            time_scale: 1.0,
            generation_delay_ms: 1000,
            behaviour: Behaviour::default(),
            scripts: BTreeMap::new(),
        }
    }
}

impl SimulatorConfig {
    /// Never waits: for tests and benchmarks.
    pub fn instant() -> Self {
        Self { time_scale: 0.0, generation_delay_ms: 0, behaviour: Behaviour::instant(), ..Self::default() }
    }

    /// Speeds slow enough to watch: the fastest of five models takes about one second, the slowest about five, the
    /// synthesis about three.
    pub fn demo() -> Self {
        let pace = |mean, tokens_per_s, reasoning_tokens| {
            let ttft_ms = Latency { mean, jitter: mean / 10 };
            Script::behaving(Behaviour {
                ttft_ms,
                tokens_per_s,
                reasoning_tokens,
                synthesis_tokens_per_s: SYNTHESIS_TOKENS_PER_S,
                ..Behaviour::default()
            })
        };
        let scripts = [
            ("x-ai/grok-4.7", pace(450, 260, 0)),
            ("openai/gpt-6.1-sol", pace(700, 110, 24)),
            ("google/gemini-4-argon", pace(900, 90, 16)),
            ("anthropic/claude-opus-5.5", pace(800, 80, 40)),
            ("deepseek/deepseek-v4-pro-0813", pace(1100, 60, 0)),
        ];
        let scripts = scripts.map(|(slug, script)| (slug.to_owned(), script));
        let behaviour = Behaviour { synthesis_tokens_per_s: SYNTHESIS_TOKENS_PER_S, ..Behaviour::default() };
        Self { scripts: BTreeMap::from(scripts), behaviour, ..Self::default() }
    }
}
