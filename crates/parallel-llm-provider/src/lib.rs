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

mod client;
mod codec;
mod collector;
mod connection;
mod documents;
#[doc(hidden)]
pub mod fuzz;
mod money;
mod pace;
mod providers;
mod read;
mod wire;

pub use client::provider::{Provider, ProviderConfig};
pub use collector::Collector;
pub use connection::endpoint::{Endpoint, KeyFetch, is_loopback_url};
pub use connection::traces::{TraceReach, Traces};
pub use documents::Documents;
pub use money::credit::Credit;
pub use money::models::{EMBEDDED_ON, embedded_catalogue};
pub use pace::breaker::{Circuit, CircuitState};
pub use providers::api_key::ApiKey;
pub use providers::billing::Billing;
pub use providers::dialect::{CapField, Dialect, EffortField, KeyHeader, KeyRule, Protocol, UsageRequest};
pub use providers::known::Known;
pub use providers::scrubber::Scrubber;
