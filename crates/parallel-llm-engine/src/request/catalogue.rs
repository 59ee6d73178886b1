//! The catalogue of models with their names, prices and limits, as a plain value.

use std::cmp::Reverse;

use serde::{Deserialize, Serialize};

use crate::request::AttachmentKind;
use crate::value::money::PicoUsd;
use crate::value::nearest::nearest;

/// The price of a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Price {
    /// For each token sent.
    pub input: PicoUsd,
    /// For each token received.
    pub output: PicoUsd,
    /// For each request, whatever its size.
    #[serde(default)]
    pub request: PicoUsd,
    /// For each picture sent, besides its tokens.
    #[serde(default, skip_serializing_if = "PicoUsd::is_zero")]
    pub picture: PicoUsd,
    /// For each token sent that the provider also keeps for a later call, if that costs more than reading it.
    #[serde(default, skip_serializing_if = "PicoUsd::is_zero")]
    pub cache_write: PicoUsd,
}

impl Price {
    /// A price for tokens alone.
    pub const fn per_token(input: PicoUsd, output: PicoUsd) -> Self {
        let none = PicoUsd::ZERO;
        Self { input, output, request: none, picture: none, cache_write: none }
    }

    /// The cost of a call with these token counts.
    pub fn cost(&self, input_tokens: u64, output_tokens: u64) -> PicoUsd {
        self.request.plus(self.input.times(input_tokens)).plus(self.output.times(output_tokens))
    }

    /// The most a call with these counts can cost: also if the provider keeps everything for a later one.
    pub fn most(&self, input_tokens: u64, pictures: u64, output_tokens: u64) -> PicoUsd {
        let input = self.input.max(self.cache_write);
        Self { input, ..*self }.cost(input_tokens, output_tokens).plus(self.picture.times(pictures))
    }
}

/// A price that applies under a condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PriceOverride {
    /// Applies to calls with more input tokens than this. `None` if it applies at certain hours, which cannot be known
    /// before the call.
    pub above_input_tokens: Option<u64>,
    /// For each token sent, if it differs.
    pub input: Option<PicoUsd>,
    /// For each token received, if it differs.
    pub output: Option<PicoUsd>,
    /// For each request, if it differs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<PicoUsd>,
    /// For each token that is also kept, if it differs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_write: Option<PicoUsd>,
}

/// The kinds of files a model takes besides text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Inputs {
    /// Pictures.
    pub image: bool,
    /// Documents.
    pub document: bool,
}

impl Inputs {
    /// Whether the model takes files of this kind.
    pub const fn takes(self, kind: AttachmentKind) -> bool {
        match kind {
            AttachmentKind::Image => self.image,
            AttachmentKind::Document => self.document,
        }
    }
}

/// One model of the catalogue.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelInfo {
    /// Its id in calls, with a leading `~` for an alias.
    pub id: String,
    /// Further ids, such as one with the day of its release.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub other_ids: Vec<String>,
    /// Its name for people.
    pub name: String,
    /// The model an alias points to now.
    pub alias_of: Option<String>,
    /// Tokens it can read and write together.
    pub context_tokens: Option<u64>,
    /// Tokens it can write at most.
    pub output_tokens_max: Option<u64>,
    /// Its price; `None` if it varies.
    pub price: Option<Price>,
    /// Prices for special cases, in the order in which they apply.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub price_overrides: Vec<PriceOverride>,
    /// The kinds of files it takes, if the list says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inputs: Option<Inputs>,
    /// Whether the list says that it has a JSON mode.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub json_mode: bool,
    /// The last day it is offered, as `YYYY-MM-DD`, if it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_on: Option<String>,
}

impl ModelInfo {
    /// Whether the list has it under this name; a leading `~` may be left out.
    pub(crate) fn is_called(&self, name: &str) -> bool {
        let is_id = self.id == name || self.id.strip_prefix('~') == Some(name);
        is_id || self.other_ids.iter().any(|id| id == name)
    }

    /// A model with this id and nothing else.
    pub fn named(id: impl Into<String>) -> Self {
        let id = id.into();
        Self {
            name: id.clone(),
            id,
            other_ids: Vec::new(),
            alias_of: None,
            context_tokens: None,
            output_tokens_max: None,
            price: None,
            price_overrides: Vec::new(),
            inputs: None,
            json_mode: false,
            expires_on: None,
        }
    }

    /// The highest price that a call of at most this many input tokens may have: an estimate may be too high, but a run must not
    /// exceed its budget.
    pub fn price_at(&self, input_tokens: u64) -> Option<Price> {
        let applies = |it: &&PriceOverride| it.above_input_tokens.is_none_or(|above| input_tokens > above);
        let may_apply = self.price_overrides.iter().filter(applies);
        Some(may_apply.fold(self.price?, |price, it| Price {
            input: price.input.max(it.input.unwrap_or_default()),
            output: price.output.max(it.output.unwrap_or_default()),
            request: price.request.max(it.request.unwrap_or_default()),
            cache_write: price.cache_write.max(it.cache_write.unwrap_or_default()),
            ..price
        }))
    }
}

/// A list of models, and whether it is current.
#[derive(Clone, Debug, Default)]
pub struct Catalogue {
    models: Vec<ModelInfo>,
    live: bool,
}

impl Catalogue {
    /// A list that was fetched from the provider (`live`) or came with the program.
    pub const fn new(models: Vec<ModelInfo>, live: bool) -> Self {
        Self { models, live }
    }

    /// Whether the list is current, so that a model missing in it does not exist.
    pub const fn is_live(&self) -> bool {
        self.live
    }

    /// All models, in the provider's order.
    pub fn models(&self) -> &[ModelInfo] {
        &self.models
    }

    /// Finds a model by id. A leading `~` may be left out, because shells expand it. An id with an unlisted suffix such as
    /// `:nitro` finds the model without it: by the suffix a router selects the endpoint, which may cost more.
    pub fn find(&self, name: &str) -> Option<&ModelInfo> {
        self.listed(name).or_else(|| self.find(name.rsplit_once(':')?.0))
    }

    fn listed(&self, name: &str) -> Option<&ModelInfo> {
        // Its id says more than a further one, and the exact one most.
        // Of two entries with one name, the dearer counts.
        let dearest = |model: &ModelInfo| Reverse(model.price.map(|price| (price.output, price.input)));
        let rank =
            |model: &&ModelInfo| (model.id != name, model.id.strip_prefix('~') != Some(name), dearest(model));
        self.models.iter().filter(|model| model.is_called(name)).min_by_key(rank)
    }

    /// The listed id most similar to an unknown one, if one is similar enough.
    pub fn nearest(&self, name: &str) -> Option<&str> {
        nearest(name, self.models.iter().map(|model| &*model.id))
    }
}

/// Where the price of a seat comes from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PriceSource {
    /// The list of the provider.
    #[default]
    List,
    /// The user's settings.
    Settings,
    /// The list of another provider that sells the same model: an estimate.
    Estimate,
    /// Nobody asks for money: the server is the user's own machine.
    OwnMachine,
    /// The provider's current list lacks the model, so it is not asked under a limit.
    Unlisted,
}

impl PriceSource {
    /// Whether it is the usual one, which is not stored.
    pub fn is_list(&self) -> bool {
        *self == Self::List
    }
}
