//! OpenRouter's `provider` object: whom a request may go to, and what that leaves.
//!
//! One provider serves each model here, so the wishes either leave it or leave nobody.

use serde::Deserialize;
use serde_json::Value;

use crate::catalogue::{Catalogue, Model, Rate};
use crate::dialect::ErrorKind;

/// Wishes about providers; what is not here is accepted and ignored.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Routing {
    order: Vec<String>,
    only: Vec<String>,
    ignore: Vec<String>,
    allow_fallbacks: Option<bool>,
    data_collection: Option<String>,
    zdr: Option<bool>,
    max_price: MaxPrice,
}

/// Dollars for a million tokens, as a number or a text.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct MaxPrice {
    prompt: Option<Value>,
    completion: Option<Value>,
}

/// Pico-dollars a token in one dollar a million.
const PICO_IN_USD_PER_MILLION: f64 = 1_000_000.0;

impl Routing {
    /// Whether somebody is left who serves what was asked for at this rate.
    pub(crate) fn check(
        &self,
        catalogue: &Catalogue,
        asked: &Model,
        served: &Model,
        rate: Rate,
    ) -> Result<(), ErrorKind> {
        let serves = |name: &String| is_named(served.provider(), name);
        let is_known = |name: &String| catalogue.models.iter().any(|other| is_named(other.provider(), name));
        let kept_apart = self.zdr == Some(true) || self.data_collection.as_deref() == Some("deny");
        if kept_apart && asked.is_free() {
            return Err(ErrorKind::DataPolicy);
        }
        if self.ignore.iter().any(serves) {
            return Err(ErrorKind::AllIgnored);
        }
        // An order only says who is tried first; it leaves nobody if it allows no others or names none that exist.
        let is_strict = self.allow_fallbacks == Some(false) || !self.order.iter().any(is_known);
        let is_out_of_order = !self.order.is_empty() && is_strict && !self.order.iter().any(serves);
        if is_out_of_order || (!self.only.is_empty() && !self.only.iter().any(serves)) {
            return Err(ErrorKind::NoProvider);
        }
        let is_dear = |limit: &Option<Value>, pico: i64| {
            limit.as_ref().and_then(usd).is_some_and(|limit| pico as f64 > limit * PICO_IN_USD_PER_MILLION)
        };
        let MaxPrice { prompt, completion } = &self.max_price;
        if is_dear(prompt, rate.prompt_pico) || is_dear(completion, rate.completion_pico) {
            return Err(ErrorKind::TooDear);
        }
        Ok(())
    }
}

fn usd(value: &Value) -> Option<f64> {
    value.as_f64().or_else(|| value.as_str()?.parse().ok())
}

/// `xAI` is also `x-ai` and `xai`; what follows is one of its endpoints, as in `google-vertex/europe`.
fn is_named(provider: &str, name: &str) -> bool {
    let letters = |text: &str| -> String {
        text.chars().filter(|sign| sign.is_alphanumeric()).flat_map(char::to_lowercase).collect()
    };
    letters(name).starts_with(&letters(provider))
}
