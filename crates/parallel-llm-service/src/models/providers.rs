//! The configured providers: which have keys, which are local, and which lists are public.
//!
//! No key itself is known here, only whether there is one.

use std::sync::Arc;

use parallel_llm_engine::request::panel::{ModelRef, PanelEntry};
use parallel_llm_engine::{Failure, ProviderId};
use parallel_llm_provider::Known;

use crate::ports::CheckKey;
use crate::recursion::{self, OwnAddresses};
use parallel_llm_settings::settings::{Origin, ProviderKey, ProviderSettings, Settings};

/// Whether a key is set, or a program that prints one.
pub(crate) const fn has_key(provider: &ProviderSettings) -> bool {
    !matches!(provider.key, ProviderKey::Missing)
}

/// Whether its list of models is public, so that it is fetched without a key. Routers publish theirs.
pub(crate) const fn lists_for_all(provider: &ProviderSettings) -> bool {
    provider.dialect.routes
}

/// Whether it is a server that people run on their own machine.
pub(crate) fn is_local(provider: &ProviderSettings) -> bool {
    Known::by_id(&provider.id.0).is_some_and(Known::is_local)
}

/// The configured providers.
#[derive(Clone)]
pub(crate) struct Providers {
    pub(crate) settings: Arc<Settings>,
    ids: Arc<[ProviderId]>,
    check_key: Arc<CheckKey>,
    /// The addresses of this server.
    pub(crate) own: OwnAddresses,
}

impl Providers {
    /// The providers of the settings, the default one first.
    pub(crate) fn new(settings: &Arc<Settings>, check_key: CheckKey) -> Self {
        let ids = settings.providers.iter().map(|provider| provider.id.clone()).collect();
        Self {
            settings: Arc::clone(settings),
            ids,
            check_key: Arc::new(check_key),
            own: OwnAddresses::default(),
        }
    }

    /// Their ids, the default one's first.
    pub(crate) fn ids(&self) -> &[ProviderId] {
        &self.ids
    }

    /// Every provider that has an address, the default one first.
    pub(crate) fn all(&self) -> impl Iterator<Item = &ProviderSettings> {
        self.settings.providers.iter().filter(|provider| provider.base_url.is_some())
    }

    /// One of them.
    pub(crate) fn find(&self, id: &ProviderId) -> Option<&ProviderSettings> {
        self.all().find(|provider| provider.id == *id)
    }

    /// Fails if this provider is the server itself.
    pub(crate) fn check_apart(&self, id: &ProviderId) -> Result<(), Failure> {
        match self.find(id).filter(|provider| self.own.are_of(provider)) {
            Some(provider) => Err(recursion::own_address(provider)),
            None => Ok(()),
        }
    }

    /// Whether it is only presumed: a local server at its default address that the user did not configure. Any program may
    /// listen there, so it gets no key before a model of it is asked.
    pub(crate) fn is_presumed(&self, provider: &ProviderSettings) -> bool {
        let name = format!("providers.{}.base_url", provider.id);
        let mut shown = self.settings.shown().iter();
        is_local(provider) && !shown.any(|shown| shown.name == name && shown.origin != Origin::Default)
    }

    /// Whether its server is the user's own machine.
    pub(crate) fn is_own_machine(&self, id: &ProviderId) -> bool {
        self.settings.providers.iter().any(|provider| provider.id == *id && provider.is_own_machine())
    }

    /// Fails if this provider needs a key and has none; the failure names what to set.
    pub(crate) async fn check_key(&self, id: &ProviderId) -> Result<(), Failure> {
        (*self.check_key)(id.clone()).await
    }

    /// The model of a reference; `None` if it cannot be parsed, which resolving reports.
    pub(crate) fn model_of(&self, reference: &str) -> Option<ModelRef> {
        self.entry_of(reference).map(|entry| entry.model)
    }

    /// The seat of a reference, with all its options. An alias of the user's is expanded.
    pub(crate) fn entry_of(&self, reference: &str) -> Option<PanelEntry> {
        let is_provider = |id: &str| self.ids.iter().any(|known| known.0 == id);
        let reference = self.settings.aliases.expand(reference);
        PanelEntry::parse(&reference, self.ids.first()?, is_provider).ok()
    }
}
