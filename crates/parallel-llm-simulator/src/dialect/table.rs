//! The rows: one for each endpoint that is spoken.
//!
//! Rows of one name stand together, and the first of them gives the base URL.

use super::wordings;
use super::{
    Counts, Dialect, KeepAlive, List, Protocol, ReasoningField, Shape, Shelf, UsagePlace, copies, known,
};

const BEARER: &[&str] = &["authorization"];
const LIMITS: &[&str] = &["max_completion_tokens", "max_tokens"];
const OLD_LIMIT: &[&str] = &["max_tokens"];

/// What most providers that copied OpenAI have in common.
const COPY: Dialect = Dialect {
    name: "",
    host: "localhost",
    prefix: "",
    path: "",
    models_path: "",
    list: List::OpenAi { context_field: None },
    protocol: Protocol::Chat,
    key_headers: BEARER,
    needs_key: true,
    version_header: None,
    provider: None,
    shelf: Shelf::Any,
    fields: &known::LENIENT,
    limits: LIMITS,
    shape: Shape::OpenAi,
    wordings: &[],
    id_prefix: "chatcmpl-",
    headers: &[],
    usage: UsagePlace::OnRequest,
    counts: Counts::Plain,
    reasoning: ReasoningField::Hidden,
    role_first: true,
    preface: None,
    keep_alive: KeepAlive::Never,
    padding: None,
    output_counts: true,
    cuts_prompt_at: None,
    crlf: false,
};

static OPENROUTER: Dialect = Dialect {
    host: "openrouter.ai",
    name: "openrouter",
    prefix: "/api/v1",
    path: "/api/v1/chat/completions",
    models_path: "/api/v1/models",
    list: List::Router,
    shelf: Shelf::Router,
    fields: &known::ROUTER,
    shape: Shape::Router,
    id_prefix: "gen-",
    headers: &[("server", "cloudflare"), ("cf-ray", "{ray}-SIM")],
    usage: UsagePlace::Scripted,
    counts: Counts::Router,
    reasoning: ReasoningField::Router,
    role_first: false,
    keep_alive: KeepAlive::Scripted,
    padding: Some(b"\n         \n"),
    ..COPY
};

static OPENAI: Dialect = Dialect {
    host: "api.openai.com",
    name: "openai",
    prefix: "/openai/v1",
    path: "/openai/v1/chat/completions",
    models_path: "/openai/v1/models",
    provider: Some("OpenAI"),
    shelf: Shelf::Lab("openai"),
    fields: &known::OPENAI,
    headers: OPENAI_HEADERS,
    ..COPY
};

const OPENAI_HEADERS: &[(&str, &str)] = &[
    ("server", "cloudflare"),
    ("x-request-id", "req_{id}"),
    ("openai-version", "2020-10-01"),
    ("x-ratelimit-limit-requests", "10000"),
    ("x-ratelimit-limit-tokens", "30000000"),
];

static OPENAI_ALIAS: Dialect = Dialect {
    host: "api.openai.com",
    prefix: "/v1",
    path: "/v1/chat/completions",
    models_path: "/v1/models",
    name: "openai",
    provider: Some("OpenAI"),
    shelf: Shelf::Lab("openai"),
    fields: &known::OPENAI,
    headers: OPENAI_HEADERS,
    ..COPY
};

static ANTHROPIC: Dialect = Dialect {
    host: "api.anthropic.com",
    name: "anthropic",
    prefix: "/anthropic/v1",
    path: "/anthropic/v1/messages",
    models_path: "/anthropic/v1/models",
    list: List::Anthropic,
    protocol: Protocol::Messages,
    key_headers: &["x-api-key", "authorization"],
    version_header: Some("anthropic-version"),
    provider: Some("Anthropic"),
    shelf: Shelf::Lab("anthropic"),
    fields: &known::ANTHROPIC,
    limits: OLD_LIMIT,
    shape: Shape::Anthropic,
    wordings: wordings::ANTHROPIC,
    id_prefix: "msg_01",
    headers: ANTHROPIC_HEADERS,
    reasoning: ReasoningField::Parts,
    keep_alive: KeepAlive::Ping,
    output_counts: false,
    ..COPY
};

const ANTHROPIC_HEADERS: &[(&str, &str)] = &[
    ("server", "cloudflare"),
    ("request-id", "req_{id}"),
    ("anthropic-organization-id", "00000000-0000-0000-0000-000000000000"),
    ("anthropic-ratelimit-requests-limit", "4000"),
];

static ANTHROPIC_COMPAT: Dialect = Dialect {
    host: "api.anthropic.com",
    name: "anthropic",
    prefix: "/anthropic/v1",
    path: "/anthropic/v1/chat/completions",
    models_path: "/anthropic/v1/models",
    list: List::Anthropic,
    key_headers: &["authorization", "x-api-key"],
    provider: Some("Anthropic"),
    shelf: Shelf::Lab("anthropic"),
    fields: &known::ANTHROPIC_COMPAT,
    wordings: wordings::ANTHROPIC_COMPAT,
    id_prefix: "msg_01",
    headers: ANTHROPIC_HEADERS,
    output_counts: false,
    ..COPY
};

