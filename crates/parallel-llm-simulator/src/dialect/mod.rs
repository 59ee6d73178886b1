//! Whom the simulator pretends to be: one row for each endpoint, and everything in which providers differ as values.
//!
//! The tables lie in `assets/` and are read by `table`. How an answer is written is left to `protocol`; nothing outside this
//! folder asks for a provider by its name, OpenRouter excepted.

mod auth;
mod error;
mod error_text;
mod fields;
mod rule_input;
mod rules;
mod table;

pub(crate) use auth::{KEY_PARAMETERS, check_key, sent_key};
pub(crate) use error::{USER_ID, error_body, error_reply, openrouter_error};
pub(crate) use error_text::{ApiError, ErrorDetails, ErrorKind};
pub(crate) use fields::{check_fields, check_rules};
pub(crate) use rule_input::RuleInput;

use serde::Deserialize;
use table::DIALECTS;

/// One endpoint of one provider. Rows of the same name belong together: a native endpoint and a compatible one.
#[derive(Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Dialect {
    /// The name a test uses, such as `anthropic`.
    pub(crate) name: &'static str,
    /// The real one's host, as a page of its proxy names it.
    pub(crate) host: &'static str,
    /// The path of the base URL.
    pub(crate) prefix: &'static str,
    /// The path of the endpoint; for Gemini's own, what stands before the model.
    pub(crate) path: &'static str,
    /// The path of its list of models, and how that is shaped.
    pub(crate) models_path: &'static str,
    pub(crate) list: List,
    pub(crate) protocol: Protocol,
    /// Headers that may carry the key; none of them means that no key is needed.
    pub(crate) key_headers: Vec<&'static str>,
    pub(crate) needs_key: bool,
    /// A header without which nothing is answered.
    pub(crate) version_header: Option<&'static str>,
    /// The provider's display name, as the log shows it; `None` is the lab of the model.
    pub(crate) provider: Option<&'static str>,
    /// Whose models are sold.
    pub(crate) model_names: ModelNames,
    /// The name of its table in `fields.json`.
    pub(super) fields: &'static str,
    /// Fields that limit the answer; the first one that is there counts.
    pub(crate) limits: Vec<&'static str>,
    pub(crate) shape: Shape,
    /// The name of its table in `errors.json`.
    pub(super) errors: &'static str,
    /// What comes before the letters of an id.
    pub(crate) id_prefix: &'static str,
    /// Headers of every reply; `{id}` is the id of the request.
    pub(crate) headers: Vec<(&'static str, &'static str)>,
    pub(crate) usage: UsageLocation,
    pub(crate) counts: Counts,
    pub(crate) reasoning: ReasoningField,
    /// Whether the first chunk only says `role` and later ones leave it out.
    pub(crate) role_first: bool,
    /// A first chunk without choices, with this field.
    pub(crate) preface: Option<&'static str>,
    pub(crate) keep_alive: KeepAlive,
    /// White space before a body that is not streamed.
    pub(crate) padding: Option<String>,
    /// Whether the tokens asked for count against the context, besides the prompt's.
    pub(crate) output_counts: bool,
    /// Tokens of context after which a prompt is cut without a word.
    pub(crate) cuts_prompt_at: Option<u64>,
    /// Whether events end in CRLF.
    pub(crate) crlf: bool,
}

/// How requests and answers are built.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Protocol {
    /// `chat/completions`.
    Chat,
    /// Anthropic's `messages`.
    Messages,
    /// Gemini's `generateContent` and `streamGenerateContent`.
    Gemini,
    /// Ollama's `/api/chat`: one JSON object in each line.
    Lines,
}

/// Which models an endpoint answers for, and under which names.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ModelNames {
    /// Full slugs and aliases.
    Router,
    /// The names of this lab's models, without the lab.
    Lab(&'static str),
    /// The names of all labs' models, with or without the lab.
    Any,
}

/// How a list of models is shaped.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum List {
    /// OpenRouter's own.
    Router,
    /// `{"object":"list","data":[…]}`; the field that holds the length of the context, if there is one.
    OpenAi {
        context_field: Option<&'static str>,
    },
    Anthropic,
    Gemini,
    /// Ollama's `/api/tags`.
    Tags,
}

