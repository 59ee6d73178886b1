//! The model lists of the configured providers, fetched only as far as keys allow.
//!
//! Invariants: a provider that would refuse without a key is not asked, and browsing sends no key to a provider
//! that the user did not name.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures_util::future::join_all;
use parallel_llm_engine::plan::Defaults;
use parallel_llm_engine::request::flow::Flow;
use parallel_llm_engine::value::next::Next;
use parallel_llm_engine::{Catalogue, Code, Failure, ProviderId, RunRequest};

use super::catalogue::{Catalogues, KeyUse, Lookup, Wanted};
use super::providers::{Providers, lists_for_all};
use parallel_llm_settings::settings::{ProviderKey, ProviderSettings};

/// A provider and its list of models.
pub(crate) struct ProviderLookup<'a> {
    pub(crate) provider: &'a ProviderSettings,
    pub(crate) known: Lookup,
}

/// The lists of models of the configured providers.
#[derive(Clone)]
pub(crate) struct Lists {
    pub(crate) providers: Providers,
    pub(crate) catalogues: Arc<Catalogues>,
}

impl Lists {
    /// The list of a provider that the user named. A provider that would refuse without a key is not asked.
    pub(crate) async fn of<'a>(
        &self,
        provider: &'a ProviderSettings,
        wanted: Wanted<'_>,
    ) -> ProviderLookup<'a> {
        let needs_no_key = matches!(wanted, Wanted::Cached) || lists_for_all(provider);
        let checked = if needs_no_key { Ok(()) } else { self.providers.check_key(&provider.id).await };
        let known = match checked {
            Ok(()) => self.catalogues.look_up(&provider.id, wanted, KeyUse::Sent).await,
            Err(failure) => self.cached(provider, Some(failure)).await,
        };
        ProviderLookup { provider, known }
    }

    /// The list of a provider that the user did not name. A presumed server gets no key, and no key command runs.
    pub(crate) async fn of_unnamed<'a>(
        &self,
        provider: &'a ProviderSettings,
        wanted: Wanted<'_>,
    ) -> ProviderLookup<'a> {
        let is_from_program = matches!(provider.key, ProviderKey::Command(_));
        if self.providers.is_presumed(provider) || (is_from_program && lists_for_all(provider)) {
            let known = self.catalogues.look_up(&provider.id, wanted, KeyUse::Withheld).await;
            return ProviderLookup { provider, known };
        }
        if !is_from_program {
            return self.of(provider, wanted).await;
        }
        let mut known = self.cached(provider, None).await;
        let is_fresh = known.list.as_ref().is_some_and(|list| self.catalogues.is_fresh(list));
        if !is_fresh || matches!(wanted, Wanted::New) {
            let id = &provider.id;
            let message =
                format!("the program that keeps the key of `{id}` is run only when `{id}` is named");
            let failure = Failure::new(Code::KeyMissing, message);
            known.failure = Some(failure.with_next(Next::Type(format!("models --provider {id}").into())));
        }
        ProviderLookup { provider, known }
    }

    /// Whether the provider lists every name that it accepts, so that its list can resolve a short name.
    fn lists_every_name(&self, provider: &ProviderId) -> bool {
        self.providers.find(provider).is_some_and(|provider| provider.dialect.routes)
    }

    async fn cached(&self, provider: &ProviderSettings, failure: Option<Failure>) -> Lookup {
        let known = self.catalogues.look_up(&provider.id, Wanted::Cached, KeyUse::Withheld).await;
        Lookup { failure, ..known }
    }

    /// The lists of all providers that a request names. A list is fetched only if a name of this call, or a short name, is
    /// in no fresh one; all are fetched at once.
    pub(super) async fn for_request(
        &self,
        request: &RunRequest,
        defaults: &Defaults,
    ) -> BTreeMap<ProviderId, Arc<Catalogue>> {
        let typed = request.models.iter().flatten().chain(&request.synthesizer);
        let panel = defaults.panel.iter().filter(|_| request.models.is_none() && defaults.flow.is_none());
        let flow = defaults.flow.iter().flat_map(Flow::references);
        let settled = panel.chain(&defaults.synthesizers).chain(flow);
        let mut names: BTreeMap<ProviderId, Vec<String>> = BTreeMap::new();
        for model in typed.filter_map(|reference| self.providers.model_of(reference)) {
            names.entry(model.provider).or_default().push(model.model);
        }
        for model in settled.filter_map(|reference| self.providers.model_of(reference)) {
            let is_short = !model.model.contains('/') && self.lists_every_name(&model.provider);
            names.entry(model.provider).or_default().extend(is_short.then_some(model.model));
        }
        let known = names.into_iter().map(|(provider, names)| async move {
            let settings = self.providers.find(&provider)?;
            let wanted = if names.is_empty() { Wanted::Cached } else { Wanted::Names(&names) };
            let list = self.of(settings, wanted).await.known.list?;
            Some((provider, list.catalogue))
        });
        join_all(known).await.into_iter().flatten().collect()
    }
}

impl ProviderLookup<'_> {
    /// Whether the list has all of these names.
    pub(crate) fn has_all(&self, names: &[String]) -> bool {
        let list = self.known.list.as_ref();
        names.iter().all(|name| list.is_some_and(|list| list.catalogue.find(name).is_some()))
    }
}