static GEMINI: Dialect = Dialect {
    host: "generativelanguage.googleapis.com",
    name: "gemini",
    prefix: "/gemini/v1beta",
    path: "/gemini/v1beta/models/",
    models_path: "/gemini/v1beta/models",
    list: List::Gemini,
    protocol: Protocol::Gemini,
    key_headers: &["x-goog-api-key"],
    provider: Some("Google AI Studio"),
    shelf: Shelf::Lab("google"),
    fields: &known::GEMINI,
    limits: OLD_LIMIT,
    shape: Shape::Gemini,
    wordings: wordings::GEMINI,
    id_prefix: "",
    headers: &[("server", "scaffolding on HTTPServer2"), ("server-timing", "gfet4t7; dur=1")],
    reasoning: ReasoningField::Parts,
    crlf: true,
    output_counts: false,
    ..COPY
};

static GEMINI_COMPAT: Dialect = Dialect {
    host: "generativelanguage.googleapis.com",
    name: "gemini",
    prefix: "/gemini/v1beta/openai",
    path: "/gemini/v1beta/openai/chat/completions",
    models_path: "/gemini/v1beta/openai/models",
    key_headers: &["authorization", "x-goog-api-key"],
    provider: Some("Google AI Studio"),
    shelf: Shelf::Lab("google"),
    fields: &known::GEMINI_COMPAT,
    shape: Shape::GeminiList,
    wordings: wordings::GEMINI,
    id_prefix: "",
    headers: &[("server", "scaffolding on HTTPServer2")],
    output_counts: false,
    ..COPY
};

static AZURE: Dialect = Dialect {
    host: "sim.openai.azure.com",
    name: "azure",
    prefix: "/azure/openai/v1",
    path: "/azure/openai/v1/chat/completions",
    models_path: "/azure/openai/v1/models",
    key_headers: &["api-key", "authorization"],
    provider: Some("Azure"),
    fields: &known::OPENAI,
    shape: Shape::Azure,
    wordings: wordings::AZURE,
    headers: &[("apim-request-id", "{id}"), ("x-request-id", "{id}"), ("x-ms-region", "Sim Central")],
    preface: Some("prompt_filter_results"),
    ..COPY
};

static GROQ: Dialect = Dialect {
    host: "api.groq.com",
    name: "groq",
    prefix: "/groq/openai/v1",
    path: "/groq/openai/v1/chat/completions",
    models_path: "/groq/openai/v1/models",
    list: List::OpenAi { context_field: Some("context_window") },
    provider: Some("Groq"),
    fields: &known::GROQ,
    wordings: copies::GROQ,
    headers: &[("server", "cloudflare"), ("x-groq-region", "sim"), ("x-request-id", "req_{id}")],
    usage: UsagePlace::XGroq,
    reasoning: ReasoningField::Named("reasoning"),
    ..COPY
};

static DEEPSEEK: Dialect = Dialect {
    host: "api.deepseek.com",
    name: "deepseek",
    prefix: "/deepseek",
    path: "/deepseek/chat/completions",
    models_path: "/deepseek/models",
    provider: Some("DeepSeek"),
    shelf: Shelf::Lab("deepseek"),
    fields: &known::DEEPSEEK,
    limits: OLD_LIMIT,
    wordings: copies::DEEPSEEK,
    id_prefix: "",
    headers: &[("x-ds-trace-id", "{id}")],
    counts: Counts::DeepSeek,
    reasoning: ReasoningField::Named("reasoning_content"),
    keep_alive: KeepAlive::Comment("keep-alive"),
    padding: Some(b"\n"),
    ..COPY
};

static XAI: Dialect = Dialect {
    host: "api.x.ai",
    name: "xai",
    prefix: "/xai/v1",
    path: "/xai/v1/chat/completions",
    models_path: "/xai/v1/models",
    provider: Some("xAI"),
    shelf: Shelf::Lab("x-ai"),
    fields: &known::XAI,
    shape: Shape::Xai,
    wordings: copies::XAI,
    id_prefix: "",
    headers: &[("server", "cloudflare"), ("x-request-id", "{id}")],
    usage: UsagePlace::WithFinish,
    counts: Counts::Xai,
    reasoning: ReasoningField::Named("reasoning_content"),
    output_counts: false,
    ..COPY
};

