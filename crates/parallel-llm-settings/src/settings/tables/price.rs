//! Prices: the table `[prices]` of the user's file, for models whose provider tells none.
//!
//! Only the user's file may set them: a price decides what a run may cost.

use std::collections::BTreeMap;

use parallel_llm_engine::request::panel::{DEFAULT_PROVIDER, PanelEntry};
use parallel_llm_engine::{Failure, ModelRef, PicoUsd, Price, ProviderId};

use crate::settings::sources::reader::{Item, Key, Reader, in_order};
use crate::settings::value::effective::EffectiveValue;
use crate::settings::value::failure::invalid;
use crate::settings::value::kind::{Kind, Value};
use crate::settings::value::origin::Origin;

/// The syntax of a price.
pub(super) const WRITTEN: &str = "\"lab/model\" = { input_usd_per_million = 2, output_usd_per_million = 10 }";
/// The keys of a price.
pub(in crate::settings) const KEYS: &[(&str, &str)] = &[
    ("input_usd_per_million", "what a million tokens sent cost, in USD"),
    ("output_usd_per_million", "what a million tokens received cost, in USD, reasoning included"),
    ("request_usd", "what each request costs besides, in USD; left out if nothing"),
];
/// Tokens in a million.
const MILLION: i64 = 1_000_000;

/// A price and the location that sets it.
#[derive(Clone, Debug)]
pub(in crate::settings) struct SetPrice {
    pub(in crate::settings) price: Price,
    pub(in crate::settings) origin: Origin,
}

/// Prices by the model as it is written.
pub(in crate::settings) type PriceTable = BTreeMap<String, SetPrice>;

/// Parses one price.
pub(in crate::settings) fn read(
    reader: Reader<'_>,
    name: &Key<'_>,
    value: &Item<'_>,
) -> Result<Price, Failure> {
    let (mut input, mut output, mut request) = (None, None, PicoUsd::ZERO);
    for (key, item) in in_order(reader.table(name.get_ref(), value, WRITTEN)?) {
        let amount = || match reader.value(key.get_ref(), Kind::Usd, item)? {
            Value::Usd(amount) => Ok(amount),
            other => unreachable!("an amount was read, not {other}"),
        };
        match &**key.get_ref() {
            "input_usd_per_million" => input = Some(per_token(amount()?)),
            "output_usd_per_million" => output = Some(per_token(amount()?)),
            "request_usd" => request = amount()?,
            _ => return Err(reader.unknown(key, KEYS.iter().map(|(known, _)| *known))),
        }
    }
    if let (Some(input), Some(output)) = (input, output) {
        return Ok(Price { request, ..Price::per_token(input, output) });
    }
    let message = format!("the price of `{}` needs both kinds of tokens", name.get_ref());
    let next = parallel_llm_engine::value::next::Next::WriteAs(WRITTEN.into());
    Err(reader.refuse(value.span(), invalid(message).with_next(next)))
}

/// Rounded up, because a run must not cost more than is said.
const fn per_token(per_million: PicoUsd) -> PicoUsd {
    PicoUsd(per_million.0.saturating_add(MILLION - 1) / MILLION)
}

/// The prices by model. Names are read as the panel reads them.
pub(in crate::settings) fn by_model(
    table: &PriceTable,
    providers: &[ProviderId],
) -> BTreeMap<ModelRef, Price> {
    let default = ProviderId(DEFAULT_PROVIDER.to_owned());
    let is_provider = |id: &str| providers.iter().any(|known| known.0 == id);
    let read = |(name, set): (&String, &SetPrice)| {
        let entry = PanelEntry::parse(name, &default, is_provider).ok()?;
        Some((entry.model, set.price))
    };
    table.iter().filter_map(read).collect()
}

/// The value to show of a price.
pub(in crate::settings) fn shown(name: &str, set: &SetPrice) -> EffectiveValue {
    let per_million = |amount: PicoUsd| amount.times(MILLION.unsigned_abs());
    let Price { input, output, request, .. } = set.price;
    let besides = if request > PicoUsd::ZERO { format!(", {request} a request") } else { String::new() };
    EffectiveValue {
        name: format!("prices.{name}"),
        value: format!("{} in, {} out{besides}", per_million(input), per_million(output)),
        origin: set.origin.clone(),
    }
}
