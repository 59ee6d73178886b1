//! A pretend OpenRouter on loopback: it answers, charges and fails like the real one, and keeps what it was asked.
//!
//! Tests, the demo and the benchmarks start it in their own process; it needs no network and its key is worth nothing.
//! It imports nothing of the program's other crates, so that no mistake can hide by being made on both sides.
//!
//! ```
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> std::io::Result<()> {
//! use parallel_llm_simulator::{Fault, Script, Simulator, SimulatorConfig};
//!
//! let simulator = Simulator::start(SimulatorConfig::instant()).await?;
//! simulator.script("openai/gpt-6.1-sol", Script::fault(Fault::Server500).fail_first(1));
//! assert!(simulator.base_url().starts_with("http://127.0.0.1:"));
//! simulator.shutdown().await;
//! # Ok(())
//! # }
//! ```
//!
//! **How a request is answered.** `route` reads it and opens an `exchange`, which keeps log and ledger; `chat` makes
//! OpenRouter's checks; `scene` turns the script on the `stage` into a `reply`, a plain list of timed steps; `player`
//! plays it. Normal answers and faults take the same way.
//!
//! **How it is told what to do.** By [`Simulator::script`], by the request's header `X-Sim-Scenario: <fault>` (see
//! [`Script`]'s `FromStr`), or over HTTP, without a key:
//!
//! | route | body | reply |
//! |---|---|---|
//! | `GET /__sim/requests` | | a list of [`RecordedRequest`] |
//! | `GET /__sim/stats` | | [`Stats`] |
//! | `GET /__sim/ledger` | | [`LedgerView`] |
//! | `GET /__sim/redirected` | | a list of [`RecordedRequest`]: who followed `redirect_307` |
//! | `POST /__sim/script` | [`ScriptOrder`] | `{}` |
//! | `POST /__sim/reset` | | `{}` |
//!
//! **What always holds.** It listens on loopback only. Money is exact. The same seed gives the same answers, speeds and
//! ids. Each log, queue and endless reply has a bound. A client that hangs up is noticed while the simulator waits.
//!
//! **What it is not.** TLS, HTTP/2, true tokenizers, routing by price and prompt caching are not simulated. Four bytes
//! are a token. Bodies and headers follow captures and documents of August to October 2026 and may drift.

mod account;
mod answer;
mod catalogue;
mod chat;
mod clock;
mod config;
mod control;
mod draft;
mod exchange;
mod fault;
mod gzip;
mod json;
mod ledger;
mod listing;
mod money;
mod odd;
mod pace;
mod plain;
mod player;
mod record;
mod refusal;
mod reply;
mod request;
mod route;
mod scene;
mod script;
mod seed;
mod server;
mod simulator;
mod socket;
mod sse;
mod stage;
mod stream;
mod tempo;
mod whole;

pub use answer::DEMO_QUESTION;
pub use config::SimulatorConfig;
pub use control::ScriptOrder;
pub use fault::{Fault, UnknownFault};
pub use ledger::{Charge, LedgerView};
pub use money::{PICO_PER_USD, pico_usd};
pub use record::{RecordedRequest, Stats};
pub use script::{AFTER_TOKENS, Answer, Behaviour, Latency, Newline, Script, UsageShape};
pub use simulator::Simulator;
