//! What is known of the models: names, prices, limits. A plain value; who fetched it is another's business.

use serde::{Deserialize, Serialize};

use crate::request::AttachmentKind;
use crate::value::money::PicoUsd;
use crate::value::nearest::nearest;

/// What a model's tokens cost.
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

/// Another price, under a condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PriceOverride {
    /// Holds for calls with more tokens sent than this; `None` where it holds at certain hours, which nobody can
    /// know before the call.
    pub above_input_tokens: Option<u64>,
    /// For each token sent, where it differs.
    pub input: Option<PicoUsd>,
    /// For each token received, where it differs.
    pub output: Option<PicoUsd>,
}

/// Which files a model takes beside text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Inputs {
    /// Pictures.
    pub image: bool,
    /// Documents.
    pub document: bool,
}

impl Inputs {
    /// Whether files of this kind are taken.
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
    /// The name it is called by, a leading `~` included.
    pub id: String,
    /// Further names it is called by, such as one with the day of its release; empty where there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub other_ids: Vec<String>,
    /// Its name for people.
    pub name: String,
    /// The model an alias stands for at the moment.
    pub alias_of: Option<String>,
    /// Tokens it can read and write together.
    pub context_tokens: Option<u64>,
    /// Tokens it can write at most.
    pub output_tokens_max: Option<u64>,
    /// What it costs; `None` where the price varies.
    pub price: Option<Price>,
    /// Where it costs something else, in the order in which these are applied.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub price_overrides: Vec<PriceOverride>,
    /// Which files it takes, where the list says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inputs: Option<Inputs>,
    /// Whether it can be held to replying with JSON, as far as the list says.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub json_mode: bool,
    /// The last day it is offered, as `YYYY-MM-DD`, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_on: Option<String>,
}

impl ModelInfo {
    /// A model of which only the name is known.
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

    /// What a call with so many tokens sent costs a token. Where the hour decides, the dearer price: an estimate
    /// may be too high, a budget may not be.
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

/// The models known, and whether the list is the provider's own of today.
#[derive(Clone, Debug, Default)]
pub struct Catalogue {
    models: Vec<ModelInfo>,
    live: bool,
}

impl Catalogue {
    /// A list that was fetched (`live`) or carried along.
    pub const fn new(models: Vec<ModelInfo>, live: bool) -> Self {
        Self { models, live }
    }

    /// Whether a name missing here is certainly unknown.
    pub const fn is_live(&self) -> bool {
        self.live
    }

    /// All models, in the provider's order.
    pub fn models(&self) -> &[ModelInfo] {
        &self.models
    }

    /// Finds a model by name. A leading `~` may be left out, because shells expand it. A name with a suffix that is
    /// not listed, such as `:nitro`, is the model before the suffix: a router sorts its providers by it. Which of
    /// them answers is not known before the call, so that price is an estimate: it may be more (`:nitro`, `:online`)
    /// or less (`:floor`).
    pub fn find(&self, name: &str) -> Option<&ModelInfo> {
        self.listed(name).or_else(|| self.find(name.rsplit_once(':')?.0))
    }

    fn listed(&self, name: &str) -> Option<&ModelInfo> {
        let models = || self.models.iter();
        let exact = models().find(|model| model.id == name);
        exact
            .or_else(|| models().find(|model| model.id.strip_prefix('~') == Some(name)))
            .or_else(|| models().find(|model| model.other_ids.iter().any(|id| id == name)))
    }

    /// The known name most like an unknown one, where one is alike enough to be meant.
    pub fn nearest(&self, name: &str) -> Option<&str> {
        nearest(name, self.models.iter().map(|model| &*model.id))
    }
}
