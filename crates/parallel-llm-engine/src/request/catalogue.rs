//! The catalogue of models with their names, prices and limits, as a plain value.

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
}

impl Price {
    /// The cost of a call with these token counts.
    pub fn cost(&self, input_tokens: u64, output_tokens: u64) -> PicoUsd {
        self.request.plus(self.input.times(input_tokens)).plus(self.output.times(output_tokens))
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

    /// The price of a call with this many input tokens. If the price depends on the hour, the higher one: an estimate may be
    /// too high, but a run must not exceed its budget.
    pub fn price_at(&self, input_tokens: u64) -> Option<Price> {
        let applies = |it: &&PriceOverride| it.above_input_tokens.is_none_or(|above| input_tokens > above);
        let mut price = self.price?;
        for it in self.price_overrides.iter().filter(applies) {
            let by_hour = it.above_input_tokens.is_none();
            let over = |old: PicoUsd, new: Option<PicoUsd>| match new {
                Some(new) if by_hour => old.max(new),
                Some(new) => new,
                None => old,
            };
            price =
                Price { input: over(price.input, it.input), output: over(price.output, it.output), ..price };
        }
        Some(price)
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
        let rank = |model: &&ModelInfo| (model.id != name, model.id.strip_prefix('~') != Some(name));
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
