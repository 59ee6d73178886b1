//! The list of models: read from a provider's `GET /models`, or from the copy carried along.
//!
//! Every provider has its own names for the same few facts; all of them are looked for. What always holds: a price
//! is exact or absent; a list counts as live only if its provider lists every name it takes and all of it was read,
//! because a name that is missing from a live list is refused.

use parallel_llm_engine::catalogue::{Inputs, PriceOverride};
use parallel_llm_engine::{Catalogue, Code, Failure, ModelInfo, PicoUsd, Price};
use serde_json::value::RawValue;

use crate::wire::loose;
use crate::wire::model::{Architecture, Entry, List, Override, Pricing};

/// The day of the embedded list.
pub const EMBEDDED_ON: &str = "2026-11-10";
/// OpenRouter's list of that day, cut down to what is read here.
const EMBEDDED: &str = include_str!("../assets/models.json");
/// The longest name of a model that is kept, in bytes, as in a model reference.
const ID_BYTES_MAX: usize = 200;
/// The longest name for people, in characters.
const NAME_CHARS_MAX: usize = 200;
/// What Google puts before the name of each model.
const GEMINI_PREFIX: &str = "models/";
/// Some lists give prices for a million tokens.
const PER_MILLION: i64 = 1_000_000;

/// The models known without asking anyone, for estimates and suggestions.
pub fn embedded_catalogue() -> Catalogue {
    read(EMBEDDED.as_bytes(), false).expect("the embedded list is tested")
}

/// Reads a list of models. `is_whole` says whether its provider lists every name it takes: most take aliases and
/// dated names besides, and Azure the names of deployments.
pub(crate) fn read(body: &[u8], is_whole: bool) -> Result<Catalogue, Failure> {
    let list = List::read(body.trim_ascii())
        .ok_or_else(|| Failure::new(Code::Protocol, "the list of models cannot be understood"))?;
    let models: Vec<ModelInfo> = list.models.iter().filter_map(|entry| model(entry)).collect();
    let all_read = models.len() == list.models.len() && !list.goes_on;
    let live = is_whole && all_read && !models.is_empty();
    Ok(Catalogue::new(models, live))
}

fn model(entry: &RawValue) -> Option<ModelInfo> {
    let entry: Entry<'_> = serde_json::from_str(entry.get()).ok()?;
    let id = entry.id.or_else(|| entry.name.clone()).unwrap_or_default();
    let id = id.strip_prefix(GEMINI_PREFIX).unwrap_or(&id);
    if id.is_empty() || id.len() > ID_BYTES_MAX || !id.bytes().all(|byte| byte.is_ascii_graphic()) {
        return None;
    }
    let name = entry.display_name.as_deref().or(entry.name.as_deref()).unwrap_or(id);
    let limits = entry.top_provider.unwrap_or_default();
    let pricing = entry.pricing.as_ref();
    Some(ModelInfo {
        name: shown(name, NAME_CHARS_MAX),
        alias_of: entry.alias_target.map(|alias| alias.slug),
        context_tokens: loose::count(entry.context_tokens),
        output_tokens_max: [limits.max_completion_tokens, entry.output_tokens_max]
            .into_iter()
            .find_map(loose::count),
        price: pricing.and_then(price),
        price_overrides: pricing.map(overrides).unwrap_or_default(),
        inputs: entry.architecture.and_then(|architecture| inputs(&architecture)),
        expires_on: entry.expiration_date.and_then(|date| day(&date)),
        ..ModelInfo::named(id)
    })
}

/// `None` where the price varies, which is written `-1`, or is not given.
fn price(pricing: &Pricing<'_>) -> Option<Price> {
    let request = match pricing.request {
        Some(_) => loose::usd(pricing.request)?,
        None => PicoUsd::ZERO,
    };
    let token =
        |each, million| loose::usd(each).or_else(|| Some(PicoUsd(loose::usd(million)?.0 / PER_MILLION)));
    let input = token(pricing.prompt, pricing.input)?;
    Some(Price { input, output: token(pricing.completion, pricing.output)?, request })
}

/// Other prices under conditions. One that cannot be read would make an estimate too low or too high, but never
/// what the provider charges, so it is passed over.
fn overrides(pricing: &Pricing<'_>) -> Vec<PriceOverride> {
    let list: Vec<Override<'_>> = loose::part(pricing.overrides);
    let read = |it: &Override<'_>| PriceOverride {
        above_input_tokens: loose::count(it.min_prompt_tokens),
        input: loose::usd(it.prompt),
        output: loose::usd(it.completion),
    };
    list.iter().map(read).filter(|it| it.input.is_some() || it.output.is_some()).collect()
}

/// Which files a model takes. A list that names no modality says nothing.
fn inputs(architecture: &Architecture<'_>) -> Option<Inputs> {
    let words: Vec<String> = loose::part(architecture.input_modalities);
    let has = |word: &str| words.iter().any(|own| own == word);
    (!words.is_empty()).then(|| Inputs { image: has("image"), document: has("file") })
}

/// A date as `YYYY-MM-DD`, where it begins with one.
fn day(date: &str) -> Option<String> {
    let day = date.get(..10)?;
    let is_date = day.bytes().enumerate().all(|(index, byte)| match index {
        4 | 7 => byte == b'-',
        _ => byte.is_ascii_digit(),
    });
    is_date.then(|| day.to_owned())
}

