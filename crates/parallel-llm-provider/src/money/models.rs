//! The list of models: read from a provider's `GET /models`, or from the embedded copy.
//!
//! Every provider has its own names for the same few facts; all of them are tried. Invariants: a price is exact or
//! absent; a list counts as live only if its provider lists every name it accepts and all of it was read, because a
//! name that is missing from a live list is refused.

use std::borrow::Cow;

use parallel_llm_engine::request::catalogue::{Inputs, PriceOverride};
use parallel_llm_engine::{Catalogue, Code, Failure, ModelInfo, PicoUsd, Price};
use serde_json::value::RawValue;

use crate::codec;
use crate::codec::protocol::Address;
use crate::providers::dialect::{Dialect, ListPrices};
use crate::wire::loose;
use crate::wire::model::{Fields, List};

/// The date of the embedded list.
pub const EMBEDDED_ON: &str = "2026-11-10";
/// OpenRouter's list of that day, reduced to the fields that are read here.
const EMBEDDED: &str = include_str!("../../assets/models.json");
/// The longest model id that is kept, in bytes, as in a model reference.
const ID_BYTES_MAX: usize = 200;
/// The longest display name, in characters.
const NAME_CHARS_MAX: usize = 200;
/// Google's prefix of every model name.
const GEMINI_PREFIX: &str = "models/";
/// The parts of a name by which models are known that search the web unasked, which is billed for each request.
const SEARCHING: &[&str] = &["sonar", "search", "deep-research"];
/// The number of tokens a price is for if a provider gives prices per million.
const PER_MILLION: i64 = 1_000_000;
/// The names of the context length, the most specific first.
const CONTEXT_NAMES: &[&str] = &[
    "context_length",
    "context_window",
    "max_context_length",
    "max_model_len",
    "max_input_tokens",
    "inputTokenLimit",
];
/// The names of the output limit.
const OUTPUT_NAMES: &[&str] = &["max_completion_tokens", "max_tokens", "outputTokenLimit"];

/// The models known without asking a provider, for estimates and suggestions.
pub fn embedded_catalogue() -> Catalogue {
    // It is not current, so a missing name is not refused.
    let dialect = Dialect { routes: false, ..Dialect::OPENROUTER };
    read(EMBEDDED.as_bytes(), &dialect).expect("the embedded list is tested")
}

/// The address of the list of models, in one page if possible.
pub(crate) fn address(dialect: &Dialect) -> Address {
    Address {
        query: codec::of(dialect.protocol).models_query().map(Cow::Borrowed),
        ..Address::path("models")
    }
}

/// Reads a list of models. Only a router lists every name it accepts: most others also accept aliases and dated names,
/// and Azure the names of deployments.
pub(crate) fn read(body: &[u8], dialect: &Dialect) -> Result<Catalogue, Failure> {
    let list = List::read(body.trim_ascii())
        .ok_or_else(|| Failure::new(Code::Protocol, "the list of models cannot be understood"))?;
    let models: Vec<ModelInfo> =
        list.models.iter().filter_map(|entry| model(entry, dialect.list_prices)).collect();
    let all_read = models.len() == list.models.len() && !list.has_more_pages;
    let live = dialect.routes && all_read && !models.is_empty();
    Ok(Catalogue::new(models, live))
}

fn model(entry: &RawValue, list_prices: ListPrices) -> Option<ModelInfo> {
    let entry: Fields<'_> = serde_json::from_str(entry.get()).ok()?;
    let id = entry.text(&["id", "name"])?;
    let id = id.strip_prefix(GEMINI_PREFIX).unwrap_or(&id);
    if !is_id(id) {
        return None;
    }
    let name = entry.text(&["display_name", "displayName", "name"]);
    let pricing = Pricing::new(entry.part("pricing"), list_prices);
    let price_overrides = pricing.overrides(list_prices);
    // The limit of the router's preferred provider applies.
    let preferred = entry.part("top_provider").first(OUTPUT_NAMES, loose::count);
    Some(ModelInfo {
        other_ids: dated(id, &entry).into_iter().collect(),
        name: shown(name.as_deref().unwrap_or(id), NAME_CHARS_MAX),
        alias_of: entry.part("alias_target").text(&["slug"]).map(Cow::into_owned),
        context_tokens: entry.first(CONTEXT_NAMES, loose::count),
        output_tokens_max: preferred.or_else(|| entry.first(OUTPUT_NAMES, loose::count)),
        price: pricing.price(id).ok().filter(|_| price_overrides.is_ok()),
        price_overrides: price_overrides.unwrap_or_default(),
        inputs: inputs(&entry.part("architecture")),
        json_mode: json_mode(&entry),
        expires_on: entry.text(&["expiration_date"]).and_then(|date| day(&date)),
        ..ModelInfo::named(id)
    })
}

