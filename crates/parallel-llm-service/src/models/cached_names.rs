//! Cached names of models, for shell completion and menus.

use std::collections::BTreeSet;

use parallel_llm_engine::Failure;

use super::Models;
use super::catalogue::{KeyUse, Wanted};
use super::providers::has_key;
use crate::access::Scope;

impl Models {
    /// The names of models as a user types them, each once: those of the settings and the aliases first, then the cached lists of the
    /// default provider and of every provider with a key. No provider is asked, and no local server is looked for.
    pub async fn cached_names(&self) -> Result<Vec<String>, Failure> {
        self.principal.check(Scope::Read)?;
        let settings = self.settings();
        let aliases = settings.aliases.names().map(str::to_owned);
        let mut names: Vec<String> =
            settings.panel.iter().chain(&settings.synthesizer).cloned().chain(aliases).collect();
        let default = &settings.default_provider().id;
        for provider in self.lists.providers.all() {
            if provider.id != *default && !has_key(provider) {
                continue;
            }
            let known = self.lists.catalogues.look_up(&provider.id, Wanted::Cached, KeyUse::Withheld).await;
            let models = known.list.iter().flat_map(|list| list.catalogue.models());
            names.extend(models.map(|info| super::find::name(&provider.id, &info.id)));
        }
        let mut seen = BTreeSet::new();
        names.retain(|name| seen.insert(name.clone()));
        Ok(names)
    }
}
