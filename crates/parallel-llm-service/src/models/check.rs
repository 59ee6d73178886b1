//! The model check: whether every configured model is still offered, and until when.
//!
//! Only a freshly fetched list can show that a model is no longer offered. Without one the state is unknown, not guessed.

use std::collections::BTreeMap;

use futures_util::future::join_all;
use parallel_llm_engine::request::panel::ModelRef;
use parallel_llm_engine::value::next::{Advice, Next, Operation};
use parallel_llm_engine::{Failure, ProviderId};
use serde::Serialize;

use super::Models;
use super::catalogue::{List, Source, Wanted};
use super::find::{ListLine, per_million};
use super::lists::{Lists, ProviderLookup};
use super::naming;
use super::providers::has_key;
use crate::access::Scope;
use parallel_llm_settings::clock;
use parallel_llm_settings::settings::ProviderSettings;

/// A model with fewer days left is reported: long enough to choose another.
const EXPIRES_SOON_DAYS: i64 = 30;

/// The result of a model check.
#[derive(Clone, Debug, Serialize)]
pub struct ModelCheck {
    /// The version of this format. Fields are added, never changed.
    pub schema: u32,
    /// Whether a configured model is no longer offered.
    pub has_dead: bool,
    /// The models, in the order of the settings.
    pub models: Vec<CheckedModel>,
    /// The lists that were searched.
    pub lists: Vec<ListLine>,
}

/// A configured model.
#[derive(Clone, Debug, Serialize)]
pub struct CheckedModel {
    /// Its id, as `-m` takes it.
    pub id: String,
    /// The settings that name it: `panel`, `synthesizer`, `presets.quick.panel`.
    pub places: Vec<String>,
    /// The provider's id.
    pub provider: String,
    /// Whether the provider has the key it needs.
    pub has_key: bool,
    /// Its state.
    #[serde(rename = "standing")]
    pub state: ModelState,
    /// The current target of an alias, or the model that a short name stands for.
    pub alias_of: Option<String>,
    /// The last day on which it is offered, `YYYY-MM-DD`, if known.
    pub expires_on: Option<String>,
    /// The context window in tokens.
    pub context_tokens: Option<u64>,
    /// The price of a million input tokens, in USD.
    pub input_usd_per_million: Option<f64>,
    /// The price of a million output tokens, in USD.
    pub output_usd_per_million: Option<f64>,
    /// The reason for the state.
    pub message: Option<String>,
    /// Next steps.
    pub next: Option<Vec<Next>>,
}

/// The state of a configured model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ModelState {
    /// Its provider offers it.
    Alive,
    /// Its provider offers it for a few more days.
    Expiring,
    /// Its provider does not offer it, or no longer.
    Dead,
    /// There is no list of its provider, or no current one.
    Unknown,
}

impl ModelState {
    /// The name in tables and JSON.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Alive => "alive",
            Self::Expiring => "expiring",
            Self::Dead => "dead",
            Self::Unknown => "unknown",
        }
    }
}

/// A model and the settings that name it.
pub(crate) struct NamedModel {
    pub(crate) model: ModelRef,
    pub(crate) places: Vec<String>,
}

impl NamedModel {
    /// Whether it is in the default panel.
    pub(crate) fn is_of_panel(&self) -> bool {
        self.places.iter().any(|place| place == "panel")
    }
}

impl Models {
    /// Looks up every configured model in its provider's list, all providers at once.
    pub async fn check(&self) -> Result<ModelCheck, Failure> {
        self.principal.check(Scope::Read)?;
        Ok(self.configured.look_for(self.configured.models(), Wanted::Fresh).await)
    }
}

/// The models that the settings name.
#[derive(Clone)]
pub(crate) struct ConfiguredModels {
    pub(crate) lists: Lists,
}

impl ConfiguredModels {
    /// The same with newly fetched lists only.
    pub(crate) async fn check(&self) -> ModelCheck {
        self.look_for(self.models(), Wanted::New).await
    }