/// Whether a name can be used to call a model.
fn is_id(name: &str) -> bool {
    !name.is_empty() && name.len() <= ID_BYTES_MAX && name.bytes().all(|byte| byte.is_ascii_graphic())
}

/// The name with the release date, if it differs. All variants of a model have the same one, so the suffix of this
/// variant is added: otherwise a free variant would be found where the paid one is meant.
fn dated(id: &str, entry: &Fields<'_>) -> Option<String> {
    let suffix = id.find(':').map_or("", |at| &id[at..]);
    let mut dated = entry.text(&["canonical_slug"])?.into_owned();
    if !dated.ends_with(suffix) {
        dated.push_str(suffix);
    }
    (dated != id && is_id(&dated)).then_some(dated)
}

/// A price that varies, which is written `-1`, or cannot be read.
struct Varies;

/// The prices of a model in a list.
struct Pricing<'a> {
    fields: Fields<'a>,
    /// The names of the prices for tokens sent and received.
    names: (&'static str, &'static str),
    /// How many tokens they are for.
    tokens: i64,
}

impl<'a> Pricing<'a> {
    fn new(fields: Fields<'a>, list_prices: ListPrices) -> Self {
        let (names, tokens) = match list_prices {
            ListPrices::PerToken => (("prompt", "completion"), 1),
            ListPrices::PerMillion => (("input", "output"), PER_MILLION),
        };
        Self { fields, names, tokens }
    }

    /// A price, if there is one.
    fn flat(&self, name: &str) -> Result<Option<PicoUsd>, Varies> {
        let price = self.fields.get(name).filter(|price| price.get() != "null");
        price.map(|price| loose::usd(Some(price)).ok_or(Varies)).transpose()
    }

    /// The same for each token.
    fn per_token(&self, name: &str) -> Result<Option<PicoUsd>, Varies> {
        let price = self.flat(name)?;
        Ok(price.map(|price| PicoUsd(price.0 / self.tokens)))
    }

    /// The price of a model with this id, unless it is missing. What is not known does not bound what a call costs, so all parts
    /// must be.
    fn price(&self, id: &str) -> Result<Price, Varies> {
        let input = self.per_token(self.names.0)?.ok_or(Varies)?;
        let output = self.per_token(self.names.1)?.ok_or(Varies)?;
        let searches = SEARCHING.iter().any(|word| id.contains(word));
        let search = if searches { self.flat("web_search")?.unwrap_or_default() } else { PicoUsd::ZERO };
        let cache_write = self.per_token("input_cache_write")?;
        Ok(Price {
            input,
            output: output.max(self.per_token("internal_reasoning")?.unwrap_or_default()),
            request: self.flat("request")?.unwrap_or_default().plus(search),
            picture: self.flat("image")?.unwrap_or_default(),
            cache_write: cache_write.filter(|write| *write > input).unwrap_or_default(),
        })
    }

    /// Prices that apply under conditions.
    fn overrides(&self, list_prices: ListPrices) -> Result<Vec<PriceOverride>, Varies> {
        let Some(list) = self.fields.get("overrides").filter(|list| list.get() != "null") else {
            return Ok(Vec::new());
        };
        let read = |it: &&'a RawValue| {
            let fields = serde_json::from_str(it.get()).map_err(|_| Varies)?;
            let over = Pricing::new(fields, list_prices);
            Ok(PriceOverride {
                // A condition of another kind may hold at any time.
                above_input_tokens: loose::count(over.fields.get("min_prompt_tokens")),
                input: over.per_token(self.names.0)?,
                output: over.per_token(self.names.1)?.max(over.per_token("internal_reasoning")?),
                request: over.flat("request")?,
                cache_write: over.per_token("input_cache_write")?,
            })
        };
        let list: Vec<&RawValue> = serde_json::from_str(list.get()).map_err(|_| Varies)?;
        list.iter().map(read).collect()
    }
}

