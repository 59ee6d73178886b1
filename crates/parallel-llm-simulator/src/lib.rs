//! A pretend OpenRouter, and a pretend everybody else, on loopback: it answers, charges and fails like the real one,
//! and keeps what it was asked.
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
//! **How a request is answered.** `route` reads it and opens an `exchange`, which keeps log and ledger; `dialect` says
//! whom it asks, and `chat` makes that provider's checks; `scene` turns the script on the `stage` into a `draft`, which
//! `protocol` writes as a `reply`, a plain list of timed steps; `player` plays it. Normal answers and faults take the
//! same way.
//!
//! **Whom it pretends to be.** Each of [`Simulator::dialects`] has a base URL, [`Simulator::base_url_of`], and below it
//! `GET models` and the provider's own endpoints; which fault belongs to whom says [`Fault::applies_to`].
//!
//! | name | base | below it | key | worth knowing |
//! |---|---|---|---|---|
//! | `openrouter` | `/api/v1` | `chat/completions` | Bearer | the captured original |
//! | `openai` | `/openai/v1` | `chat/completions` | Bearer | unknown fields are refused; models that reason take no sampling |
//! | `anthropic` | `/anthropic/v1` | `messages`, `chat/completions` | `x-api-key` or Bearer | `messages` wants `anthropic-version`; thinking is always shown |
//! | `gemini` | `/gemini/v1beta` | `models/{m}:generateContent` and `:streamGenerateContent`, `openai/chat/completions` | `x-goog-api-key`; Bearer below `openai` | thoughts are shown if `includeThoughts` |
//! | `azure` | `/azure/openai/v1` | `chat/completions` | `api-key` or Bearer | the first chunk has no choices |
//! | `groq` | `/groq/openai/v1` | `chat/completions` | Bearer | `x_groq.usage`; overload is 498 |
//! | `deepseek` | `/deepseek` | `chat/completions` | Bearer | only `max_tokens` limits |
//! | `xai` | `/xai/v1` | `chat/completions` | Bearer | a model that cannot but reason refuses `reasoning_effort`; `completion_tokens` leaves reasoning out |
//! | `mistral` | `/mistral/v1` | `chat/completions` | Bearer | 422 on unknown fields; reasoning is a part of `content` |
//! | `together` | `/together/v1` | `chat/completions` | Bearer | only `max_tokens` limits |
//! | `moonshot` | `/moonshot/v1` | `chat/completions` | Bearer | usage in the choice |
//! | `ollama` | `/ollama/v1` | `chat/completions`, beside it `/ollama/api/chat` and `/ollama/api/tags` | none | a prompt is cut at 4096 tokens or `num_ctx` |
//! | `lmstudio` | `/lmstudio/v1` | `chat/completions` | none | |
//! | `vllm` | `/vllm/v1` | `chat/completions` | none | |
//!
//! A model is called as its provider calls it: the part of the slug after the slash. Routers and servers of one's own
//! (Azure, Groq, Together, Ollama, LM Studio, vLLM) have the models of every lab, also under the whole slug. A key in
//! a URL is refused with 400 by all of them, so that the leak is noticed.
//!
//! **How a person tries a fault.** A model called `fault-<name>`, such as `fault-server_500` or `fault-server_500(2)`,
//! plays it in every dialect; at OpenRouter it is called `sim/fault-<name>`. Nobody lists these names.
//!
//! **How it is told what to do.** By [`Simulator::script`], by the request's header `X-Sim-Scenario: <fault>` (see
//! [`Script`]'s `FromStr`), or over HTTP, without a key:
//!
//! | route | body | reply |
//! |---|---|---|
//! | `GET /__sim/requests` | | a list of [`RecordedRequest`] |
//! | `GET /__sim/stats` | | [`Stats`] |
//! | `POST /__sim/script` | [`ScriptRequest`] | `{}` |
//!
//! **How it is reached.** HTTP/1.1 and HTTP/2 share one port: without TLS a client says by its first bytes which it
//! speaks (HTTP/2 with prior knowledge), with [`SimulatorConfig::tls`] ALPN decides, and [`SimulatorConfig::http`] may
//! leave one of them out. Whoever should trust the certificate finds it at [`Simulator::certificate_pem`]. A fault of
//! the wire is played in the way that comes nearest:
//!
//! | fault | on HTTP/1.1 | on HTTP/2 |
//! |---|---|---|
//! | `sse_reset` | a TCP reset | RST_STREAM; the connection and its other streams live on |
//! | `sse_eof_in_chunk` | the connection closes inside an HTTP chunk | the connection closes inside a DATA frame |
//! | `sse_cut` and the like | the last chunk comes early | END_STREAM comes early |
//! | `accept_and_close` | the connection closes without a byte | the same, and all its streams with it |
//! | `accept_no_reply`, `stall` | silence, the connection open | silence on this stream only |
//! | `byte_split` | HTTP chunks of one byte | DATA frames of one byte |
//!
//! In TLS they are the same: bytes are counted above it, and a connection that closes sends no `close_notify`.
//!
//! **What always holds.** It listens on loopback only. Money is exact. The same seed gives the same answers, speeds and
//! ids; only the certificate is another each time. Each log, queue, cache and endless reply has a bound. A client that
//! hangs up, or gives up a stream, is noticed while the simulator waits.
//!
//! **What it is not.** True tokenizers, routing by price, caching and what routing tells of itself are not simulated.
//! Four bytes are a token. Bodies and headers follow captures and
//! documents of August to October 2026 and may drift.

mod account;
mod answer;
mod catalogue;
mod chat;
mod clock;
mod config;
mod control;
mod dialect;
mod draft;
mod exchange;
mod fault;
mod json;
mod ledger;
mod listing;
mod model_list;
mod money;
mod off_protocol;
mod player;
mod protocol;
mod record;
mod reply;
mod request;
mod respond;
mod route;
mod script;
mod script_table;
mod seed;
mod server;
mod simulator;
mod socket;
mod sse;
mod stream;
mod timing;
mod tls;
mod whole;

pub use answer::DEMO_QUESTION;
pub use config::{HttpVersions, SimulatorConfig};
pub use control::ScriptRequest;
pub use fault::{Fault, UnknownFault};
pub use ledger::{Charge, LedgerView};
pub use money::{PICO_PER_USD, pico_usd};
pub use record::{RecordedRequest, Stats};
pub use script::{AFTER_TOKENS, Answer, Behaviour, Latency, Script};
pub use simulator::Simulator;