/// How an error looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Shape {
    /// OpenRouter's, made by `refusal`.
    Router,
    /// `{"error":{"message","type","param","code"}}`.
    OpenAi,
    /// `{"error":{"code","message"}}` for what the gateway says, OpenAI's for the rest.
    Azure,
    /// `{"type":"error","error":{"type","message"},"request_id"}`.
    Anthropic,
    /// `{"error":{"code","message","status","details"}}`.
    Gemini,
    /// The same in a list.
    GeminiList,
    /// `{"code":"…","error":"…"}`.
    Xai,
    /// `{"object":"error","message","type","param","code"}`.
    Mistral,
    /// `{"error":{"message","type","param","code":400}}`.
    Vllm,
    /// `{"error":{"message","type"}}`.
    Short,
    /// `{"error":"…"}`.
    Bare,
}

/// Where a stream of `chat/completions` says what it used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum UsageLocation {
    /// In a last chunk that repeats the choice with its finish reason: OpenRouter.
    Repeated,
    /// In a last chunk without choices, if `stream_options.include_usage` asks for it.
    OnRequest,
    /// In the chunk with the finish reason.
    WithFinish,
    /// In the choice of the chunk with the finish reason.
    InChoice,
    /// In `x_groq` of the chunk with the finish reason, and on request in a last one.
    XGroq,
}

/// Which counts `usage` holds besides those everybody has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Counts {
    /// Cost and all details.
    Router,
    Plain,
    /// Hits and misses of the prompt's cache.
    DeepSeek,
    /// Cached tokens at the top.
    Moonshot,
    /// The cost in ticks; completion tokens leave reasoning out, as xAI counts them.
    Xai,
}

/// Where reasoning stands in a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ReasoningField {
    /// `reasoning` and `reasoning_details`.
    Router,
    /// This field.
    Named(&'static str),
    /// Parts of the type `thinking` in `content`.
    Parts,
    /// It is counted and not shown.
    Hidden,
}

/// What is sent while nothing else is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum KeepAlive {
    /// This comment.
    Comment(&'static str),
    /// Anthropic's `ping`.
    Ping,
    /// Nothing, unless a fault makes a proxy send empty comments.
    Never,
}

impl Dialect {
    pub(crate) fn is_openrouter(&self) -> bool {
        self.shape == Shape::Router
    }
}

/// What a path asks of a dialect.
#[derive(Debug)]
pub(crate) enum Route<'a> {
    /// An answer; Gemini's own endpoint has the model and the method in its path.
    Chat(&'static Dialect, &'a str),
    Models(&'static Dialect),
    /// Nothing that this dialect knows.
    Unknown(&'static Dialect),
}

/// The route a path leads to; `None` if no dialect begins like this, or OpenRouter's `listing` has it.
pub(crate) fn route(path: &str) -> Option<Route<'_>> {
    let chat = |row: &'static Dialect| {
        let rest = path.strip_prefix(row.path)?;
        (rest.is_empty() || (row.protocol == Protocol::Gemini && rest.contains(':'))).then_some((row, rest))
    };
    if let Some((row, rest)) = DIALECTS.iter().find_map(chat) {
        return Some(Route::Chat(row, rest));
    }
    let others = || DIALECTS.iter().filter(|row| !row.is_openrouter());
    if let Some(row) = others().find(|row| row.models_path == path) {
        return Some(Route::Models(row));
    }
    let is_inside = |row: &&Dialect| path.strip_prefix(row.prefix).is_some_and(|rest| rest.starts_with('/'));
    let inside = others().filter(is_inside);
    inside.max_by_key(|row| row.prefix.len()).map(Route::Unknown)
}

/// The names of all dialects, each once, OpenRouter first.
pub(crate) fn names() -> Vec<&'static str> {
    let mut names: Vec<&'static str> = DIALECTS.iter().map(|row| row.name).collect();
    names.dedup();
    names
}

/// The base URL of a dialect at this origin (scheme and authority).
pub(crate) fn base_url(origin: &str, name: &str) -> Option<String> {
    let row = DIALECTS.iter().find(|row| row.name == name)?;
    Some(format!("{origin}{}", row.prefix))
}
