//! The list of models: read from a provider's `GET /models`, or from the copy carried along.
//!
//! What always holds: a price is exact or absent; a list counts as live only if all of it was read, because a
//! name that is missing from a live list is refused.

use parallel_llm_engine::{Catalogue, Code, Failure, ModelInfo, PicoUsd, Price};
use serde_json::value::RawValue;

use crate::wire::loose;
use crate::wire::model::{Entry, List, Pricing};

/// The day of the embedded list.
pub const EMBEDDED_ON: &str = "2026-11-10";
/// OpenRouter's list of that day, cut down to what is read here.
const EMBEDDED: &str = include_str!("../assets/models.json");
/// The longest name of a model that is kept, in bytes, as in a model reference.
const ID_BYTES_MAX: usize = 200;
/// The longest name for people, in characters.
const NAME_CHARS_MAX: usize = 200;

/// The models known without asking anyone, for estimates and suggestions.
pub fn embedded_catalogue() -> Catalogue {
    let list = read(EMBEDDED.as_bytes()).expect("the embedded list is tested");
    Catalogue::new(list.models().to_vec(), false)
}

/// Reads a list of models.
pub(crate) fn read(body: &[u8]) -> Result<Catalogue, Failure> {
    let list: List<'_> = serde_json::from_slice(body.trim_ascii())
        .map_err(|_| Failure::new(Code::Protocol, "the list of models cannot be understood"))?;
    let models: Vec<ModelInfo> = list.data.iter().filter_map(|entry| model(entry)).collect();
    let all_read = models.len() == list.data.len();
    let all_sent =
        list.links.next.is_none() && list.total_count.is_none_or(|count| count <= models.len() as u64);
    let live = all_read && all_sent && !models.is_empty();
    Ok(Catalogue::new(models, live))
}

fn model(entry: &RawValue) -> Option<ModelInfo> {
    let entry: Entry<'_> = serde_json::from_str(entry.get()).ok()?;
    if entry.id.is_empty()
        || entry.id.len() > ID_BYTES_MAX
        || !entry.id.bytes().all(|byte| byte.is_ascii_graphic())
    {
        return None;
    }
    let name = entry.name.as_deref().unwrap_or(&entry.id);
    Some(ModelInfo {
        name: name.chars().filter(|letter| !letter.is_control()).take(NAME_CHARS_MAX).collect(),
        alias_of: entry.alias_target.map(|alias| alias.slug),
        context_tokens: loose::count(entry.context_length),
        output_tokens_max: entry.top_provider.and_then(|limits| loose::count(limits.max_completion_tokens)),
        price: entry.pricing.as_ref().and_then(price),
        id: entry.id,
    })
}

/// `None` where the price varies, which is written `-1`, or is not given.
fn price(pricing: &Pricing<'_>) -> Option<Price> {
    let request = match pricing.request {
        Some(_) => loose::usd(pricing.request)?,
        None => PicoUsd::ZERO,
    };
    Some(Price { input: loose::usd(pricing.prompt)?, output: loose::usd(pricing.completion)?, request })
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
            let catalogue = read(body.as_bytes()).unwrap();
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
        for body in ["", "<html>", "[]", r#"{"error":"x"}"#] {
            assert_eq!(super::read(body.as_bytes()).unwrap_err().code, Code::Protocol, "{body}");
        }
    }
}
