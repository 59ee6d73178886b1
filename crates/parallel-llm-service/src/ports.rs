//! The functions that the program supplies to the services, and the name of the provider that is always configured.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use parallel_llm_engine::{Failure, ProviderId};
use parallel_llm_provider::{Circuit, Credit};

/// The name of the provider that is always configured.
pub const OPENROUTER: &str = "openrouter";

/// Fetches the credit left on a provider's key; `None` if the provider does not report it.
pub type FetchCredit =
    Box<dyn Fn(ProviderId) -> BoxFuture<'static, Result<Option<Credit>, Failure>> + Send + Sync>;

/// Checks that a provider that needs a key has one; the failure names what to set.
pub type CheckKey = Box<dyn Fn(ProviderId) -> BoxFuture<'static, Result<(), Failure>> + Send + Sync>;

/// Fetches a provider's clock, in milliseconds since 1970; `None` if the provider sends no time.
pub type FetchTime =
    Box<dyn Fn(ProviderId) -> BoxFuture<'static, Result<Option<u64>, Failure>> + Send + Sync>;

/// Posts a body of JSON to a path below the address of the collector of telemetry.
pub type PostTelemetry =
    Arc<dyn Fn(&'static str, Vec<u8>) -> BoxFuture<'static, Result<(), Failure>> + Send + Sync>;

/// Closes idle connections to providers.
pub type Disconnect = Box<dyn Fn() + Send + Sync>;

/// Lists the circuits that are open: models that are not asked for a while, because they keep failing.
pub type OpenCircuits = Box<dyn Fn() -> Vec<Circuit> + Send + Sync>;
