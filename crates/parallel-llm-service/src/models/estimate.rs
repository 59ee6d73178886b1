//! The same model in OpenRouter's list, for a provider that tells no prices: an estimate of what it costs there.
//!
//! Providers name a model alike up to its vendor, punctuation and date: `gemini:gemini-4-argon` is
//! `google/gemini-4-argon`, `anthropic:claude-opus-5-5-20261001` is `anthropic/claude-opus-5.5`. Invariant: of several
//! models that fit, the dearest counts, because a bound may be too high but not too low.

use parallel_llm_engine::{Catalogue, ModelInfo, ModelRef};

/// The vendors, in OpenRouter's words, of the providers that sell their own models under other words.
const VENDORS: [(&str, &str); 5] = [
    ("azure", "openai"),
    ("gemini", "google"),
    ("mistral", "mistralai"),
    ("moonshot", "moonshotai"),
    ("xai", "x-ai"),
];
/// Digits of a date at the end of a name: `20261001`, or `2026-10-01` in pieces.
const DATE_DIGITS: usize = 8;

/// The entry of the same model, if the list has it with a price.
pub(super) fn same_model<'a>(model: &ModelRef, catalogue: &'a Catalogue) -> Option<&'a ModelInfo> {
    let provider = model.provider.0.as_str();
    let own = VENDORS.iter().find(|(id, _)| *id == provider).map_or(provider, |(_, vendor)| *vendor);
    let (vendor, name) = model
        .model
        .rsplit_once('/')
        .map_or((None, &*model.model), |(vendor, name)| (Some(vendor.to_ascii_lowercase()), name));
    let name = plain(name);
    let fits = |info: &&ModelInfo| {
        let id = info.id.trim_start_matches('~');
        // A free variant says nothing of what others ask.
        let Some((_, listed)) = id.split_once('/').filter(|_| !id.contains(':')) else { return false };
        info.price.is_some() && (plain(listed) == name || plain(listed) == undated(&name))
    };
    let vendor_of = |info: &ModelInfo| {
        let id = info.id.trim_start_matches('~');
        id.split_once('/').map(|(vendor, _)| vendor.to_ascii_lowercase())
    };
    let found: Vec<&ModelInfo> = catalogue.models().iter().filter(fits).collect();
    let of_vendor = |wanted: &str| {
        let of = found.iter().filter(|info| vendor_of(info).as_deref() == Some(wanted));
        dearest(of.copied())
    };
    // A provider that sells its own models sells no namesake of another vendor.
    vendor
        .as_deref()
        .and_then(of_vendor)
        .or_else(|| of_vendor(own))
        .or_else(|| dearest(found.iter().copied()))
}

fn dearest<'a>(found: impl Iterator<Item = &'a ModelInfo>) -> Option<&'a ModelInfo> {
    found.max_by_key(|info| info.price.map(|price| (price.output, price.input)))
}

/// The name in lower case, with one kind of punctuation.
fn plain(name: &str) -> String {
    let spaced = |byte: char| if matches!(byte, '.' | '_' | ' ') { '-' } else { byte.to_ascii_lowercase() };
    name.chars().map(spaced).collect()
}

/// The name without the date of a release, and without `-latest`.
fn undated(name: &str) -> String {
    let name = name.strip_suffix("-latest").unwrap_or(name);
    let head = name.trim_end_matches(|byte: char| byte.is_ascii_digit() || byte == '-');
    let digits = name[head.len()..].bytes().filter(u8::is_ascii_digit).count();
    // More digits than a date has are a date behind a version, which stays.
    if digits < DATE_DIGITS {
        return name.to_owned();
    }
    let mut cut = name.len();
    let mut left = DATE_DIGITS;
    for (at, byte) in name.char_indices().rev() {
        if left == 0 {
            break;
        }
        left -= usize::from(byte.is_ascii_digit());
        cut = at;
    }
    name[..cut].trim_end_matches('-').to_owned()
}

#[cfg(test)]
mod tests {
    use parallel_llm_engine::{PicoUsd, Price, ProviderId};

    use super::*;

    #[test]
    fn a_model_is_found_under_the_names_that_providers_use() {
        let priced = |id: &str, output| ModelInfo {
            price: Some(Price::per_token(PicoUsd(1), PicoUsd(output))),
            ..ModelInfo::named(id)
        };
        let catalogue = Catalogue::new(
            vec![
                priced("anthropic/claude-opus-5.5", 3),
                priced("google/gemini-4-argon", 4),
                priced("openai/gpt-oss-120b", 5),
                priced("openai/gpt-oss-120b:free", 0),
                priced("other/gemini-4-argon", 9),
                ModelInfo::named("openai/unpriced"),
            ],
            true,
        );
        let found = |provider: &str, model: &str| {
            let model = ModelRef { provider: ProviderId(provider.to_owned()), model: model.to_owned() };
            same_model(&model, &catalogue).map(|info| info.id.clone()).unwrap_or_default()
        };
        for (provider, model, expected) in [
            ("anthropic", "claude-opus-5-5-20261001", "anthropic/claude-opus-5.5"),
            ("anthropic", "claude-opus-5.5", "anthropic/claude-opus-5.5"),
            ("gemini", "gemini-4-argon", "google/gemini-4-argon"),
            ("team", "gemini-4-argon", "other/gemini-4-argon"),
            ("groq", "openai/gpt-oss-120b", "openai/gpt-oss-120b"),
            ("azure", "gpt-oss-120b-2026-08-05", "openai/gpt-oss-120b"),
            ("openai", "unpriced", ""),
            ("openai", "gpt-7", ""),
        ] {
            assert_eq!(found(provider, model), expected, "{provider}:{model}");
        }
    }
}
