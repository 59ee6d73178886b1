//! The list of models, as `GET /models` gives it.

use serde::Deserialize;
use serde_json::value::RawValue;

/// The whole list. Entries are read one by one, so that a strange one costs only itself.
#[derive(Debug, Deserialize)]
pub(crate) struct List<'a> {
    #[serde(borrow)]
    pub(crate) data: Vec<&'a RawValue>,
    #[serde(default)]
    pub(crate) total_count: Option<u64>,
    #[serde(default)]
    pub(crate) links: Links,
}

/// Where the rest of a long list is.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Links {
    pub(crate) next: Option<serde_json::Value>,
}

/// One model.
#[derive(Debug, Deserialize)]
pub(crate) struct Entry<'a> {
    pub(crate) id: String,
    #[serde(default)]
    pub(crate) name: Option<String>,
    #[serde(default)]
    pub(crate) alias_target: Option<Alias>,
    #[serde(default, borrow)]
    pub(crate) context_length: Option<&'a RawValue>,
    #[serde(default, borrow)]
    pub(crate) top_provider: Option<TopProvider<'a>>,
    #[serde(default, borrow)]
    pub(crate) pricing: Option<Pricing<'a>>,
}

/// The model an alias stands for.
#[derive(Debug, Deserialize)]
pub(crate) struct Alias {
    pub(crate) slug: String,
}

/// Limits of the provider that OpenRouter prefers.
#[derive(Debug, Deserialize)]
pub(crate) struct TopProvider<'a> {
    #[serde(default, borrow)]
    pub(crate) max_completion_tokens: Option<&'a RawValue>,
}

/// US dollars per token and per request, as decimals in text.
#[derive(Debug, Deserialize)]
pub(crate) struct Pricing<'a> {
    #[serde(default, borrow)]
    pub(crate) prompt: Option<&'a RawValue>,
    #[serde(default, borrow)]
    pub(crate) completion: Option<&'a RawValue>,
    #[serde(default, borrow)]
    pub(crate) request: Option<&'a RawValue>,
}