    async fn look_for(&self, named: Vec<NamedModel>, wanted: Wanted<'_>) -> ModelCheck {
        let mut names: BTreeMap<&ProviderId, Vec<String>> = BTreeMap::new();
        for NamedModel { model, .. } in &named {
            names.entry(&model.provider).or_default().push(model.model.clone());
        }
        // Providers without an address are included: the missing setting is reported like a missing key.
        let providers = self.lists.providers.settings.providers.iter();
        let asked = providers.filter_map(|provider| Some((provider, names.get(&provider.id)?)));
        let lookups = join_all(asked.map(|(provider, names)| self.searched(provider, names, wanted))).await;
        let stands = |NamedModel { model, places }| {
            let own = lookups.iter().find(|(lookup, _)| lookup.provider.id == model.provider);
            let mut present = CheckedModel::new(&model, places);
            if let Some((lookup, is_ready)) = own {
                present.look_up(&model, lookup);
                if let Err(failure) = is_ready {
                    present.cannot_be_asked(failure, lookup.provider);
                }
            }
            present
        };
        let models: Vec<CheckedModel> = named.into_iter().map(stands).collect();
        ModelCheck {
            schema: 1,
            has_dead: models.iter().any(|model| model.state == ModelState::Dead),
            models,
            lists: lookups.iter().map(|(lookup, _)| ListLine::of(lookup)).collect(),
        }
    }

    /// The list in which to look up these names, and whether the provider has its address and key.
    async fn searched<'a>(
        &self,
        provider: &'a ProviderSettings,
        names: &[String],
        wanted: Wanted<'_>,
    ) -> (ProviderLookup<'a>, Result<(), Failure>) {
        let is_ready = self.lists.providers.check_key(&provider.id).await;
        let lookup = self.lists.of(provider, wanted).await;
        // A name that a stored list lacks may be newer than the list.
        let is_lacking = lookup.known.failure.is_none() && !lookup.has_all(names);
        let lookup = if is_lacking { self.lists.of(provider, Wanted::Names(names)).await } else { lookup };
        (lookup, is_ready)
    }

    /// Every model reference of the settings, with the setting that holds it.
    pub(crate) fn references(&self) -> Vec<(String, &String)> {
        let settings = &self.lists.providers.settings;
        let mut references: Vec<(String, &String)> = Vec::new();
        references.extend(settings.panel.iter().map(|model| ("panel".to_owned(), model)));
        references.extend(settings.synthesizer.iter().map(|model| ("synthesizer".to_owned(), model)));
        for (name, preset) in &settings.presets {
            let of = |list: &'static str| move |model| (format!("presets.{name}.{list}"), model);
            references.extend(preset.panel.iter().flatten().map(of("panel")));
            references.extend(preset.synthesizer.iter().flatten().map(of("synthesizer")));
        }
        let flows = settings.flows.iter().filter_map(|(name, file)| Some((name, file.flow.as_ref().ok()?)));
        for (name, stage) in
            flows.flat_map(|(name, named)| named.flow.stages.iter().map(move |stage| (name, stage)))
        {
            let of = |list: &'static str| {
                move |model| (format!("flows.{name}.stages.{}.{list}", stage.name), model)
            };
            references.extend(stage.panel.iter().map(of("panel")));
            references.extend(stage.synthesizer.iter().flatten().map(of("synthesizer")));
        }
        references
    }

    /// Every configured model, once, with all settings that name it.
    pub(crate) fn models(&self) -> Vec<NamedModel> {
        let mut named: Vec<NamedModel> = Vec::new();
        for (place, reference) in self.references() {
            let Some(model) = self.lists.providers.model_of(reference) else { continue };
            match named.iter_mut().find(|named| named.model == model) {
                Some(known) if known.places.contains(&place) => {}
                Some(known) => known.places.push(place),
                None => named.push(NamedModel { model, places: vec![place] }),
            }
        }
        named
    }
}