/// Which files a model accepts. A list without modalities says nothing.
fn inputs(architecture: &Fields<'_>) -> Option<Inputs> {
    let words: Vec<String> = loose::part(architecture.get("input_modalities"));
    let has = |word: &str| words.iter().any(|own| own == word);
    (!words.is_empty()).then(|| Inputs { image: has("image"), document: has("file") })
}

/// Whether the model accepts the field that requests JSON. One that accepts a schema accepts that, too.
fn json_mode(entry: &Fields<'_>) -> bool {
    let parameters: Vec<String> = loose::part(entry.get("supported_parameters"));
    parameters.iter().any(|name| matches!(name.as_str(), "response_format" | "structured_outputs"))
}

/// A date as `YYYY-MM-DD`, if the text begins with one.
pub(crate) fn day(date: &str) -> Option<String> {
    let day = date.get(..10)?;
    let is_date = day.bytes().enumerate().all(|(index, byte)| match index {
        4 | 7 => byte == b'-',
        _ => byte.is_ascii_digit(),
    });
    is_date.then(|| day.to_owned())
}

/// A text from a provider, shortened and without control characters.
fn shown(text: &str, chars_max: usize) -> String {
    text.chars().filter(|letter| !letter.is_control()).take(chars_max).collect()
}

#[cfg(test)]
mod tests {
    use parallel_llm_engine::ProviderId;

