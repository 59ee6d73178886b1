//! How providers differ, as data.
//!
//! One client speaks to all of them; what it must do differently stands in a [`Dialect`], so that a new provider
//! is a row of [`known`](crate::known) and a test. Reading is the same for all who share a protocol: every known
//! place for usage, reasoning and errors is looked at.

use parallel_llm_engine::request::catalogue::Inputs;
use parallel_llm_engine::{Code, Effort, Failure, Message, ProviderId};

use crate::billing::Billing;

/// Which protocol is spoken: how a call is written and how its reply is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// `POST chat/completions`, which OpenAI began and nearly everyone speaks.
    Chat,
    /// `POST messages`, Anthropic's own.
    Messages,
    /// `POST models/{model}:streamGenerateContent`, Google's own.
    Gemini,
}

/// Where the key goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyHeader {
    /// `Authorization: Bearer KEY`.
    Bearer,
    /// A header of its own that holds the key alone.
    Bare(&'static str),
}

/// The field that carries the output cap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CapField {
    /// `max_completion_tokens`: counts reasoning too; OpenAI's reasoning models take nothing else.
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
    /// Not at all: it reports usage unasked, and may refuse fields it does not know.
    Unasked,
}

/// How a provider is told how hard to think.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EffortField {
    /// `reasoning: {effort}`, OpenRouter's.
    Reasoning,
    /// `reasoning_effort`, OpenAI's.
    ReasoningEffort,
    /// `thinking: {type}` and, where thinking is on, `reasoning_effort`: DeepSeek's.
    ThinkingAndEffort,
    /// `reasoning: {enabled}`, which knows on and off only: Together's.
    ReasoningEnabled,
    /// `thinking: {type}` and, where thinking is on, `output_config: {effort}`: Anthropic's.
    ThinkingAndConfig,
    /// `generationConfig.thinkingConfig`: Google's.
    ThinkingLevel,
    /// Not at all; the model decides.
    Nowhere,
}

/// Which prices of a list of models are read, and for how many tokens they are. The same fields mean a token at one
/// provider and a million at another, so what a provider does not document is not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListPrices {
    /// `prompt` and `completion`, in US dollars for a token: OpenRouter's, which others have taken over.
    PerToken,
    /// `input` and `output`, in US dollars for a million tokens: Together's.
    PerMillion,
}

/// When a call cannot be made without a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyRule {
    /// Always.
    Always,
    /// Unless the server is on this machine, where most ask for none.
    UnlessLoopback,
}

/// OpenRouter's own host; its regional ones lie below it.
const OPENROUTER_HOST: &str = "openrouter.ai";
/// How the base URLs of OpenRouter end, its regional ones and the simulator's too; no other provider's does.
const OPENROUTER_PATH: &str = "/api/v1";

/// What one provider does its own way.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Dialect {
    /// Which protocol is spoken.
    pub protocol: Protocol,
    /// Where the key goes.
    pub key_header: KeyHeader,
    /// When a key is needed.
    pub key_rule: KeyRule,
    /// Where the output cap goes.
    pub cap_field: CapField,
    /// How usage is asked for.
    pub usage_request: UsageRequest,
    /// How thinking is asked for.
    pub effort_field: EffortField,
    /// The efforts it has words for; another is asked for by the nearest.
    pub efforts: &'static [Effort],
    /// The role of instructions: `system` nearly everywhere.
    pub system_role: &'static str,
    /// The highest sampling temperature it takes; a higher one is lowered to it.
    pub temperature_max: f64,
    /// Whether it routes to other providers: it takes routing terms, a service tier and a session, and the program
    /// names itself to it.
    pub routes: bool,
    /// How its list of models gives prices.
    pub list_prices: ListPrices,
    /// Which files its protocol can carry. What a model takes is another matter.
    pub inputs: Inputs,
    /// Whether hanging up ends what a call costs.
    pub billing: Billing,
}

