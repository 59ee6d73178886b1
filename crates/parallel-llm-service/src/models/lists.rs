//! The model lists of the configured providers, fetched only as far as keys allow.
//!
//! Invariants: a provider that would refuse without a key is not asked, and browsing sends no key to a provider
//! that the user did not name.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use futures_util::future::{BoxFuture, FutureExt as _, join, join_all};
use parallel_llm_engine::plan::Defaults;
use parallel_llm_engine::request::catalogue::PriceSource;
use parallel_llm_engine::request::flow::Flow;
use parallel_llm_engine::request::price::PriceBook;
use parallel_llm_engine::value::next::Next;
use parallel_llm_engine::value::warning::Warning;
use parallel_llm_engine::{Catalogue, Code, Failure, ModelRef, ProviderId, RunRequest, Seat};

use super::catalogue::{Catalogues, KeyUse, Lookup, Source, Wanted};
use super::providers::{Providers, lists_for_all};
use super::{estimate, set_price};
use crate::ports::OPENROUTER;
use parallel_llm_settings::settings::{ProviderKey, ProviderSettings};

/// A provider and its list of models.
pub(crate) struct ProviderLookup<'a> {
    pub(crate) provider: &'a ProviderSettings,
    pub(crate) known: Lookup,
}

/// What is known of the models of a question.
#[derive(Default)]
pub(crate) struct KnownLists {
    /// The lists of their providers.
    pub(crate) catalogues: BTreeMap<ProviderId, Arc<Catalogue>>,
    /// The lists that are older than they should be and could not be renewed.
    old: BTreeMap<ProviderId, Source>,
    /// Why lists could not be had.
    failures: BTreeMap<ProviderId, Failure>,
}

