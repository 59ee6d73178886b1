//! A key for every provider that the settings name. By the name of its variable, never by its value.

use std::collections::BTreeMap;

use futures_util::future::join_all;
use parallel_llm_engine::{Failure, ProviderId};

use super::{Finding, Service};
use crate::service::roll_call::Named;
use crate::settings::KeyWish;

pub(super) async fn look(service: &Service) -> Vec<Finding> {
    let named = service.named_models();
    let is_of_panel = |named: &Named| named.places.iter().any(|place| place == "panel");
    let mut providers: BTreeMap<_, bool> = BTreeMap::new();
    for model in &named {
        *providers.entry(&model.model.provider).or_default() |= is_of_panel(model);
    }
    // All at once: each may have a program that takes its time.
    let check = async |(provider, is_of_panel)| (provider, is_of_panel, service.check_key(provider).await);
    let checked = join_all(providers.into_iter().map(check)).await;
    // One key is enough for a run; without any there is none.
    let panel_is_mute = checked.iter().filter(|(_, of_panel, _)| *of_panel).all(|(_, _, key)| key.is_err());
    let finding = |(provider, is_of_panel, key): (&ProviderId, bool, Result<(), Failure>)| {
        let settings = service.provider(provider);
        let name = settings.map_or(provider.0.as_str(), |settings| settings.name.as_str());
        match key {
            Ok(()) => Finding::ok(match settings.map(|settings| &settings.key) {
                Some(KeyWish::Set { origin, .. }) => format!("{name} has a key ({origin})"),
                Some(KeyWish::Command(words)) => {
                    format!("{name} has a key (from `{}`)", words.first().map_or("", String::as_str))
                }
                Some(KeyWish::Nothing) | None => format!("{name} needs no key"),
            }),
            Err(failure) if is_of_panel && panel_is_mute => {
                Finding::failed(failure.message.clone(), failure.next_step())
            }
            Err(failure) => Finding::warning(failure.message.clone(), failure.next_step()),
        }
    };
    checked.into_iter().map(finding).collect()
}