/// Pictures and documents.
const ALL_INPUTS: Inputs = Inputs { image: true, document: true };
/// What every provider with a word for an effort has.
const COMMON_EFFORTS: &[Effort] = &[Effort::None, Effort::Low, Effort::Medium, Effort::High];
/// OpenAI's words.
const OPENAI_EFFORTS: &[Effort] =
    &[Effort::None, Effort::Minimal, Effort::Low, Effort::Medium, Effort::High, Effort::Xhigh];
/// Anthropic's words; none is said by switching thinking off.
const ANTHROPIC_EFFORTS: &[Effort] = &[Effort::Low, Effort::Medium, Effort::High, Effort::Max];
/// Pictures only.
const IMAGES: Inputs = Inputs { image: true, document: false };

impl Dialect {
    /// What is spoken at a base URL of OpenRouter's: its own path is its own, everything else is taken for a server
    /// that speaks the protocol.
    pub fn of_base_url(base_url: &str) -> Self {
        let host = base_url.split("://").nth(1).and_then(|rest| rest.split(['/', ':']).next());
        let is_theirs = host.is_some_and(|host| host == OPENROUTER_HOST || host.ends_with(".openrouter.ai"));
        if is_theirs || base_url.trim_end_matches('/').ends_with(OPENROUTER_PATH) {
            Self::OPENROUTER
        } else {
            Self::OPENAI_COMPATIBLE
        }
    }

    /// Fails where a message holds a file that the provider's protocol cannot carry.
    pub fn check_inputs(&self, provider: &ProviderId, messages: &[Message]) -> Result<(), Failure> {
        let mut files = messages.iter().flat_map(Message::files);
        files.find(|file| !self.inputs.takes(file.kind())).map_or(Ok(()), |file| {
            let message = format!("{provider} takes no {}s such as `{}`", file.kind().word(), file.name);
            Err(Failure::new(Code::AttachmentUnsupported, message))
        })
    }

    /// Any server that speaks the chat protocol. `max_tokens`, because Mistral, Ollama and LM Studio know no other;
    /// a server that rejects it is asked again with the newer name.
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

    /// OpenAI. `system` is still taken, and mapped to `developer` where a model wants that.
    pub const OPENAI: Self = Self {
        key_rule: KeyRule::Always,
        efforts: OPENAI_EFFORTS,
        cap_field: CapField::MaxCompletionTokens,
        inputs: ALL_INPUTS,
        billing: Billing::Stops,
        ..Self::OPENAI_COMPATIBLE
    };

    /// Azure's `v1` path: OpenAI's dialect with the key in a header of its own. Models are deployments.
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

    /// Google's own protocol: thinking, documents and the reasons of its filters, which its chat layer loses.
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

    /// Anthropic's chat layer, which ignores an effort without a word.
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

    /// DeepSeek, which takes text only.
    pub const DEEPSEEK: Self = Self {
        key_rule: KeyRule::Always,
        effort_field: EffortField::ThinkingAndEffort,
        inputs: Inputs { image: false, document: false },
        billing: Billing::Stops,
        ..Self::OPENAI_COMPATIBLE
    };

    /// xAI reports usage in its last chunk unasked, and takes the wish as well.
    pub const XAI: Self = Self {
        key_rule: KeyRule::Always,
        cap_field: CapField::MaxCompletionTokens,
        billing: Billing::Stops,
        ..Self::OPENAI_COMPATIBLE
    };

    /// Mistral answers 422 to any field it does not know, `stream_options` and an effort among them.
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

    /// Moonshot. Nobody says what it charges for a reply that is hung up on, so the worse is assumed.
    pub const MOONSHOT: Self = Self {
        key_rule: KeyRule::Always,
        effort_field: EffortField::Nowhere,
        temperature_max: 1.0,
        billing: Billing::RunsOn,
        ..Self::OPENAI_COMPATIBLE
    };
}