impl KnownLists {
    /// The warning that prices of these seats are old.
    pub(crate) fn old_prices<'a>(&self, seats: impl Iterator<Item = &'a Seat>) -> Option<Warning> {
        let told_by = |seat: &'a Seat| match seat.price_source {
            PriceSource::List => seat.price.map(|_| seat.model.provider.0.as_str()),
            PriceSource::Estimate => Some(OPENROUTER),
            PriceSource::Settings | PriceSource::OwnMachine | PriceSource::Unlisted => None,
        };
        let telling: BTreeSet<&str> = seats.filter_map(told_by).collect();
        let used = self.old.iter().filter(|(provider, _)| telling.contains(provider.0.as_str()));
        let told: Vec<String> =
            used.map(|(provider, source)| format!("of `{provider}` are those of {}", source.day())).collect();
        if told.is_empty() {
            return None;
        }
        let message = format!("the prices {}: the list could not be renewed", told.join(", and "));
        Some(Warning::new(Code::PricesOld, message).with_next(Next::Type("models --refresh".into())))
    }

    /// Why the list is missing that would tell the price of this model, or of the same model elsewhere.
    pub(crate) fn failure_of(&self, model: &ModelRef) -> Option<&Failure> {
        let elsewhere = || self.failures.get(&ProviderId(OPENROUTER.to_owned()));
        self.failures.get(&model.provider).or_else(elsewhere)
    }
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

    /// The models of a usual question whose price nobody knows, each once. A question to them is refused under a budget.
    pub(crate) async fn without_price(&self) -> BTreeSet<ModelRef> {
        let (mut request, mut defaults) = (RunRequest::default(), self.providers.settings.defaults());
        // A name that fits several models has no price either.
        let named = self.name_in_full(&mut request, &mut defaults).await;
        let catalogues = named.map(|named| named.lists.catalogues).unwrap_or_default();
        let names = defaults.panel.iter().chain(&defaults.synthesizers).chain(defaults.equivalence.named());
        let models = names.filter_map(|name| self.providers.model_of(name));
        let is_unknown = |model: &ModelRef| {
            let list = catalogues.get(&model.provider);
            !defaults.prices.knows(model, list.and_then(|list| list.find(&model.model)))
        };
        models.filter(is_unknown).collect()
    }

    /// Whether the provider lists every name that it accepts, so that its list can resolve a short name.
    fn lists_every_name(&self, provider: &ProviderId) -> bool {
        self.providers.find(provider).is_some_and(|provider| provider.dialect.routes)
    }

    async fn cached(&self, provider: &ProviderSettings, failure: Option<Failure>) -> Lookup {
        let known = self.catalogues.look_up(&provider.id, Wanted::Cached, KeyUse::Withheld).await;
        Lookup { failure, ..known }
    }

    /// The lists of all providers that a request names, and notes in the defaults the price of the same model in OpenRouter's
    /// list for models whose provider tells none. A list is fetched if it lacks a name, whoever named it, because without its
    /// price the worst case is unknown; an old one is renewed. All are fetched at once.
    pub(crate) fn for_request<'a>(
        &'a self,
        request: &'a RunRequest,
        defaults: &'a mut Defaults,
    ) -> BoxFuture<'a, KnownLists> {
        async move {
            let models: Vec<ModelRef> =
                named(request, defaults).filter_map(|name| self.providers.model_of(name)).collect();
            let mut names: BTreeMap<ProviderId, Vec<String>> = BTreeMap::new();
            for model in &models {
                names.entry(model.provider.clone()).or_default().push(model.model.clone());
            }
            let looked_up = names.into_iter().map(|(provider, names)| async move {
                let settings = self.providers.find(&provider)?;
                let known = self.of(settings, Wanted::Names(&names)).await.known;
                Some((provider, known))
            });
            let of_others = models.iter().any(|model| self.may_be_estimated(model, &defaults.prices));
            let (known, elsewhere) = join(join_all(looked_up), self.elsewhere(of_others)).await;
            let mut lists = KnownLists::default();
            for (provider, known) in known.into_iter().flatten() {
                self.note(&mut lists, provider, known);
            }
            set_price::under_full_names(&mut defaults.prices, &lists.catalogues);
            if let Some(known) = elsewhere {
                self.estimate(&models, &mut defaults.prices, known, &mut lists);
            }
            lists
        }
        .boxed()
    }

    fn note(&self, lists: &mut KnownLists, provider: ProviderId, known: Lookup) {
        if let Some(failure) = known.failure {
            lists.failures.insert(provider.clone(), failure);
        }
        let Some(list) = known.list else { return };
        if !self.catalogues.is_fresh(&list) {
            lists.old.insert(provider.clone(), list.source);
        }
        lists.catalogues.entry(provider).or_insert(list.catalogue);
    }

    /// OpenRouter's list of today, if it is wanted: it tells what models of other providers cost.
    async fn elsewhere(&self, is_wanted: bool) -> Option<Lookup> {
        if !is_wanted {
            return None;
        }
        let openrouter = ProviderId(OPENROUTER.to_owned());
        Some(self.catalogues.look_up(&openrouter, Wanted::Names(&[]), KeyUse::Withheld).await)
    }

    /// Whether the price of a model may be that of the same model elsewhere. A local server has names of its own, and its models
    /// cost nothing; who lists every name tells every price.
    fn may_be_estimated(&self, model: &ModelRef, prices: &PriceBook) -> bool {
        let lists_all = self.lists_every_name(&model.provider);
        !lists_all && !self.providers.is_own_machine(&model.provider) && !prices.set.contains_key(model)
    }

    fn estimate(&self, models: &[ModelRef], prices: &mut PriceBook, known: Lookup, lists: &mut KnownLists) {
        let is_unpriced = |model: &&ModelRef| {
            let list = lists.catalogues.get(&model.provider).and_then(|list| list.find(&model.model));
            let is_listed = list.is_some_and(|info| info.price.is_some());
            !is_listed && self.may_be_estimated(model, prices)
        };
        let unpriced: Vec<&ModelRef> = models.iter().filter(is_unpriced).collect();
        if unpriced.is_empty() {
            return;
        }
        if let Some(list) = &known.list {
            let found = unpriced.into_iter().filter_map(|model| {
                Some((model.clone(), estimate::same_model(model, &list.catalogue)?.clone()))
            });
            prices.estimates.extend(found);
        }
        self.note(lists, ProviderId(OPENROUTER.to_owned()), known);
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
