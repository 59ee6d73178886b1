//! The differences between providers, as data.
//!
//! One client serves all providers; the differences are in a [`Dialect`], so that a new provider is a row of
//! [`known`](super::known) and a test. Replies are read the same way for all providers of a protocol: every known field
//! for usage, reasoning and errors is tried.

use parallel_llm_engine::request::catalogue::Inputs;
use parallel_llm_engine::{Code, Effort, Failure, Message, ProviderId};

use super::billing::Billing;

/// The protocol: how a call is written and how its reply is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// `POST chat/completions`, from OpenAI and used by nearly every provider.
    Chat,
    /// `POST messages`, Anthropic's own.
    Messages,
    /// `POST models/{model}:streamGenerateContent`, Google's own.
    Gemini,
}

/// Which header carries the key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyHeader {
    /// `Authorization: Bearer KEY`.
    Bearer,
    /// A separate header that contains only the key.
    Bare(&'static str),
}

/// The field that carries the output cap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CapField {
    /// `max_completion_tokens`: includes reasoning; OpenAI's reasoning models accept nothing else.
    MaxCompletionTokens,
    /// `max_tokens`: the older name, which every local server knows.
    MaxTokens,
}

/// How a provider is asked to report usage at the end of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UsageRequest {
    /// `usage: {include: true}`, OpenRouter's own, which also reports the cost.
    Usage,
    /// `stream_options: {include_usage: true}`, OpenAI's.
    StreamOptions,
    /// Not at all: it reports usage anyway, and may refuse unknown fields.
    Unasked,
}

/// How the effort is set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EffortField {
    /// `reasoning: {effort}`, OpenRouter's.
    Reasoning,
    /// `reasoning_effort`, OpenAI's.
    ReasoningEffort,
    /// `thinking: {type}` and, if thinking is on, `reasoning_effort`: DeepSeek's.
    ThinkingAndEffort,
    /// `reasoning: {enabled}`, only on or off: Together's.
    ReasoningEnabled,
    /// `thinking: {type}` and, if thinking is on, `output_config: {effort}`: Anthropic's.
    ThinkingAndConfig,
    /// `generationConfig.thinkingConfig`: Google's.
    ThinkingLevel,
    /// Not at all; the model decides.
    Nowhere,
}

/// Which prices in a list of models are read, and for how many tokens they are. The same fields mean a token at one
/// provider and a million at another, so prices that a provider does not document are not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListPrices {
    /// `prompt` and `completion`, in US dollars per token: OpenRouter's, adopted by others.
    PerToken,
    /// `input` and `output`, in US dollars per million tokens: Together's.
    PerMillion,
}

/// When a call needs a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyRule {
    /// Always.
    Always,
    /// Unless the server is on this machine, because most local servers need none.
    UnlessLoopback,
}

/// OpenRouter's own host; its regional ones are subdomains.
const OPENROUTER_HOST: &str = "openrouter.ai";
/// The end of OpenRouter's base URLs, also of its regional ones and of the simulator; no other provider uses it.
const OPENROUTER_PATH: &str = "/api/v1";

/// The differences of one provider.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Dialect {
    /// The protocol.
    pub protocol: Protocol,
    /// Which header carries the key.
    pub key_header: KeyHeader,
    /// When a key is needed.
    pub key_rule: KeyRule,
    /// Which field carries the output cap.
    pub cap_field: CapField,
    /// How usage is requested.
    pub usage_request: UsageRequest,
    /// How the effort is set.
    pub effort_field: EffortField,
    /// The efforts it supports; for any other the nearest is used.
    pub efforts: &'static [Effort],
    /// The role of instructions: `system` nearly everywhere.
    pub system_role: &'static str,
    /// The highest sampling temperature it accepts; a higher one is reduced to it.
    pub temperature_max: f64,
    /// Whether it routes to other providers: it accepts routing terms, a service tier and a session, and is sent the
    /// name of the app.
    pub routes: bool,
    /// How its list of models gives prices.
    pub list_prices: ListPrices,
    /// Which files its protocol can carry. Whether a model accepts them is a separate question.
    pub inputs: Inputs,
    /// Whether closing the connection stops the cost.
    pub billing: Billing,
}

