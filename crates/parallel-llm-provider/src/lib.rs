//! Calls models over HTTP: one request, one reply, and a typed reason if there is no reply.
//!
//! [`Provider`] implements the engine's [`Caller`](parallel_llm_engine::port::Caller). The engine decides whether a call
//! is retried, how long a reply may take, and whether a text is an answer; the program supplies keys, addresses and
//! limits: nothing here reads the environment.
//!
//! ```text
//! Call → admission → codec → http → sse → codec → reply → ReplyPart …
//!            ↑                       └→ classify, transport → Failure → scrubber
//!            └ results of earlier calls
//! ```
//!
//! Invariants:
//! - one call is at most one request: nothing is sent again and no redirect is followed;
//! - a key is sent only to the host it is bound to, and does not appear in any failure or name;
//! - memory for a reply is limited by named constants, whatever its sender does;
//! - only [`client`](Provider), [`Documents`] and [`Collector`] do IO; everything that decides is a pure function of bytes, or of
//!   earlier results and the time.
#![warn(missing_docs)]

mod admission;
mod api_key;
mod billing;
mod breaker;
mod charge;
mod classify;
mod client;
mod codec;
mod collector;
mod concurrency;
mod credit;
mod date;
mod dialect;
mod documents;
mod endpoint;
#[doc(hidden)]
pub mod fuzz;
mod gate;
mod guarded;
mod http;
mod known;
mod models;
mod reply;
mod retry_after;
mod scrubber;
mod sse;
mod template;
mod traces;
mod transport;
mod wire;

pub use api_key::ApiKey;
pub use billing::Billing;
pub use breaker::{Circuit, CircuitState};
pub use client::{Provider, ProviderConfig};
pub use collector::Collector;
pub use credit::Credit;
pub use dialect::{CapField, Dialect, EffortField, KeyHeader, KeyRule, Protocol, UsageRequest};
pub use documents::Documents;
pub use endpoint::{Endpoint, KeyFetch, is_loopback_url};
pub use known::Known;
pub use models::{EMBEDDED_ON, embedded_catalogue};
pub use scrubber::Scrubber;
pub use traces::{TraceReach, Traces};
