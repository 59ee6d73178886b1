//! The list of models, as `GET models` gives it.

use serde::Deserialize;
use serde_json::value::RawValue;

/// The whole list. Entries are read one by one, so that a strange one costs only itself.
#[derive(Debug)]
pub(crate) struct List<'a> {
    pub(crate) models: Vec<&'a RawValue>,
    /// Whether there is more of it elsewhere.
    pub(crate) goes_on: bool,
}

/// `{"data": […]}` nearly everywhere, `{"models": […]}` at Google.
#[derive(Debug, Deserialize)]
struct Envelope<'a> {
    #[serde(borrow, alias = "models")]
    data: Vec<&'a RawValue>,
    #[serde(default)]
    total_count: Option<u64>,
    #[serde(default)]
    links: Links,
    #[serde(default)]
    has_more: bool,
    #[serde(default, rename = "nextPageToken")]
    next_page_token: Option<serde_json::Value>,
}

/// Where the rest of a long list is.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Links {
    next: Option<serde_json::Value>,
}

impl<'a> List<'a> {
    /// Reads a list that stands alone or in an envelope. `None` where it is neither.
    pub(crate) fn read(body: &'a [u8]) -> Option<Self> {
        if let Ok(models) = serde_json::from_slice(body) {
            return Some(Self { models, goes_on: false });
        }
        let list: Envelope<'a> = serde_json::from_slice(body).ok()?;
        let counted = list.total_count.is_some_and(|count| count > list.data.len() as u64);
        let goes_on = counted || list.has_more || list.links.next.is_some() || list.next_page_token.is_some();
        Some(Self { models: list.data, goes_on })
    }
}

/// One model, under all the names its facts go by.
#[derive(Debug, Deserialize)]
pub(crate) struct Entry<'a> {
    #[serde(default)]
    pub(crate) id: Option<String>,
    #[serde(default)]
    pub(crate) name: Option<String>,
    #[serde(default, alias = "displayName")]
    pub(crate) display_name: Option<String>,
    #[serde(default)]
    pub(crate) alias_target: Option<Alias>,
    #[serde(
        default,
        borrow,
        rename = "context_length",
        alias = "context_window",
        alias = "max_context_length",
        alias = "max_model_len",
        alias = "max_input_tokens",
        alias = "inputTokenLimit"
    )]
    pub(crate) context_tokens: Option<&'a RawValue>,
    #[serde(
        default,
        borrow,
        rename = "max_completion_tokens",
        alias = "max_tokens",
        alias = "outputTokenLimit"
    )]
    pub(crate) output_tokens_max: Option<&'a RawValue>,
    #[serde(default, borrow)]
    pub(crate) top_provider: Option<TopProvider<'a>>,
    #[serde(default, borrow)]
    pub(crate) architecture: Option<Architecture<'a>>,
    #[serde(default, borrow)]
    pub(crate) pricing: Option<Pricing<'a>>,
    #[serde(default)]
    pub(crate) expiration_date: Option<String>,
}

/// The model an alias stands for.
#[derive(Debug, Deserialize)]
pub(crate) struct Alias {
    pub(crate) slug: String,
}

/// Limits of the provider that OpenRouter prefers.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct TopProvider<'a> {
    #[serde(borrow)]
    pub(crate) max_completion_tokens: Option<&'a RawValue>,
}

/// What a model reads.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Architecture<'a> {
    #[serde(borrow)]
    pub(crate) input_modalities: Option<&'a RawValue>,
}

/// US dollars per token and per request as decimals in text, or per million tokens as numbers.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Pricing<'a> {
    #[serde(borrow)]
    pub(crate) prompt: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(crate) completion: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(crate) request: Option<&'a RawValue>,
    /// Together's, for a million tokens sent.
    #[serde(borrow)]
    pub(crate) input: Option<&'a RawValue>,
    /// Together's, for a million tokens received.
    #[serde(borrow)]
    pub(crate) output: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(crate) overrides: Option<&'a RawValue>,
}

/// Another price for long prompts, or for certain hours.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Override<'a> {
    #[serde(borrow)]
    pub(crate) min_prompt_tokens: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(crate) prompt: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(crate) completion: Option<&'a RawValue>,
}