/// Pictures and documents.
const ALL_INPUTS: Inputs = Inputs { image: true, document: true };
/// The efforts that every provider with efforts supports.
const COMMON_EFFORTS: &[Effort] = &[Effort::None, Effort::Low, Effort::Medium, Effort::High];
/// OpenAI's efforts.
const OPENAI_EFFORTS: &[Effort] =
    &[Effort::None, Effort::Minimal, Effort::Low, Effort::Medium, Effort::High, Effort::Xhigh];
/// Anthropic's efforts; `none` is sent as thinking switched off.
const ANTHROPIC_EFFORTS: &[Effort] = &[Effort::Low, Effort::Medium, Effort::High, Effort::Max];
/// Pictures only.
const IMAGES: Inputs = Inputs { image: true, document: false };

impl Dialect {
    /// The dialect of a base URL of OpenRouter: its own path means OpenRouter, everything else is assumed to be a
    /// generic chat server.
    pub fn of_base_url(base_url: &str) -> Self {
        let host = base_url.split("://").nth(1).and_then(|rest| rest.split(['/', ':']).next());
        let is_theirs = host.is_some_and(|host| host == OPENROUTER_HOST || host.ends_with(".openrouter.ai"));
        if is_theirs || base_url.trim_end_matches('/').ends_with(OPENROUTER_PATH) {
            Self::OPENROUTER
        } else {
            Self::OPENAI_COMPATIBLE
        }
    }

    /// Fails if a message contains a file that the provider's protocol cannot carry.
    pub fn check_inputs(&self, provider: &ProviderId, messages: &[Message]) -> Result<(), Failure> {
        let mut files = messages.iter().flat_map(Message::files);
        files.find(|file| !self.inputs.takes(file.kind())).map_or(Ok(()), |file| {
            let message = format!("{provider} takes no {}s such as `{}`", file.kind().word(), file.name);
            Err(Failure::new(Code::AttachmentUnsupported, message))
        })
    }

    /// Any server of the chat protocol. `max_tokens`, because Mistral, Ollama and LM Studio know no other name; a
    /// server that rejects it is sent the newer name.
    pub const OPENAI_COMPATIBLE: Self = Self {
        protocol: Protocol::Chat,
        key_header: KeyHeader::Bearer,
        key_rule: KeyRule::UnlessLoopback,
        cap_field: CapField::MaxTokens,
        usage_request: UsageRequest::StreamOptions,
        effort_field: EffortField::ReasoningEffort,
        efforts: COMMON_EFFORTS,
        system_role: "system",
        temperature_max: 2.0,
        routes: false,
        list_prices: ListPrices::PerToken,
        inputs: IMAGES,
        billing: Billing::Unknown,
    };

    /// OpenRouter. `developer` works for two labs only, so instructions stay `system`.
    pub const OPENROUTER: Self = Self {
        key_rule: KeyRule::Always,
        cap_field: CapField::MaxCompletionTokens,
        usage_request: UsageRequest::Usage,
        effort_field: EffortField::Reasoning,
        efforts: Effort::ALL,
        routes: true,
        inputs: ALL_INPUTS,
        billing: Billing::ByAuthor,
        ..Self::OPENAI_COMPATIBLE
    };

    /// OpenAI. `system` is still accepted, and mapped to `developer` if a model needs that.
    pub const OPENAI: Self = Self {
        key_rule: KeyRule::Always,
        efforts: OPENAI_EFFORTS,
        cap_field: CapField::MaxCompletionTokens,
        inputs: ALL_INPUTS,
        billing: Billing::Stops,
        ..Self::OPENAI_COMPATIBLE
    };

