//! One request for an answer in each dialect, as its own clients send it.

use parallel_llm_simulator::Simulator;
use serde_json::{Value, json};

use crate::client::{Ask, MODEL, Reply, question, send};

/// One form of a dialect: the path and the shape of its requests.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Encoder {
    pub(crate) dialect: &'static str,
    /// The path after the base URL.
    pub(crate) path: &'static str,
    pub(crate) model: &'static str,
    /// The header with the key, and the prefix of the key.
    pub(crate) key: Option<(&'static str, &'static str)>,
    pub(crate) protocol: Protocol,
}

/// The shape of a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Protocol {
    Chat,
    Messages,
    Gemini,
    Lines,
}

const BEARER: Option<(&str, &str)> = Some(("Authorization", "Bearer "));

const fn chat(dialect: &'static str, model: &'static str) -> Encoder {
    Encoder { dialect, path: "/chat/completions", model, key: BEARER, protocol: Protocol::Chat }
}

pub(crate) const OPENROUTER: Encoder = chat("openrouter", "openai/gpt-6-luna");
pub(crate) const OPENAI: Encoder = chat("openai", "gpt-6-luna");
pub(crate) const ANTHROPIC: Encoder = Encoder {
    path: "/messages",
    key: Some(("x-api-key", "")),
    protocol: Protocol::Messages,
    ..chat("anthropic", "claude-haiku-5.5")
};
pub(crate) const ANTHROPIC_COMPAT: Encoder = chat("anthropic", "claude-haiku-5.5");
pub(crate) const GEMINI: Encoder = Encoder {
    path: "/models/",
    key: Some(("x-goog-api-key", "")),
    protocol: Protocol::Gemini,
    ..chat("gemini", "gemini-3.8-flash")
};
pub(crate) const GEMINI_COMPAT: Encoder =
    Encoder { path: "/openai/chat/completions", ..chat("gemini", "gemini-3.8-flash") };
pub(crate) const AZURE: Encoder = Encoder { key: Some(("api-key", "")), ..chat("azure", "gpt-6-luna") };
pub(crate) const GROQ: Encoder = chat("groq", "gpt-oss-120b");
pub(crate) const DEEPSEEK: Encoder = chat("deepseek", "deepseek-v4-pro-0813");
pub(crate) const XAI: Encoder = chat("xai", "grok-4.7");
pub(crate) const MISTRAL: Encoder = chat("mistral", "mistral-large-4-0");
pub(crate) const TOGETHER: Encoder = chat("together", "minimax-m3");
pub(crate) const MOONSHOT: Encoder = chat("moonshot", "kimi-k3.1-pro");
pub(crate) const OLLAMA: Encoder = Encoder { key: None, ..chat("ollama", "gemma-4-31b-it") };
pub(crate) const OLLAMA_NATIVE: Encoder = Encoder {
    path: "/../api/chat",
    key: None,
    protocol: Protocol::Lines,
    ..chat("ollama", "gemma-4-31b-it")
};
pub(crate) const LM_STUDIO: Encoder = Encoder { key: None, ..chat("lmstudio", "gemma-4-31b-it") };
pub(crate) const VLLM: Encoder = Encoder { key: None, ..chat("vllm", "gemma-4-31b-it") };

pub(crate) const FORMS: [Encoder; 17] = [
    OPENROUTER,
    OPENAI,
    ANTHROPIC,
    ANTHROPIC_COMPAT,
    GEMINI,
    GEMINI_COMPAT,
    AZURE,
    GROQ,
    DEEPSEEK,
    XAI,
    MISTRAL,
    TOGETHER,
    MOONSHOT,
    OLLAMA,
    OLLAMA_NATIVE,
    LM_STUDIO,
    VLLM,
];

impl Encoder {
    /// A body with a single question.
    pub(crate) fn body(self, question: &str, stream: bool) -> Value {
        let messages = json!([{"role": "user", "content": question}]);
        match self.protocol {
            Protocol::Chat | Protocol::Lines => {
                json!({"model": self.model, "stream": stream, "messages": messages})
            }
            Protocol::Messages => {
                json!({"model": self.model, "stream": stream, "messages": messages, "max_tokens": 1000})
            }
            Protocol::Gemini => json!({"contents": [{"role": "user", "parts": [{"text": question}]}]}),
        }
    }

    /// A request with this body.
    pub(crate) fn ask(self, simulator: &Simulator, body: &Value, stream: bool) -> Ask {
        let base = simulator.base_url_of(self.dialect).unwrap();
        let base = base.strip_prefix(&simulator.origin()).unwrap();
        let path = match self.protocol {
            Protocol::Gemini if stream => {
                format!("{base}{}{}:streamGenerateContent?alt=sse", self.path, self.model)
            }
            Protocol::Gemini => format!("{base}{}{}:generateContent", self.path, self.model),
            Protocol::Lines => "/ollama/api/chat".to_owned(),
            Protocol::Chat | Protocol::Messages => format!("{base}{}", self.path),
        };
        let key = self.key.map(|(name, scheme)| format!("{name}: {scheme}{}\r\n", simulator.api_key()));
        let version =
            if self.protocol == Protocol::Messages { "anthropic-version: 2023-06-01\r\n" } else { "" };
        Ask {
            path,
            authorization: None,
            extra_headers: key.unwrap_or_default() + version,
            body: body.to_string(),
            ..question(simulator, MODEL, stream)
        }
    }

    /// The reply to the usual question.
    pub(crate) async fn answer(self, simulator: &Simulator, stream: bool) -> Reply {
        let body = self.body("How do we name things?", stream);
        send(simulator, &self.ask(simulator, &body, stream)).await
    }

    /// The reply to the usual question with one more field.
    pub(crate) async fn with(self, simulator: &Simulator, field: &str, value: Value) -> Reply {
        let mut body = self.body("Hi", false);
        body[field] = value;
        send(simulator, &self.ask(simulator, &body, false)).await
    }
}

/// Replaces what differs from run to run: the id of the last request, and the time.
pub(crate) fn scrub(simulator: &Simulator, text: &str) -> String {
    let last = simulator.requests().pop().unwrap();
    let id = last.generation_id.unwrap_or_default();
    let text = if id.is_empty() { text.to_owned() } else { text.replace(&id, "ID") };
    let text = masked(&text, "\"created\":", |sign| sign == ',' || sign == '}');
    masked(&text, "\"created_at\":", |sign| sign == ',')
}

fn masked(text: &str, field: &str, ends: impl Fn(char) -> bool) -> String {
    let mut parts = text.split(field);
    let mut masked = parts.next().unwrap().to_owned();
    for part in parts {
        let end = part.find(&ends).unwrap();
        masked += &format!("{field}NOW{}", &part[end..]);
    }
    masked
}

/// The letters of the first id of a simulator with the default seed.
pub(crate) const FIRST_LETTERS: &str = "o5hbOSwHVWnfA4meVmYM";