impl CheckedModel {
    fn new(model: &ModelRef, places: Vec<String>) -> Self {
        Self {
            id: model.to_string(),
            places,
            provider: model.provider.0.clone(),
            has_key: true,
            state: ModelState::Unknown,
            alias_of: None,
            expires_on: None,
            context_tokens: None,
            input_usd_per_million: None,
            output_usd_per_million: None,
            message: None,
            next: None,
        }
    }

    fn look_up(&mut self, model: &ModelRef, lookup: &ProviderLookup<'_>) {
        let why = lookup.known.failure.as_ref().map(|failure| format!(": {}", failure.message));
        let why = why.unwrap_or_default();
        let Some(list) = &lookup.known.list else {
            self.message = Some(format!("there is no list of {} to look in{why}", lookup.provider.name));
            return;
        };
        let full = match naming::full_name(model, &list.catalogue) {
            Ok(full) => full,
            Err(failure) => return self.fits_several(failure),
        };
        let model = full.as_ref().unwrap_or(model);
        let Some(info) = list.catalogue.find(&model.model) else { return self.miss(model, list) };
        let named = |id: &str| ModelRef { provider: model.provider.clone(), model: id.to_owned() };
        // A missing `~` is restored; a variant or a dated name stays as it is.
        if info.id.strip_prefix('~') == Some(model.model.as_str()) {
            self.id = named(&info.id).to_string();
        }
        let target = info.alias_of.as_deref().map(named).or_else(|| full.clone());
        self.alias_of = target.map(|target| target.to_string());
        self.expires_on.clone_from(&info.expires_on);
        self.context_tokens = info.context_tokens;
        self.input_usd_per_million = info.price.map(|price| per_million(price.input));
        self.output_usd_per_million = info.price.map(|price| per_million(price.output));
        if lookup.known.failure.is_some() {
            self.message = Some(format!("it is in an older list, but there is none from today{why}"));
            return;
        }
        self.state = ModelState::Alive;
        if let Some(day) = &info.expires_on {
            self.expire(day);
        }
    }

    /// Notes that its name fits several models. A run with it is refused.
    fn fits_several(&mut self, failure: Failure) {
        self.state = ModelState::Dead;
        self.next = Some(failure.next_steps().to_vec());
        self.message = Some(failure.message);
    }

    /// Notes an end of offer that is near or past.
    fn expire(&mut self, day: &str) {
        match clock::days_until(day) {
            Some(..0) => {
                self.state = ModelState::Dead;
                self.message = Some(format!("it was offered until {day}, which has passed"));
                self.next = Some(Operation::ListModels.into());
            }
            Some(days @ 0..EXPIRES_SOON_DAYS) => {
                self.state = ModelState::Expiring;
                self.message = Some(format!("it is offered until {day}, {days} days from now"));
                self.next = Some(Advice::ChooseAnotherInTime.into());
            }
            Some(EXPIRES_SOON_DAYS..) | None => {}
        }
    }

    fn miss(&mut self, model: &ModelRef, list: &List) {
        let nearest = list.catalogue.nearest(&model.model);
        let nearest = nearest.map(|id| ModelRef { model: id.to_owned(), ..model.clone() });
        self.next = nearest.map(|nearest| Next::Meant(nearest.to_string().into()).into());
        if list.catalogue.is_live() {
            self.state = ModelState::Dead;
            self.message = Some("its provider does not offer it".to_owned());
            self.next.get_or_insert_with(|| Operation::ListModels.into());
        } else if matches!(list.source, Source::Live(_)) {
            self.message = Some("its provider does not list it, but may accept it anyway".to_owned());
        } else {
            self.message = Some("it is not in the cached list, which is not from today".to_owned());
        }
    }

    /// Without a key or an address a model cannot be asked, whether it is offered or not. That it is no longer offered is the worse
    /// news, and stays.
    fn cannot_be_asked(&mut self, failure: &Failure, provider: &ProviderSettings) {
        // Without an address there is no telling whether the key is right.
        self.has_key = provider.base_url.is_none() && has_key(provider);
        if self.state != ModelState::Dead {
            self.message = Some(failure.message.clone());
            self.next = Some(failure.next_steps().to_vec());
        }
    }
}
