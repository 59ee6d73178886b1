//! A row of the table of dialects: everything in which one endpoint of a provider differs from the others.

use serde::Deserialize;

/// One endpoint of one provider. A native endpoint and a compatible one share their name.
#[derive(Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Dialect {
    /// The name a test uses, such as `anthropic`.
    pub(crate) name: &'static str,
    /// The host of the real provider, for the error page of its proxy.
    pub(crate) host: &'static str,
    /// The path of the base URL.
    pub(crate) prefix: &'static str,
    /// The path of the endpoint; for Gemini's native one, the part before the model.
    pub(crate) path: &'static str,
    /// The path of the model list, and its shape.
    pub(crate) models_path: &'static str,
    pub(crate) list: List,
    pub(crate) protocol: Protocol,
    /// Headers that may carry the key.
    pub(crate) key_headers: Vec<&'static str>,
    pub(crate) needs_key: bool,
    /// A header that every request must have.
    pub(crate) version_header: Option<&'static str>,
    /// The provider's display name in the log; `None` uses the provider of the model's lab.
    pub(crate) provider: Option<&'static str>,
    /// The models on offer.
    pub(crate) model_names: ModelNames,
    /// The name of its table in `fields.json`.
    pub(super) fields: &'static str,
    /// Fields that limit the output tokens; the first one in the request applies.
    pub(crate) limits: Vec<&'static str>,
    pub(crate) shape: Shape,
    /// The name of its table in `errors.json`.
    pub(super) errors: &'static str,
    /// The prefix of an id.
    pub(crate) id_prefix: &'static str,
    /// Headers of every reply; `{id}` is replaced by the request id.
    pub(crate) headers: Vec<(&'static str, &'static str)>,
    pub(crate) usage: UsageLocation,
    pub(crate) counts: Counts,
    pub(crate) reasoning: ReasoningField,
    /// Whether the first chunk holds only `role`, and later ones omit it.
    pub(crate) role_first: bool,
    /// The field of a first chunk without choices.
    pub(crate) preface: Option<&'static str>,
    pub(crate) keep_alive: KeepAlive,
    /// White space before a body that is not streamed.
    pub(crate) padding: Option<String>,
    /// Whether the requested output tokens count towards the context, besides the prompt's.
    pub(crate) output_counts: bool,
    /// Tokens of context beyond which a prompt is silently cut.
    pub(crate) cuts_prompt_at: Option<u64>,
    /// Whether events end in CRLF.
    pub(crate) crlf: bool,
}

/// The format of requests and answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Protocol {
    /// `chat/completions`.
    Chat,
    /// Anthropic's `messages`.
    Messages,
    /// Gemini's `generateContent` and `streamGenerateContent`.
    Gemini,
    /// Ollama's `/api/chat`: one JSON object per line.
    Lines,
}

/// The models of an endpoint, and how they are named.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ModelNames {
    /// Full slugs and aliases.
    Router,
    /// This lab's models, named without the lab.
    Lab(&'static str),
    /// All labs' models, named with or without the lab.
    Any,
}

/// The shape of a model list.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum List {
    /// OpenRouter's.
    Router,
    /// `{"object":"list","data":[…]}`, with the name of the field for the context length, if any.
    OpenAi {
        context_field: Option<&'static str>,
    },
    Anthropic,
    Gemini,
    /// Ollama's `/api/tags`.
    Tags,
}

/// The shape of an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Shape {
    /// OpenRouter's: `{"error":{"message","code","metadata"},"user_id"}`.
    Router,
    /// `{"error":{"message","type","param","code"}}`.
    OpenAi,
    /// `{"error":{"code","message"}}` for errors of the gateway, OpenAI's shape for all others.
    Azure,
    /// `{"type":"error","error":{"type","message"},"request_id"}`.
    Anthropic,
    /// `{"error":{"code","message","status","details"}}`.
    Gemini,
    /// Gemini's shape inside a list.
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

/// The position of the usage in a stream of `chat/completions`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum UsageLocation {
    /// In an additional last chunk that repeats the finish reason: OpenRouter.
    Repeated,
    /// In an additional last chunk without choices, if `stream_options.include_usage` is set.
    OnRequest,
    /// In the chunk with the finish reason.
    WithFinish,
    /// In the choice of the chunk with the finish reason.
    InChoice,
    /// In `x_groq` of the chunk with the finish reason, and on request in an additional chunk.
    XGroq,
}

/// The counts in `usage` besides the common ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Counts {
    /// Cost and all details.
    Router,
    Plain,
    /// Cache hits and misses of the prompt.
    DeepSeek,
    /// Cached tokens at the top level.
    Moonshot,
    /// The cost in ticks; xAI's completion tokens exclude reasoning.
    Xai,
}

/// The position of reasoning in a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ReasoningField {
    /// `reasoning` and `reasoning_details`.
    Router,
    /// The field of this name.
    Named(&'static str),
    /// Parts of the type `thinking` in `content`.
    Parts,
    /// Reasoning is counted but not shown.
    Hidden,
}

/// The keep-alive of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum KeepAlive {
    /// This comment.
    Comment(&'static str),
    /// Anthropic's `ping`.
    Ping,
    /// None, unless a fault makes a proxy send empty comments.
    Never,
}

impl Dialect {
    pub(crate) fn is_openrouter(&self) -> bool {
        self.shape == Shape::Router
    }
}
