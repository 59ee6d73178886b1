//! Model servers on this machine: looked for where they usually listen, and offered. Never used unasked.
//!
//! What always holds: a server that was not configured is sent one request for its list, and no key and no prompt. A
//! key alone is no configuration: its variable may serve another program.

use std::time::Duration;

use futures_util::future::join_all;
use parallel_llm_engine::Catalogue;
use parallel_llm_engine::request::panel::ModelRef;
use serde::Serialize;

use super::catalogue::KeyUse;
use super::lists::Lists;
use super::providers::{has_key, is_local};
use parallel_llm_settings::settings::ProviderSettings;

/// How long a server on this machine is looked for. One that runs answers in milliseconds, and a port nobody
/// listens on refuses at once; only one that listens and says nothing makes this wait.
const LOOK_MAX: Duration = Duration::from_millis(1_000);

/// A model server that runs on this machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LocalServer {
    /// The provider's id.
    pub provider: String,
    /// Its name for people.
    pub name: String,
    /// Where it is.
    pub base_url: String,
    /// How many models it has.
    pub models: usize,
    /// A model to ask, as `-m` takes it; null where it has none yet.
    pub example: Option<String>,
}

impl Lists {
    /// Looks for all of them at once. One with an address and a key of its own is no find: somebody has set it up.
    pub(crate) async fn local_servers(&self) -> Vec<LocalServer> {
        let is_find = |provider: &&ProviderSettings| {
            is_local(provider) && (self.providers.is_presumed(provider) || !has_key(provider))
        };
        let look = async |provider: &ProviderSettings| {
            let key = if self.providers.is_presumed(provider) {
                KeyUse::Withheld
            } else {
                // Where a key would be needed, it is another machine.
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
    /// The offer to use it, in a sentence without its end.
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
