//! The tables of `assets/`, read once: every endpoint that is spoken, what a request to it may hold, and what its errors
//! say.
//!
//! - `dialects.json`: the endpoints. Those of one name stand together, the first of them gives the base URL, and
//!   OpenRouter's is the first of all. A field that is left out is as in [`Dialect::default`].
//! - `fields.json`: fields and rules by the name that an endpoint calls them by.
//! - `errors.json`: errors by provider and kind. A kind that a provider has no error for is said as OpenAI says it, since
//!   all but three copied their errors from there. They follow the providers' documents and what clients have reported
//!   of them, and may drift.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Deserialize;

use super::error_text::{ErrorKind, ErrorText};
use super::fields::Fields;
use super::{Counts, Dialect, KeepAlive, List, ModelNames, Protocol, ReasoningField, Shape, UsageLocation};

/// Whose errors are said where a provider has none of its own.
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
    /// What most providers that copied OpenAI have in common.
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
    /// What a request may hold.
    pub(crate) fn fields(&self) -> &'static Fields {
        &FIELDS[self.fields]
    }

    /// What is said of an error: in this provider's own words, or in those everybody uses who copies OpenAI.
    pub(super) fn error(&self, kind: ErrorKind) -> &'static ErrorText {
        // Whoever has no words for a hint of its own says the same without the hint.
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