    /// Azure's `v1` path: OpenAI's dialect with the key in another header. Models are deployments.
    pub const AZURE: Self = Self { key_header: KeyHeader::Bare("api-key"), ..Self::OPENAI };

    /// Anthropic's own protocol: thinking, documents and exact usage, which its chat layer loses.
    pub const ANTHROPIC: Self = Self {
        protocol: Protocol::Messages,
        key_header: KeyHeader::Bare("x-api-key"),
        key_rule: KeyRule::Always,
        usage_request: UsageRequest::Unasked,
        effort_field: EffortField::ThinkingAndConfig,
        efforts: ANTHROPIC_EFFORTS,
        temperature_max: 1.0,
        inputs: ALL_INPUTS,
        billing: Billing::Stops,
        ..Self::OPENAI_COMPATIBLE
    };

    /// Google's own protocol: thinking, documents and filter reasons, which its chat layer loses.
    pub const GEMINI: Self = Self {
        protocol: Protocol::Gemini,
        key_header: KeyHeader::Bare("x-goog-api-key"),
        key_rule: KeyRule::Always,
        usage_request: UsageRequest::Unasked,
        effort_field: EffortField::ThinkingLevel,
        inputs: ALL_INPUTS,
        billing: Billing::RunsOn,
        ..Self::OPENAI_COMPATIBLE
    };

    /// Anthropic's chat layer, which silently ignores an effort.
    pub const ANTHROPIC_CHAT: Self = Self {
        key_rule: KeyRule::Always,
        effort_field: EffortField::Nowhere,
        temperature_max: 1.0,
        billing: Billing::Stops,
        ..Self::OPENAI_COMPATIBLE
    };

    /// Google's chat layer.
    pub const GEMINI_CHAT: Self =
        Self { key_rule: KeyRule::Always, billing: Billing::RunsOn, ..Self::OPENAI_COMPATIBLE };

    /// Groq.
    pub const GROQ: Self = Self {
        key_rule: KeyRule::Always,
        cap_field: CapField::MaxCompletionTokens,
        billing: Billing::RunsOn,
        ..Self::OPENAI_COMPATIBLE
    };

    /// DeepSeek, which accepts text only.
    pub const DEEPSEEK: Self = Self {
        key_rule: KeyRule::Always,
        effort_field: EffortField::ThinkingAndEffort,
        inputs: Inputs { image: false, document: false },
        billing: Billing::Stops,
        ..Self::OPENAI_COMPATIBLE
    };

    /// xAI reports usage in its last chunk anyway, and also accepts the request for it.
    pub const XAI: Self = Self {
        key_rule: KeyRule::Always,
        cap_field: CapField::MaxCompletionTokens,
        billing: Billing::Stops,
        ..Self::OPENAI_COMPATIBLE
    };

    /// Mistral answers 422 to any unknown field, including `stream_options` and an effort.
    pub const MISTRAL: Self = Self {
        key_rule: KeyRule::Always,
        usage_request: UsageRequest::Unasked,
        effort_field: EffortField::Nowhere,
        temperature_max: 1.5,
        billing: Billing::RunsOn,
        ..Self::OPENAI_COMPATIBLE
    };

    /// Together.
    pub const TOGETHER: Self = Self {
        key_rule: KeyRule::Always,
        effort_field: EffortField::ReasoningEnabled,
        list_prices: ListPrices::PerMillion,
        billing: Billing::Stops,
        ..Self::OPENAI_COMPATIBLE
    };

    /// Moonshot. What it charges for a reply that is not read to its end is not documented, so it is assumed to charge
    /// for everything.
    pub const MOONSHOT: Self = Self {
        key_rule: KeyRule::Always,
        effort_field: EffortField::Nowhere,
        temperature_max: 1.0,
        billing: Billing::RunsOn,
        ..Self::OPENAI_COMPATIBLE
    };
}
