//! The prices of the user's settings under the names by which models are asked.

use std::collections::BTreeMap;
use std::sync::Arc;

use parallel_llm_engine::request::catalogue::Price;
use parallel_llm_engine::request::price::PriceBook;
use parallel_llm_engine::request::short_name::NamedModels;
use parallel_llm_engine::{Catalogue, ModelRef, ProviderId};

/// Gives the prices of the settings to the full names, too, of the models that they call by a short name or in another case.
pub(super) fn under_full_names(prices: &mut PriceBook, catalogues: &BTreeMap<ProviderId, Arc<Catalogue>>) {
    let full = |model: &ModelRef| {
        let catalogue = catalogues.get(&model.provider)?;
        if catalogue.find(&model.model).is_some() {
            return None;
        }
        match catalogue.named(&model.model) {
            NamedModels::One(id) => Some(ModelRef { model: id, ..model.clone() }),
            NamedModels::None | NamedModels::Several(_) => None,
        }
    };
    let set: Vec<(ModelRef, Price)> =
        prices.set.iter().filter_map(|(model, price)| Some((full(model)?, *price))).collect();
    for (model, price) in set {
        prices.set.entry(model).or_insert(price);
    }
}