/// A stranger's words, cut to a length and without control characters.
fn shown(text: &str, chars_max: usize) -> String {
    text.chars().filter(|letter| !letter.is_control()).take(chars_max).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_embedded_list_is_whole_and_not_live() {
        let catalogue = embedded_catalogue();
        assert_eq!(catalogue.models().len(), EMBEDDED.lines().count() - 2);
        assert!(!catalogue.is_live());
        let model = catalogue.find("openai/gpt-sol-latest").unwrap();
        assert_eq!(model.alias_of.as_deref(), Some("openai/gpt-6.1-sol"));
        assert_eq!((model.context_tokens, model.output_tokens_max), (Some(1_050_000), Some(128_000)));
        let price = model.price.unwrap();
        assert_eq!(
            (price.input, price.output, price.request),
            (PicoUsd(2_000_000), PicoUsd(10_000_000), PicoUsd(0))
        );
        assert_eq!(catalogue.find("openrouter/auto").unwrap().price, None);
        assert_eq!(
            catalogue.find("~deepseek/deepseek-pro-latest").unwrap().price.unwrap().input,
            PicoUsd(99_900)
        );
    }

    #[test]
    fn a_strange_entry_costs_only_itself_and_the_word_live() {
        let read = |body: &str| {
            let catalogue = super::read(body.as_bytes(), true).unwrap();
            (catalogue.models().iter().map(|model| model.id.clone()).collect::<Vec<_>>(), catalogue.is_live())
        };
        assert_eq!(
            read(r#"{"data":[{"id":"a"},{"id":"b","context_length":null}]}"#),
            (vec!["a".into(), "b".into()], true)
        );
        assert_eq!(read(r#"{"data":[{"id":"a"},{"id":7},{"id":"b c"}]}"#), (vec!["a".into()], false));
        assert_eq!(read(r#"{"data":[{"id":"a"}],"total_count":9}"#), (vec!["a".into()], false));
        assert_eq!(read(r#"{"data":[{"id":"a"}],"links":{"next":"/x"}}"#), (vec!["a".into()], false));
        assert_eq!(read(r#"{"data":[]}"#), (vec![], false));
    }

    #[test]
    fn what_is_no_list_is_said() {
        for body in ["", "<html>", "7", r#"{"error":"x"}"#, r#"{"data":7}"#] {
            assert_eq!(super::read(body.as_bytes(), true).unwrap_err().code, Code::Protocol, "{body}");
        }
    }

    /// The models of a list, one line each.
    fn lines(body: &str) -> Vec<String> {
        let catalogue = super::read(body.as_bytes(), false).unwrap();
        assert!(!catalogue.is_live(), "only who lists every name can be live");
        let line = |model: &ModelInfo| {
            let ModelInfo { id, name, context_tokens, output_tokens_max, price, inputs, .. } = model;
            let price = price.map(|price| (price.input.0, price.output.0));
            let files = inputs.map(|inputs| (inputs.image, inputs.document));
            format!("{id} {name:?} {context_tokens:?} {output_tokens_max:?} {price:?} {files:?}")
        };
        catalogue.models().iter().map(line).collect()
    }

    #[test]
    fn every_providers_list_is_read() {
        for (body, line) in [
            (
                r#"{"object":"list","data":[{"id":"gpt-6","object":"model","owned_by":"x"}]}"#,
                "gpt-6 \"gpt-6\" None None None None",
            ),
            (
                r#"{"data":[{"type":"model","id":"claude","display_name":"Claude","max_input_tokens":9}],"has_more":false}"#,
                "claude \"Claude\" Some(9) None None None",
            ),
            (
                r#"{"models":[{"name":"models/gemini-4","displayName":"Gemini","inputTokenLimit":9,"outputTokenLimit":8}]}"#,
                "gemini-4 \"Gemini\" Some(9) Some(8) None None",
            ),
            (
                r#"[{"id":"zai/glm","context_length":9,"pricing":{"input":0.88,"output":2,"hourly":0}}]"#,
                "zai/glm \"zai/glm\" Some(9) None Some((880000, 2000000)) None",
            ),
            (
                r#"{"data":[{"id":"groq","context_window":9,"max_completion_tokens":8}]}"#,
                "groq \"groq\" Some(9) Some(8) None None",
            ),
            (
                r#"{"data":[{"id":"mistral","max_context_length":9}]}"#,
                "mistral \"mistral\" Some(9) None None None",
            ),
            (r#"{"data":[{"id":"vllm","max_model_len":9}]}"#, "vllm \"vllm\" Some(9) None None None"),
            (
                r#"{"data":[{"id":"a/b","architecture":{"input_modalities":["text","image","file"]},"top_provider":{"max_completion_tokens":null}}]}"#,
                "a/b \"a/b\" None None None Some((true, true))",
            ),
        ] {
            assert_eq!(lines(body), [line], "{body}");
        }
    }

    #[test]
    fn a_model_may_cost_otherwise_and_may_end() {
        let body = r#"{"data":[{"id":"a","expiration_date":"2026-12-10T00:00:00Z","pricing":{"prompt":"1","completion":"2",
            "overrides":[{"min_prompt_tokens":200000,"prompt":"3"},{"utc_start":1,"utc_end":2,"completion":"4"},{"prompt":"x"}]}}]}"#;
        let catalogue = super::read(body.as_bytes(), true).unwrap();
        let model = &catalogue.models()[0];
        assert_eq!(model.expires_on.as_deref(), Some("2026-12-10"));
        let usd = |dollars| Some(PicoUsd::from_usd(dollars));
        let long = PriceOverride { above_input_tokens: Some(200_000), input: usd(3), output: None };
        let hours = PriceOverride { above_input_tokens: None, input: None, output: usd(4) };
        assert_eq!(model.price_overrides, [long, hours]);
        for date in ["soon", "2026-1-1", "2026-12-1x"] {
            assert_eq!(day(date), None, "{date}");
        }
    }
}
