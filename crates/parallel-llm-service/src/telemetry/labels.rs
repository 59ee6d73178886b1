//! The labels of figures: few, whatever callers ask for.
//!
//! Invariant: every value is one that the owner configured, one of a closed set, or [`OTHER`]. Names of users, prompts and ids of
//! runs are no labels.

use std::collections::BTreeMap;

use parallel_llm_engine::{ModelRef, ProviderId};
use parallel_llm_settings::settings::Settings;
use url::Url;

/// The label of everything that the owner did not configure.
pub(super) const OTHER: &str = "other";
/// The most models with a label of their own. A panel has at most 64 seats; further ones count as others.
const MODELS_MAX: usize = 256;
/// The words of the GenAI conventions for providers, where they are not our ids.
const CONVENTION: [(&str, &str); 5] = [
    ("azure", "azure.ai.openai"),
    ("gemini", "gcp.gemini"),
    ("mistral", "mistral_ai"),
    ("moonshot", "moonshot_ai"),
    ("xai", "x_ai"),
];

/// What the owner configured.
#[derive(Debug, Default)]
pub(super) struct Labels {
    providers: BTreeMap<ProviderId, Server>,
    models: Vec<ModelRef>,
}

/// Where a provider is.
#[derive(Clone, Debug, Default)]
pub(super) struct Server {
    /// Its host; `None` if it has no usable address.
    pub(super) host: Option<String>,
    /// Its port, the usual one included.
    pub(super) port: Option<u16>,
}

impl Labels {
    pub(super) fn of(settings: &Settings) -> Self {
        let server = |base_url: &Option<String>| {
            let url = base_url.as_deref().and_then(|text| Url::parse(text).ok());
            url.map_or_else(Server::default, |url| Server {
                host: url.host_str().map(str::to_owned),
                port: url.port_or_known_default(),
            })
        };
        let providers = settings.providers.iter();
        let mut models = settings.named_models();
        models.sort();
        models.dedup();
        models.truncate(MODELS_MAX);
        Self {
            providers: providers.map(|provider| (provider.id.clone(), server(&provider.base_url))).collect(),
            models,
        }
    }

    /// Every provider.
    pub(super) fn providers(&self) -> impl Iterator<Item = &str> {
        self.providers.keys().map(|id| id.0.as_str())
    }

    /// The label of a provider.
    pub(super) fn provider<'a>(&self, id: &'a ProviderId) -> &'a str {
        if self.providers.contains_key(id) { &id.0 } else { OTHER }
    }

    /// Where a provider is.
    pub(super) fn server(&self, id: &ProviderId) -> Option<&Server> {
        self.providers.get(id)
    }

    /// The label of a model: its name in the settings, which may be a short one.
    pub(super) fn model(&self, asked: &ModelRef) -> &str {
        let of_provider = || self.models.iter().filter(|named| named.provider == asked.provider);
        let exact = of_provider().find(|named| bare(&named.model) == bare(&asked.model));
        let short = || of_provider().find(|named| is_short_for(&named.model, &asked.model));
        exact.or_else(short).map_or(OTHER, |named| &named.model)
    }
}

/// The provider's word in the GenAI conventions.
pub(super) fn conventional(provider: &str) -> &str {
    CONVENTION.iter().find(|(id, _)| *id == provider).map_or(provider, |(_, word)| word)
}

/// A name without the sign of a router's own alias, which may be left out.
fn bare(model: &str) -> &str {
    model.trim_start_matches('~')
}

/// Whether a name without a vendor can stand for this model: it has the same words in the same order. Which one it stood for is
/// known only where the list of models is.
fn is_short_for(short: &str, model: &str) -> bool {
    if short.contains('/') {
        return false;
    }
    let words = |text: &str| -> Vec<String> {
        let words = text.split(|character: char| !character.is_ascii_alphanumeric() && character != '.');
        words.filter(|word| !word.is_empty()).map(str::to_ascii_lowercase).collect()
    };
    let (short, model) = (words(short), words(model));
    let mut rest = model.iter();
    !short.is_empty() && short.iter().all(|word| rest.any(|other| other == word))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn model(provider: &str, name: &str) -> ModelRef {
        ModelRef { provider: ProviderId(provider.to_owned()), model: name.to_owned() }
    }

    #[test]
    fn a_model_has_the_name_of_the_settings_or_none() {
        let named =
            [("openrouter", "~openai/gpt-sol-latest"), ("openrouter", "opus"), ("ollama", "llama4:8b")];
        let labels = Labels {
            providers: BTreeMap::from([(ProviderId("ollama".to_owned()), Server::default())]),
            models: named.iter().map(|(provider, name)| model(provider, name)).collect(),
        };
        for (provider, name, expected) in [
            ("openrouter", "~openai/gpt-sol-latest", "~openai/gpt-sol-latest"),
            ("openrouter", "openai/gpt-sol-latest", "~openai/gpt-sol-latest"),
            ("openrouter", "~anthropic/claude-opus-latest", "opus"),
            ("openrouter", "anthropic/claude-opusculum", OTHER),
            ("openrouter", "llama4:8b", OTHER),
            ("ollama", "llama4:8b", "llama4:8b"),
            ("ollama", "a\"b\n", OTHER),
        ] {
            assert_eq!(labels.model(&model(provider, name)), expected, "{provider}:{name}");
        }
        assert_eq!(labels.provider(&ProviderId("ollama".to_owned())), "ollama");
        assert_eq!(labels.provider(&ProviderId("odd".to_owned())), OTHER);
    }

    #[test]
    fn providers_have_the_words_of_the_conventions() {
        assert_eq!(
            ["gemini", "openai", "openrouter"].map(conventional),
            ["gcp.gemini", "openai", "openrouter"]
        );
    }
}
