//! A simulator of OpenRouter and other providers on loopback: it answers, charges, fails, and records every request.
//!
//! Tests, the demo and the benchmarks start it in their own process. It needs no network, and its keys are valid nowhere
//! else. It imports nothing from the program's other crates, so that a mistake cannot hide by being made on both sides.
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
//! **How a request is answered.** `route` reads the request and opens an `exchange`, which keeps log and ledger.
//! `dialect` finds the provider, and `chat` makes that provider's checks. `respond` applies the script from the
//! `script_table` to a `draft`, which `protocol` encodes; the result is a `reply`, a list of timed steps that `player`
//! plays. Normal answers and faults take the same way.
//!
//! **Providers.** Each of [`Simulator::dialects`] has a base URL, [`Simulator::base_url_of`], and below it `GET models`
//! and the provider's own endpoints. [`Fault::applies_to`] says which faults a provider has.
//!
//! | name | base | endpoints | key | notes |
//! |---|---|---|---|---|
//! | `openrouter` | `/api/v1` | `chat/completions` | Bearer | the captured original |
//! | `openai` | `/openai/v1` | `chat/completions` | Bearer | unknown fields are refused; reasoning models refuse sampling parameters |
//! | `anthropic` | `/anthropic/v1` | `messages`, `chat/completions` | `x-api-key` or Bearer | `messages` requires `anthropic-version`; thinking is always shown |
//! | `gemini` | `/gemini/v1beta` | `models/{m}:generateContent` and `:streamGenerateContent`, `openai/chat/completions` | `x-goog-api-key`; Bearer below `openai` | thoughts are shown with `includeThoughts` |
//! | `azure` | `/azure/openai/v1` | `chat/completions` | `api-key` or Bearer | the first chunk has no choices |
//! | `groq` | `/groq/openai/v1` | `chat/completions` | Bearer | `x_groq.usage`; overload is 498 |
//! | `deepseek` | `/deepseek` | `chat/completions` | Bearer | only `max_tokens` limits the output |
//! | `xai` | `/xai/v1` | `chat/completions` | Bearer | models with mandatory reasoning refuse `reasoning_effort`; `completion_tokens` excludes reasoning |
//! | `mistral` | `/mistral/v1` | `chat/completions` | Bearer | 422 on unknown fields; reasoning is an item of `content` |
//! | `together` | `/together/v1` | `chat/completions` | Bearer | only `max_tokens` limits the output |
//! | `moonshot` | `/moonshot/v1` | `chat/completions` | Bearer | usage inside the choice |
//! | `ollama` | `/ollama/v1` | `chat/completions`, beside it `/ollama/api/chat` and `/ollama/api/tags` | none | a prompt is cut at 4096 tokens or `num_ctx` |
//! | `lmstudio` | `/lmstudio/v1` | `chat/completions` | none | |
//! | `vllm` | `/vllm/v1` | `chat/completions` | none | |
//!
//! A model has the name that its provider gives it: the part of the slug after the slash. Routers and local servers
//! (Azure, Groq, Together, Ollama, LM Studio, vLLM) offer the models of every lab, also by their full slug. All of them
//! refuse a key in the URL with 400, so that the leak is noticed.
//!
//! **Fault models.** A model named `fault-<name>`, such as `fault-server_500` or `fault-server_500(2)`, plays that fault
//! in every dialect; OpenRouter's is named `sim/fault-<name>`. Model lists omit these names.
//!
//! **Scripts.** Set them with [`Simulator::script`], for one request with the header `X-Sim-Scenario: <fault>` (see
//! [`Script`]'s `FromStr`), or over HTTP, without a key:
//!
//! | route | body | reply |
//! |---|---|---|
//! | `GET /__sim/requests` | | a list of [`RecordedRequest`] |
//! | `GET /__sim/stats` | | [`Stats`] |
//! | `POST /__sim/script` | [`ScriptRequest`] | `{}` |
//!
//! **Connections.** HTTP/1.1 and HTTP/2 share one port. Without TLS, the client's first bytes decide the version (HTTP/2
//! with prior knowledge); with [`SimulatorConfig::tls`], ALPN decides. [`SimulatorConfig::http`] can exclude either
//! version. [`Simulator::certificate_pem`] is the certificate to trust. A fault of the connection is played in the nearest
//! possible way:
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
//! TLS changes nothing: bytes are counted above it, and a closing connection sends no `close_notify`.
//!
//! **Invariants.** The simulator listens on loopback only. Money is exact. The same seed gives the same answers, speeds
//! and ids; only the certificate changes. Every log, queue, cache and endless reply has a bound. A client that hangs up, or
//! resets a stream, is noticed while the simulator waits.
//!
//! **Not simulated.** Real tokenizers (a token is four bytes), provider routing, price limits, spending limits and caching.
//! Bodies and headers follow captures and documentation of August to October 2026 and may be outdated.

mod answer;
mod behaviour;
mod dialect;
mod endpoints;
mod listen;
mod protocol;
mod replies;
mod request;
mod scripted;
mod simulator;
mod state;

pub use answer::{DEMO_QUESTION, DEMO_VOTE_QUESTION};
pub use behaviour::config::{HttpVersions, SimulatorConfig};
pub use behaviour::fault::{Fault, UnknownFault};
pub use behaviour::script::{AFTER_TOKENS, Answer, Behaviour, Latency, Script};
pub use endpoints::control::ScriptRequest;
pub use simulator::Simulator;
pub use state::ledger::{Charge, LedgerView};
pub use state::money::{PICO_PER_USD, pico_usd};
pub use state::record::{RecordedRequest, Stats};
