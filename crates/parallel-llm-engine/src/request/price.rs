//! Prices that no provider's own list tells: those of the user's settings, and those of the same model elsewhere.

use std::collections::{BTreeMap, BTreeSet};

use crate::request::catalogue::{ModelInfo, Price, PriceSource};
use crate::request::panel::{ModelRef, ProviderId};

/// The suffix by which a router searches the web for a call, which is billed besides the tokens.
const SEARCHING: &str = "online";
/// The suffix by which a router chooses the cheapest endpoint. By others that it does not list it chooses faster or better ones,
/// which may be dearer than its list says.
const CHEAPEST: &str = "floor";

/// What is known of prices besides the lists of the providers.
#[derive(Clone, Debug, Default)]
pub struct PriceBook {
    /// The prices of the user's settings.
    pub set: BTreeMap<ModelRef, Price>,
    /// The providers whose server is the user's own machine.
    pub own_machines: BTreeSet<ProviderId>,
    /// The routers that are asked for a service tier whose prices no list tells.
    pub dearer_tiers: BTreeSet<ProviderId>,
    /// The same models in the list of another provider.
    pub estimates: BTreeMap<ModelRef, ModelInfo>,
}

impl PriceBook {
    /// Whether a price is known, or the server asks for no money. `info` is the entry of the provider's own list.
    pub fn knows(&self, model: &ModelRef, info: Option<&ModelInfo>) -> bool {
        let (price, source) = self.price(model, 0, info, false);
        price.is_some() || source == PriceSource::OwnMachine
    }

    /// The price of a call with this many input tokens. `info` is the entry of the provider's own list, and `is_live` whether
    /// that list is current.
    pub(crate) fn price(
        &self,
        model: &ModelRef,
        input_tokens: u64,
        info: Option<&ModelInfo>,
        is_live: bool,
    ) -> (Option<Price>, PriceSource) {
        // As everywhere, a leading `~` may be left out.
        let plain = || {
            let model = model.clone();
            ModelRef { model: model.model.trim_start_matches('~').to_owned(), ..model }
        };
        if let Some(price) = self.set.get(model).or_else(|| self.set.get(&plain())) {
            return (Some(*price), PriceSource::Settings);
        }
        if self.may_exceed_list(model, info) && !self.own_machines.contains(&model.provider) {
            return (None, PriceSource::List);
        }
        if let Some(price) = info.and_then(|info| info.price_at(input_tokens)) {
            return (Some(price), PriceSource::List);
        }
        if let Some(price) = self.estimates.get(model).and_then(|info| info.price_at(input_tokens)) {
            return (Some(price), PriceSource::Estimate);
        }
        if self.own_machines.contains(&model.provider) {
            return (None, PriceSource::OwnMachine);
        }
        (None, if is_live && info.is_none() { PriceSource::Unlisted } else { PriceSource::List })
    }

    /// Whether a call may cost more than the list says, because it searches the web, or for the endpoint or the tier that it
    /// asks for.
    fn may_exceed_list(&self, model: &ModelRef, info: Option<&ModelInfo>) -> bool {
        let searches = model.model.split(':').skip(1).any(|suffix| suffix == SEARCHING);
        let is_listed = info.is_none_or(|info| is_at_most_list(&model.model, info));
        searches || !is_listed || self.dearer_tiers.contains(&model.provider)
    }
}

/// Whether a router calls the listed model under this name, or its cheapest endpoint.
fn is_at_most_list(name: &str, info: &ModelInfo) -> bool {
    let cheapest = || name.rsplit_once(':').filter(|(_, suffix)| *suffix == CHEAPEST);
    info.is_called(name) || cheapest().is_some_and(|(name, _)| is_at_most_list(name, info))
}
