//! Model servers on this machine: detected at their default addresses and offered, never used unasked.
//!
//! Invariants: an unconfigured server gets one request for its list, and no key or prompt. A key alone is no
//! configuration: its variable may serve another program.

use std::time::Duration;

use futures_util::future::join_all;
use parallel_llm_engine::Catalogue;
use parallel_llm_engine::request::panel::ModelRef;
use serde::Serialize;

use super::catalogue::KeyUse;
use super::lists::Lists;
use super::providers::{has_key, is_local};
use parallel_llm_settings::settings::ProviderSettings;

/// The longest wait for a local server. A running one answers in milliseconds, and a closed port refuses at once; only
/// a silent listener takes this long.
const LOOK_MAX: Duration = Duration::from_millis(1_000);

/// A running local model server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LocalServer {
    /// The provider's id.
    pub provider: String,
    /// Its name for people.
    pub name: String,
    /// Its base URL.
    pub base_url: String,
    /// The number of its models.
    pub models: usize,
    /// A model to ask, as `-m` takes it; null if it has none yet.
    pub example: Option<String>,
}

impl Lists {
    /// Looks for all local servers at once. A server with an address and a key is configured, and not reported.
    pub(crate) async fn local_servers(&self) -> Vec<LocalServer> {
        let is_find = |provider: &&ProviderSettings| {
            is_local(provider) && (self.providers.is_presumed(provider) || !has_key(provider))
        };
        let look = async |provider: &ProviderSettings| {
            let key = if self.providers.is_presumed(provider) {
                KeyUse::Withheld
            } else {
                // A server that needs a key is probably another machine's.
                self.providers.check_key(&provider.id).await.ok()?;
                KeyUse::Sent
            };
            let fetched = self.catalogues.fetch_now(&provider.id, key);
            let list = tokio::time::timeout(LOOK_MAX, fetched).await.ok()?.ok()?;
            Some(LocalServer::of(provider, &list.catalogue))
        };
        join_all(self.providers.all().filter(is_find).map(look)).await.into_iter().flatten().collect()
    }
}

impl LocalServer {
    /// The offer to use it, as a sentence without a period.
    pub fn offer(&self) -> String {
        let place = self.base_url.split_once("://").map_or(self.base_url.as_str(), |(_, rest)| rest);
        let authority = place.split('/').next().unwrap_or(place);
        let models = if self.models == 1 { "model" } else { "models" };
        let found = format!("found {} at {authority} with {} {models}", self.name, self.models);
        match &self.example {
            Some(example) => format!("{found}: ask one with `-m {example}`"),
            None => found,
        }
    }

    fn of(provider: &ProviderSettings, list: &Catalogue) -> Self {
        let example = list.models().first();
        let example = example.map(|info| ModelRef { provider: provider.id.clone(), model: info.id.clone() });
        Self {
            provider: provider.id.0.clone(),
            name: provider.name.clone(),
            base_url: provider.base_url.clone().unwrap_or_default(),
            models: list.models().len(),
            example: example.map(|model| model.to_string()),
        }
    }
}