static MISTRAL: Dialect = Dialect {
    host: "api.mistral.ai",
    name: "mistral",
    prefix: "/mistral/v1",
    path: "/mistral/v1/chat/completions",
    models_path: "/mistral/v1/models",
    list: List::OpenAi { context_field: Some("max_context_length") },
    provider: Some("Mistral"),
    shelf: Shelf::Lab("mistralai"),
    fields: &known::MISTRAL,
    limits: OLD_LIMIT,
    shape: Shape::Mistral,
    wordings: copies::MISTRAL,
    id_prefix: "",
    headers: &[("server", "cloudflare"), ("mistral-correlation-id", "{id}")],
    usage: UsagePlace::WithFinish,
    reasoning: ReasoningField::Parts,
    output_counts: false,
    ..COPY
};

static TOGETHER: Dialect = Dialect {
    host: "api.together.xyz",
    name: "together",
    prefix: "/together/v1",
    path: "/together/v1/chat/completions",
    models_path: "/together/v1/models",
    list: List::OpenAi { context_field: Some("context_length") },
    provider: Some("Together"),
    limits: OLD_LIMIT,
    wordings: copies::TOGETHER,
    id_prefix: "o",
    headers: &[("server", "cloudflare"), ("x-api-received", "0")],
    usage: UsagePlace::WithFinish,
    reasoning: ReasoningField::Named("reasoning"),
    ..COPY
};

static MOONSHOT: Dialect = Dialect {
    host: "api.moonshot.ai",
    name: "moonshot",
    prefix: "/moonshot/v1",
    path: "/moonshot/v1/chat/completions",
    models_path: "/moonshot/v1/models",
    list: List::OpenAi { context_field: Some("context_length") },
    provider: Some("Moonshot AI"),
    shelf: Shelf::Lab("moonshotai"),
    fields: &known::MOONSHOT,
    limits: OLD_LIMIT,
    shape: Shape::Short,
    wordings: copies::MOONSHOT,
    headers: &[("msh-request-id", "{id}")],
    usage: UsagePlace::InChoice,
    counts: Counts::Moonshot,
    reasoning: ReasoningField::Named("reasoning_content"),
    ..COPY
};

static OLLAMA: Dialect = Dialect {
    name: "ollama",
    prefix: "/ollama/v1",
    path: "/ollama/v1/chat/completions",
    models_path: "/ollama/v1/models",
    needs_key: false,
    provider: Some("Ollama"),
    limits: OLD_LIMIT,
    wordings: copies::OLLAMA,
    reasoning: ReasoningField::Named("reasoning"),
    cuts_prompt_at: Some(OLLAMA_CONTEXT_TOKENS),
    ..COPY
};

/// Ollama's default, which `/v1` has no field to change.
const OLLAMA_CONTEXT_TOKENS: u64 = 4096;

static OLLAMA_NATIVE: Dialect = Dialect {
    name: "ollama",
    prefix: "/ollama/api",
    path: "/ollama/api/chat",
    models_path: "/ollama/api/tags",
    list: List::Tags,
    protocol: Protocol::Lines,
    needs_key: false,
    provider: Some("Ollama"),
    limits: OLD_LIMIT,
    shape: Shape::Bare,
    wordings: copies::OLLAMA,
    id_prefix: "",
    cuts_prompt_at: Some(OLLAMA_CONTEXT_TOKENS),
    ..COPY
};

static LM_STUDIO: Dialect = Dialect {
    name: "lmstudio",
    prefix: "/lmstudio/v1",
    path: "/lmstudio/v1/chat/completions",
    models_path: "/lmstudio/v1/models",
    needs_key: false,
    provider: Some("LM Studio"),
    limits: OLD_LIMIT,
    wordings: copies::LM_STUDIO,
    headers: &[("x-powered-by", "Express")],
    reasoning: ReasoningField::Named("reasoning_content"),
    output_counts: false,
    ..COPY
};

static VLLM: Dialect = Dialect {
    name: "vllm",
    prefix: "/vllm/v1",
    path: "/vllm/v1/chat/completions",
    models_path: "/vllm/v1/models",
    list: List::OpenAi { context_field: Some("max_model_len") },
    needs_key: false,
    provider: Some("vLLM"),
    shape: Shape::Vllm,
    wordings: copies::VLLM,
    headers: &[("server", "uvicorn")],
    reasoning: ReasoningField::Named("reasoning_content"),
    ..COPY
};

/// Every row, OpenRouter first.
pub(super) static ROWS: [&Dialect; 18] = [
    &OPENROUTER,
    &OPENAI,
    &OPENAI_ALIAS,
    &ANTHROPIC,
    &ANTHROPIC_COMPAT,
    &GEMINI,
    &GEMINI_COMPAT,
    &AZURE,
    &GROQ,
    &DEEPSEEK,
    &XAI,
    &MISTRAL,
    &TOGETHER,
    &MOONSHOT,
    &OLLAMA,
    &OLLAMA_NATIVE,
    &LM_STUDIO,
    &VLLM,
];
