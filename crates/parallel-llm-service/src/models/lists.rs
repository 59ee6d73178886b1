//! The model lists of the configured providers, fetched only as far as keys allow.
//!
//! Invariants: a provider that would refuse without a key is not asked, and browsing sends no key to a provider
//! that the user did not name.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures_util::future::{BoxFuture, FutureExt as _, join_all};
use parallel_llm_engine::plan::Defaults;
use parallel_llm_engine::request::flow::Flow;
use parallel_llm_engine::request::price::PriceBook;
use parallel_llm_engine::value::next::Next;
use parallel_llm_engine::{Catalogue, Code, Failure, ModelRef, ProviderId, RunRequest};

use super::catalogue::{Catalogues, KeyUse, Lookup, Wanted};
use super::estimate;
use super::providers::{Providers, lists_for_all};
use crate::ports::OPENROUTER;
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

    /// The lists of all providers that a request names. A list is fetched if it lacks a name, whoever named it, because
    /// without its price the worst case is unknown; an old one is renewed. All are fetched at once.
    pub(crate) fn for_request<'a>(
        &'a self,
        request: &'a RunRequest,
        defaults: &'a Defaults,
    ) -> BoxFuture<'a, BTreeMap<ProviderId, Arc<Catalogue>>> {
        async move {
            let mut names: BTreeMap<ProviderId, Vec<String>> = BTreeMap::new();
            for model in named(request, defaults).filter_map(|reference| self.providers.model_of(reference)) {
                names.entry(model.provider).or_default().push(model.model);
            }
            let known = names.into_iter().map(|(provider, names)| async move {
                let settings = self.providers.find(&provider)?;
                let list = self.of(settings, Wanted::Names(&names)).await.known.list?;
                Some((provider, list.catalogue))
            });
            join_all(known).await.into_iter().flatten().collect()
        }
        .boxed()
    }

    /// Notes the price of the same model in OpenRouter's list for those whose provider tells none.
    pub(crate) fn estimate<'a>(
        &'a self,
        request: &'a RunRequest,
        defaults: &'a mut Defaults,
        catalogues: &'a BTreeMap<ProviderId, Arc<Catalogue>>,
    ) -> BoxFuture<'a, ()> {
        async move {
            let named = named(request, defaults);
            let models: Vec<ModelRef> = named.filter_map(|name| self.providers.model_of(name)).collect();
            let prices: &mut PriceBook = &mut defaults.prices;
            let unpriced = models.into_iter().filter(|model| {
                let list = catalogues.get(&model.provider).and_then(|list| list.find(&model.model));
                let is_listed = list.is_some_and(|info| info.price.is_some());
                // A local server has names of its own, and its models cost nothing.
                let is_own = self.providers.is_own_machine(&model.provider);
                !is_listed
                    && !is_own
                    && !prices.set.contains_key(model)
                    && !self.lists_every_name(&model.provider)
            });
            let unpriced: Vec<ModelRef> = unpriced.collect();
            if unpriced.is_empty() {
                return;
            }
            let openrouter = ProviderId(OPENROUTER.to_owned());
            for wanted in [Wanted::Cached, Wanted::Fresh] {
                let known = self.catalogues.look_up(&openrouter, wanted, KeyUse::Withheld).await;
                let Some(list) = known.list else { continue };
                let found = unpriced.iter().filter_map(|model| {
                    Some((model.clone(), estimate::same_model(model, &list.catalogue)?.clone()))
                });
                prices.estimates.extend(found);
                if unpriced.iter().all(|model| prices.estimates.contains_key(model)) {
                    return;
                }
            }
        }
        .boxed()
    }
}

/// The names that a plan is made of, those of the call first. The panel of the settings is among them only if neither the
/// request nor a flow names models.
fn named<'a>(request: &'a RunRequest, defaults: &'a Defaults) -> impl Iterator<Item = &'a String> {
    let typed = request.models.iter().flatten().chain(&request.synthesizer);
    let has_own_panel = request.models.is_some() || defaults.flow.is_some();
    let panel = defaults.panel.iter().filter(move |_| !has_own_panel);
    let settled = panel.chain(&defaults.synthesizers).chain(defaults.equivalence.named());
    typed.chain(settled).chain(defaults.flow.iter().flat_map(Flow::references))
}

impl ProviderLookup<'_> {
    /// Whether the list has all of these names.
    pub(crate) fn has_all(&self, names: &[String]) -> bool {
        let list = self.known.list.as_ref();
        names.iter().all(|name| list.is_some_and(|list| list.catalogue.find(name).is_some()))
    }
}
