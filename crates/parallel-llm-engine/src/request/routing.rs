//! Terms for routers: which providers may serve a question, at what price, and whether they may keep it.
//!
//! The terms are stored with the plan, so that a resumed run is asked under the same ones. Only the codec of a router reads
//! them and decides what each becomes on the wire.

use serde::{Deserialize, Serialize};

use crate::value::money::PicoUsd;

/// Terms for the providers behind a router. Empty terms leave the choice to the router.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Routing {
    /// Providers to try first, in this order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub order: Vec<String>,
    /// The only providers that may serve.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub only: Vec<String>,
    /// Providers that may not serve.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ignore: Vec<String>,
    /// Whether other providers may serve if those of `order` cannot.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fallbacks: Option<bool>,
    /// Whether providers that keep questions may serve.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data_collection: Option<DataCollection>,
    /// Whether only providers with zero data retention may serve.
    #[serde(skip_serializing_if = "is_false")]
    pub zdr: bool,
    /// The highest price of a million input tokens.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input_price_max: Option<PicoUsd>,
    /// The highest price of a million output tokens.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_price_max: Option<PicoUsd>,
    /// The service tier to ask for, by the provider's name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub service_tier: Option<String>,
    /// Which calls share a session, and so the prompt cache of a provider.
    pub session: Session,
}

/// The service tiers that cost no more than the lists say.
const LISTED_TIERS: [&str; 2] = ["default", "flex"];

impl Routing {
    /// Whether a service tier is asked for that may cost more than the lists say.
    pub fn asks_for_dearer_tier(&self) -> bool {
        self.service_tier.as_deref().is_some_and(|tier| !LISTED_TIERS.contains(&tier))
    }

    /// Whether the terms demand privacy, which only a router can grant.
    pub fn is_private(&self) -> bool {
        self.zdr || self.data_collection == Some(DataCollection::Deny)
    }
}

/// Whether providers that store questions, or train on them, may serve.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DataCollection {
    /// They may.
    Allow,
    /// They may not.
    Deny,
}

/// Which calls share a session.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Session {
    /// All calls of a run.
    #[default]
    Run,
    /// The calls of one seat.
    Seat,
    /// No calls: the request names no session.
    Off,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands a reference")]
const fn is_false(value: &bool) -> bool {
    !*value
}