    use super::*;
    use crate::connection::endpoint::Endpoint;
    use crate::providers::known::Known;

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
    fn an_invalid_entry_is_left_out_and_the_list_is_not_live() {
        let read = |body: &str| {
            let catalogue = super::read(body.as_bytes(), &Dialect::OPENROUTER).unwrap();
            (catalogue.models().iter().map(|model| model.id.clone()).collect::<Vec<_>>(), catalogue.is_live())
        };
        assert_eq!(
            read(r#"{"data":[{"id":"a"},{"id":"b","context_length":null}]}"#),
            (vec!["a".into(), "b".into()], true)
        );
        assert_eq!(read(r#"{"data":[{"id":"a"},{"id":7},{"id":"b c"}]}"#), (vec!["a".into()], false));
        assert_eq!(read(r#"{"data":[{"id":"a"}],"total_count":9}"#), (vec!["a".into()], false));
        assert_eq!(read(r#"{"data":[{"id":"a"}],"links":{"next":"/x"}}"#), (vec!["a".into()], false));
        assert_eq!(read(r#"{"data":[{"id":"a"}],"has_more":true}"#), (vec!["a".into()], false));
        assert_eq!(read(r#"{"models":[{"name":"a"}],"nextPageToken":"x"}"#), (vec!["a".into()], false));
        assert_eq!(read(r#"{"data":[]}"#), (vec![], false));
    }

    #[test]
    fn models_with_a_json_mode_are_recognized() {
        for (parameters, expected) in [
            (r#"["tools","response_format"]"#, true),
            (r#"["structured_outputs"]"#, true),
            (r#"["tools"]"#, false),
            ("[]", false),
            ("null", false),
            ("7", false),
        ] {
            let body = format!(r#"{{"data":[{{"id":"a","supported_parameters":{parameters}}}]}}"#);
            let catalogue = super::read(body.as_bytes(), &Dialect::OPENROUTER).unwrap();
            assert_eq!(catalogue.models()[0].json_mode, expected, "{parameters}");
        }
        let embedded = embedded_catalogue();
        assert!(embedded.find("openai/gpt-6.1-sol").unwrap().json_mode);
    }

    #[test]
    fn a_document_that_is_no_list_is_refused() {
        for body in ["", "<html>", "7", r#"{"error":"x"}"#, r#"{"data":7}"#] {
            let failure = super::read(body.as_bytes(), &Dialect::OPENROUTER).unwrap_err();
            assert_eq!(failure.code, Code::Protocol, "{body}");
        }
    }

    /// The models of a list, one line each.
    fn lines(body: &str) -> Vec<String> {
        let catalogue = super::read(body.as_bytes(), &Dialect::OPENAI_COMPATIBLE).unwrap();
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
                "zai/glm \"zai/glm\" Some(9) None None None",
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
            "overrides":[{"min_prompt_tokens":200000,"prompt":"3"},{"utc_start":1,"utc_end":2,"completion":"4"}]}}]}"#;
        let catalogue = super::read(body.as_bytes(), &Dialect::OPENROUTER).unwrap();
        let model = &catalogue.models()[0];
        assert_eq!(model.expires_on.as_deref(), Some("2026-12-10"));
        let usd = |dollars| Some(PicoUsd::from_usd(dollars));
        let none = PriceOverride {
            above_input_tokens: None,
            input: None,
            output: None,
            request: None,
            cache_write: None,
        };
        let long = PriceOverride { above_input_tokens: Some(200_000), input: usd(3), ..none };
        let hours = PriceOverride { output: usd(4), ..none };
        assert_eq!(model.price_overrides, [long, hours]);
        for date in ["soon", "2026-1-1", "2026-12-1x"] {
            assert_eq!(day(date), None, "{date}");
        }
    }

    /// The most that 10 tokens in and 10 out with two pictures cost, in dollars.
    fn most(id: &str, pricing: &str) -> Option<i64> {
        let body = format!(r#"{{"data":[{{"id":"{id}","pricing":{pricing}}}]}}"#);
        let catalogue = super::read(body.as_bytes(), &Dialect::OPENROUTER).unwrap();
        let price = catalogue.models()[0].price_at(10)?;
        Some(price.most(10, 2, 10).0 / PicoUsd::from_usd(1).0)
    }

    #[test]
    fn all_that_is_billed_bounds_a_call() {
        let priced = |more: &str| most("lab/a", &format!(r#"{{"prompt":"1","completion":"2"{more}}}"#));
        for (more, dollars) in [
            ("", Some(30)),
            (r#","input_cache_write":"1.5""#, Some(35)),
            (r#","input_cache_write":"0.5""#, Some(30)),
            (r#","internal_reasoning":"3""#, Some(40)),
            (r#","internal_reasoning":"0""#, Some(30)),
            (r#","image":"7""#, Some(44)),
            (r#","request":"5""#, Some(35)),
            (r#","web_search":"5""#, Some(30)),
            (r#","image":null,"overrides":null"#, Some(30)),
            (r#","overrides":[]"#, Some(30)),
            (r#","overrides":[{"min_prompt_tokens":9,"prompt":"4"}]"#, Some(60)),
            (r#","overrides":[{"min_prompt_tokens":9,"prompt":"0.5"}]"#, Some(30)),
            (r#","overrides":[{"min_prompt_tokens":9,"request":"5"}]"#, Some(35)),
            (r#","overrides":[{"min_prompt_tokens":10,"prompt":"4"}]"#, Some(30)),
            (r#","overrides":[{"min_prompt_tokens":"10","prompt":"4"}]"#, Some(60)),
            (r#","overrides":[{"prompt":"-1"}]"#, None),
            (r#","overrides":[{"prompt":"x"}]"#, None),
            (r#","overrides":[7]"#, None),
            (r#","overrides":{"prompt":"4"}"#, None),
            (r#","image":"-1""#, None),
            (r#","input_cache_write":"x""#, None),
            (r#","internal_reasoning":"-1""#, None),
        ] {
            assert_eq!(priced(more), dollars, "{more}");
        }
        let searching = r#"{"prompt":"1","completion":"2","web_search":"5"}"#;
        assert_eq!(most("perplexity/sonar-pro", searching), Some(35), "it searches unasked");
    }

    #[test]
    fn a_price_has_the_unit_of_its_provider() {
        let priced = |pricing: &str, dialect: Dialect| {
            let body = format!(r#"{{"data":[{{"id":"a","pricing":{pricing}}}]}}"#);
            let price = super::read(body.as_bytes(), &dialect).unwrap().models()[0].price;
            price.map(|price| (price.input.0, price.output.0))
        };
        let million = r#"{"hourly":0,"input":0.88,"output":2,"base":0,"finetune":0}"#;
        let token = r#"{"prompt":"0.0000025","completion":"0.00001","request":null}"#;
        let without_unit = r#"{"input":"0.0000025","output":"0.00001"}"#;
        assert_eq!(priced(million, Dialect::TOGETHER), Some((880_000, 2_000_000)));
        assert_eq!(priced(token, Dialect::TOGETHER), None);
        for dialect in [Dialect::OPENROUTER, Dialect::OPENAI_COMPATIBLE, Dialect::GROQ] {
            assert_eq!(priced(token, dialect), Some((2_500_000, 10_000_000)));
            assert_eq!(
                priced(without_unit, dialect),
                None,
                "the number of tokens that the price is for is unknown"
            );
        }
        assert_eq!(priced("7", Dialect::OPENROUTER), None);
    }

    #[test]
    fn an_invalid_or_repeated_field_is_left_out_alone() {
        for (body, line) in [
            (r#"{"models":[{"id":"b"}],"data":[{"id":"a"}]}"#, r#"a "a" None None None None"#),
            (r#"{"data":7,"models":[{"id":"a"}]}"#, r#"a "a" None None None None"#),
            (
                r#"{"data":[{"id":"a"}],"has_more":null,"links":null,"total_count":"x"}"#,
                r#"a "a" None None None None"#,
            ),
            (
                r#"{"data":[{"id":"a","max_model_len":8,"context_length":9}]}"#,
                r#"a "a" Some(9) None None None"#,
            ),
            (
                r#"{"data":[{"id":"a","max_model_len":8,"context_length":"x"}]}"#,
                r#"a "a" Some(8) None None None"#,
            ),
            (
                r#"{"data":[{"id":"a","max_tokens":8,"max_completion_tokens":7}]}"#,
                r#"a "a" None Some(7) None None"#,
            ),
            (
                r#"{"data":[{"id":"a","displayName":"B","display_name":null,"name":7}]}"#,
                r#"a "B" None None None None"#,
            ),
            (
                r#"{"data":[{"id":"a","expiration_date":7,"top_provider":"x","max_tokens":8}]}"#,
                r#"a "a" None Some(8) None None"#,
            ),
            (
                r#"{"data":[{"id":"a","alias_target":"x","architecture":[],"pricing":"x","canonical_slug":{}}]}"#,
                r#"a "a" None None None None"#,
            ),
        ] {
            assert_eq!(lines(body), [line], "{body}");
        }
    }

    #[test]
    fn a_dated_name_names_the_same_variant() {
        let body = r#"{"data":[{"id":"a","canonical_slug":"a-0801"},{"id":"b","canonical_slug":"b"},
            {"id":"a:free","canonical_slug":"a-0801"},{"id":"c:free","canonical_slug":"c"},
            {"id":"d","canonical_slug":"d 0801"}]}"#;
        let catalogue = super::read(body.as_bytes(), &Dialect::OPENROUTER).unwrap();
        let ids: Vec<String> = catalogue.models().iter().map(|model| model.other_ids.join(",")).collect();
        assert_eq!(ids, ["a-0801", "", "a-0801:free", "", ""]);
        let found = |name: &str| catalogue.find(name).map(|model| model.id.as_str());
        assert_eq!((found("a-0801"), found("a-0801:free"), found("c")), (Some("a"), Some("a:free"), None));
    }

    #[test]
    fn the_longest_page_of_a_list_is_asked_for() {
        let asked = |id: &str| {
            let known = Known::by_id(id).unwrap();
            let endpoint = Endpoint::new(ProviderId(id.into()), known.base_url, None, known.dialect).unwrap();
            endpoint.url(&address(&known.dialect)).to_string()
        };
        assert_eq!(asked("anthropic"), "https://api.anthropic.com/v1/models?limit=1000");
        let google = "https://generativelanguage.googleapis.com/v1beta/models?pageSize=1000";
        assert_eq!(asked("gemini"), google);
        assert_eq!(asked("openrouter"), "https://openrouter.ai/api/v1/models");
    }
}
