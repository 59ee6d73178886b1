//! Whether every configured provider has its key. Names the variable, never the value.

use std::collections::BTreeSet;

use futures_util::future::join_all;
use parallel_llm_engine::{Failure, ProviderId};

use crate::doctor::finding::Finding;
use crate::doctor::instruments::Doctor;
use parallel_llm_settings::settings::ProviderKey;

pub(crate) async fn examine(doctor: &Doctor) -> Vec<Finding> {
    let named = doctor.configured.models();
    let providers: BTreeSet<&ProviderId> = named.iter().map(|named| &named.model.provider).collect();
    // Concurrently: each may have a slow key command.
    let check = async |provider| (provider, doctor.providers().check_key(provider).await);
    let checked = join_all(providers.into_iter().map(check)).await;
    let finding = |(provider, key): (&ProviderId, Result<(), Failure>)| {
        let settings = doctor.providers().find(provider);
        let name = settings.map_or(provider.0.as_str(), |settings| settings.name.as_str());
        match key {
            Ok(()) => Finding::ok(match settings.map(|settings| &settings.key) {
                Some(ProviderKey::Set { origin, .. }) => format!("{name} has a key ({origin})"),
                Some(ProviderKey::Command(words)) => {
                    format!("{name} has a key (from `{}`)", words.first().map_or("", String::as_str))
                }
                Some(ProviderKey::Missing) | None => format!("{name} needs no key"),
            }),
            Err(failure) => Finding::muting(provider, failure.message.clone(), failure.next_steps()),
        }
    };
    checked.into_iter().map(finding).collect()
}
