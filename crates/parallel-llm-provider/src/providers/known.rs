//! The providers known by name: address, key variable, dialect.
//!
//! A provider that is missing here can be used through its base URL as a generic chat server; adding one takes a row
//! here and a row in the test of quirks. Source of each row: the provider's documentation of August to November 2026.

use super::billing::Billing;
use super::dialect::{Dialect, KeyRule};

/// A provider known by name.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Known {
    /// The id in settings and model references.
    pub id: &'static str,
    /// Its display name.
    pub name: &'static str,
    /// Its address; empty if every customer has a different one.
    pub base_url: &'static str,
    /// The path of its API, which is added to a base URL without a path.
    pub path: &'static str,
    /// The environment variable for its key, from its documentation; empty if there is none.
    pub key_variable: &'static str,
    /// The environment variable for another base URL.
    pub base_url_variable: &'static str,
    /// Its dialect.
    pub dialect: Dialect,
    /// Concurrent calls, if it supports fewer than others.
    pub calls_max: Option<usize>,
}

/// A row for a hosted provider.
const fn hosted(
    id: &'static str,
    name: &'static str,
    base_url: &'static str,
    path: &'static str,
    dialect: Dialect,
) -> Known {
    Known { id, name, base_url, path, key_variable: "", base_url_variable: "", dialect, calls_max: None }
}

impl Known {
    /// Every known provider. The first is the default for references without a provider.
    pub const ALL: &[Self] = &[
        hosted("openrouter", "OpenRouter", "https://openrouter.ai/api/v1", "/api/v1", Dialect::OPENROUTER)
            .variables("OPENROUTER_API_KEY", "OPENROUTER_BASE_URL"),
        hosted("openai", "OpenAI", "https://api.openai.com/v1", "/v1", Dialect::OPENAI)
            .variables("OPENAI_API_KEY", "OPENAI_BASE_URL"),
        hosted("anthropic", "Anthropic", "https://api.anthropic.com/v1", "/v1", Dialect::ANTHROPIC)
            .variables("ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL"),
        hosted(
            "gemini",
            "Google Gemini",
            "https://generativelanguage.googleapis.com/v1beta",
            "/v1beta",
            Dialect::GEMINI,
        )
        .variables("GEMINI_API_KEY", "GEMINI_BASE_URL"),
        hosted("azure", "Azure OpenAI", "", "/openai/v1", Dialect::AZURE)
            .variables("AZURE_OPENAI_API_KEY", "AZURE_OPENAI_ENDPOINT"),
        hosted("groq", "Groq", "https://api.groq.com/openai/v1", "/openai/v1", Dialect::GROQ)
            .variables("GROQ_API_KEY", "GROQ_BASE_URL"),
        hosted("deepseek", "DeepSeek", "https://api.deepseek.com", "", Dialect::DEEPSEEK)
            .variables("DEEPSEEK_API_KEY", "DEEPSEEK_BASE_URL"),
        hosted("xai", "xAI", "https://api.x.ai/v1", "/v1", Dialect::XAI)
            .variables("XAI_API_KEY", "XAI_BASE_URL"),
        hosted("mistral", "Mistral", "https://api.mistral.ai/v1", "/v1", Dialect::MISTRAL)
            .variables("MISTRAL_API_KEY", "MISTRAL_BASE_URL"),
        hosted("together", "Together", "https://api.together.xyz/v1", "/v1", Dialect::TOGETHER)
            .variables("TOGETHER_API_KEY", "TOGETHER_BASE_URL"),
        hosted("moonshot", "Moonshot", "https://api.moonshot.ai/v1", "/v1", Dialect::MOONSHOT)
            .variables("MOONSHOT_API_KEY", "MOONSHOT_BASE_URL"),
        // It handles one request at a time; more would wait in its queue and look slow.
        Self { calls_max: Some(1), ..hosted("ollama", "Ollama", "http://127.0.0.1:11434/v1", "/v1", LOCAL) }
            .variables("OLLAMA_API_KEY", "OLLAMA_BASE_URL"),
        hosted("lmstudio", "LM Studio", "http://127.0.0.1:1234/v1", "/v1", LOCAL)
            .variables("LM_API_TOKEN", "LMSTUDIO_BASE_URL"),
        hosted("vllm", "vLLM", "http://127.0.0.1:8000/v1", "/v1", LOCAL)
            .variables("VLLM_API_KEY", "VLLM_BASE_URL"),
    ];

    /// Further dialects that a user-defined provider may be given by name.
    pub const KINDS: &[(&str, Dialect)] = &[
        ("openai-compatible", Dialect::OPENAI_COMPATIBLE),
        ("anthropic-chat", Dialect::ANTHROPIC_CHAT),
        ("gemini-chat", Dialect::GEMINI_CHAT),
    ];

    /// Finds a provider by its id.
    pub fn by_id(id: &str) -> Option<&'static Self> {
        Self::ALL.iter().find(|known| known.id == id)
    }

    /// Finds a dialect by its name: a known provider's id, or one of [`Self::KINDS`].
    pub fn dialect_of(kind: &str) -> Option<Dialect> {
        let further = || Self::KINDS.iter().find(|(name, _)| *name == kind).map(|(_, dialect)| *dialect);
        Self::by_id(kind).map(|known| known.dialect).or_else(further)
    }

    /// Whether its default address is on this machine.
    pub fn is_local(&self) -> bool {
        self.dialect.key_rule == KeyRule::UnlessLoopback
    }

    const fn variables(self, key_variable: &'static str, base_url_variable: &'static str) -> Self {
        Self { key_variable, base_url_variable, ..self }
    }
}

/// A server of the user's own. It costs nothing, and stops when the connection is closed.
const LOCAL: Dialect = Dialect { billing: Billing::Stops, ..Dialect::OPENAI_COMPATIBLE };

#[cfg(test)]
mod tests {
    use super::*;
    use crate::connection::endpoint::Endpoint;
    use parallel_llm_engine::ProviderId;
    use parallel_llm_engine::request::panel::DEFAULT_PROVIDER;

    #[test]
    fn every_row_can_be_used() {
        for known in Known::ALL {
            let Known { id, base_url, path, .. } = *known;
            assert_eq!(Known::by_id(id), Some(known), "{id} stands once");
            assert!(id.bytes().all(|byte| byte.is_ascii_lowercase()), "{id} is typed before a colon");
            assert!(base_url.is_empty() || base_url.ends_with(path), "{id}");
            assert!(!known.key_variable.is_empty() && !known.base_url_variable.is_empty(), "{id}");
            if !base_url.is_empty() {
                let endpoint = Endpoint::new(ProviderId(id.into()), base_url, None, known.dialect).unwrap();
                assert_eq!(endpoint.is_loopback(), known.is_local(), "{id}");
            }
        }
        assert_eq!(Known::ALL[0].id, DEFAULT_PROVIDER);
    }

    #[test]
    fn a_kind_is_a_known_provider_or_another_dialect() {
        assert_eq!(Known::dialect_of("mistral"), Some(Dialect::MISTRAL));
        assert_eq!(Known::dialect_of("openai-compatible"), Some(Dialect::OPENAI_COMPATIBLE));
        assert_eq!(Known::dialect_of("telepathy"), None);
    }
}
