//! Reads the tables of `assets/`: endpoints, fields and error texts.
//!
//! - `dialects.json`: the endpoints. Rows of one name are adjacent, the first of them gives the base URL, and
//!   OpenRouter's row is the first of all. [`Dialect::default`] fills in missing fields.
//! - `fields.json`: fields and rules, by the name in an endpoint's row.
//! - `errors.json`: error texts by provider and kind. A provider without a text of its own uses OpenAI's, since all but
//!   three copied their errors from there. The texts follow the providers' documentation and reports of clients, and
//!   may be outdated.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Deserialize;

use super::error_text::{ErrorKind, ErrorText};
use super::fields::Fields;
use super::row::{
    Counts, Dialect, KeepAlive, List, ModelNames, Protocol, ReasoningField, Shape, UsageLocation,
};

/// The provider whose error texts are the fallback.
const FALLBACK: &str = "openai";

pub(super) static DIALECTS: LazyLock<Vec<Dialect>> =
    LazyLock::new(|| read(include_str!("../../assets/dialects.json")));

static FIELDS: LazyLock<BTreeMap<String, Fields>> =
    LazyLock::new(|| read(include_str!("../../assets/fields.json")));

static ERRORS: LazyLock<BTreeMap<String, BTreeMap<ErrorKind, ErrorText>>> =
    LazyLock::new(|| read(include_str!("../../assets/errors.json")));

fn read<T: Deserialize<'static>>(text: &'static str) -> T {
    serde_json::from_str(text).expect("the embedded tables are well formed")
}

impl Default for Dialect {
    /// The features that most providers took over from OpenAI.
    fn default() -> Self {
        Self {
            name: "",
            host: "localhost",
            prefix: "",
            path: "",
            models_path: "",
            list: List::OpenAi { context_field: None },
            protocol: Protocol::Chat,
            key_headers: vec!["authorization"],
            needs_key: true,
            version_header: None,
            provider: None,
            model_names: ModelNames::Any,
            fields: "ignored",
            limits: vec!["max_completion_tokens", "max_tokens"],
            shape: Shape::OpenAi,
            errors: FALLBACK,
            id_prefix: "chatcmpl-",
            headers: Vec::new(),
            usage: UsageLocation::OnRequest,
            counts: Counts::Plain,
            reasoning: ReasoningField::Hidden,
            role_first: true,
            preface: None,
            keep_alive: KeepAlive::Never,
            padding: None,
            output_counts: true,
            cuts_prompt_at: None,
            crlf: false,
        }
    }
}

impl Dialect {
    /// The fields and rules of the endpoint.
    pub(crate) fn fields(&self) -> &'static Fields {
        &FIELDS[self.fields]
    }

    /// The text of an error: this provider's, or OpenAI's.
    pub(super) fn error(&self, kind: ErrorKind) -> &'static ErrorText {
        // A provider without a text for a hinted rate limit uses its plain one.
        let plain = if kind == ErrorKind::RateHinted { ErrorKind::Rate } else { kind };
        let places = [self.errors, FALLBACK].map(|provider| &ERRORS[provider]);
        let found = places.iter().find_map(|errors| errors.get(&kind).or_else(|| errors.get(&plain)));
        found.expect("the fallback has an error of every kind")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_in_the_tables_is_there() {
        for dialect in DIALECTS.iter() {
            assert!(FIELDS.contains_key(dialect.fields), "{}", dialect.fields);
            assert!(ERRORS.contains_key(dialect.errors), "{}", dialect.errors);
            assert!(dialect.path.starts_with(dialect.prefix), "{}", dialect.path);
        }
        assert!(DIALECTS[0].is_openrouter());
    }
}
