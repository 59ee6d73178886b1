//! What a router of models may do with a question: which providers may serve it, at what price, and what they may
//! keep of it.
//!
//! Plain values, stored with the plan, so that a run that is resumed is asked under the same terms. Only a provider
//! that routes reads them; what each field becomes on the wire is its business.

use serde::{Deserialize, Serialize};

use crate::value::money::PicoUsd;

/// Terms for the providers behind a router. Empty: the router's own choice.
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
    /// Whether others may serve when those of `order` cannot.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fallbacks: Option<bool>,
    /// Whether providers that keep questions may serve.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data_collection: Option<DataCollection>,
    /// Whether only providers that retain nothing may serve.
    #[serde(skip_serializing_if = "is_false")]
    pub zdr: bool,
    /// The most a million tokens sent may cost.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input_price_max: Option<PicoUsd>,
    /// The most a million tokens received may cost.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_price_max: Option<PicoUsd>,
    /// The service tier to ask for, in the provider's word.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub service_tier: Option<String>,
    /// Which calls share a session, and with it a provider's prompt cache.
    pub session: Session,
}

impl Routing {
    /// Whether questions are to stay private, which only a router can promise.
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
    /// None: no session is named.
    Off,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands a reference")]
const fn is_false(value: &bool) -> bool {
    !*value
}
