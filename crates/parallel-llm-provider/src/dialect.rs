//! How providers of the same protocol differ, as data.
//!
//! One client speaks to all of them; what it must do differently stands in a [`Dialect`], so that a new provider
//! is a new constant. Reading is the same for all: every known place for usage, reasoning and errors is looked at.

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
pub enum UsageWish {
    /// `usage: {include: true}`, OpenRouter's own, which also reports the cost.
    Usage,
    /// `stream_options: {include_usage: true}`, OpenAI's.
    StreamOptions,
}

/// When a call cannot be made without a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyRule {
    /// Always.
    Always,
    /// Unless the server is on this machine, where most ask for none.
    UnlessLoopback,
}

/// How the base URLs of OpenRouter end, its regional ones and the simulator's too; no other provider's does.
const OPENROUTER_PATH: &str = "/api/v1";

/// What one provider does its own way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dialect {
    /// Where the output cap goes.
    pub cap_field: CapField,
    /// How usage is asked for.
    pub usage_wish: UsageWish,
    /// The role of instructions: `system` nearly everywhere.
    pub system_role: &'static str,
    /// Whether the program names itself with OpenRouter's headers.
    pub app_headers: bool,
    /// Whether the run's id is sent as `session_id`, which keeps a provider's prompt cache warm.
    pub session: bool,
    /// When a key is needed.
    pub key_rule: KeyRule,
}

impl Dialect {
    /// What is spoken at a base URL: OpenRouter's own path is its own, everything else is taken for a server
    /// that speaks the protocol.
    pub fn of_base_url(base_url: &str) -> Self {
        let openrouters = base_url.trim_end_matches('/').ends_with(OPENROUTER_PATH);
        if openrouters { Self::OPENROUTER } else { Self::OPENAI_COMPATIBLE }
    }

    /// OpenRouter. `developer` works for two labs only, so instructions stay `system`.
    pub const OPENROUTER: Self = Self {
        cap_field: CapField::MaxCompletionTokens,
        usage_wish: UsageWish::Usage,
        system_role: "system",
        app_headers: true,
        session: true,
        key_rule: KeyRule::Always,
    };

    /// Any other server that speaks the protocol. `max_tokens`, because Mistral, Ollama and LM Studio know no
    /// other; a server that rejects it is asked again with the newer name.
    pub const OPENAI_COMPATIBLE: Self = Self {
        cap_field: CapField::MaxTokens,
        usage_wish: UsageWish::StreamOptions,
        system_role: "system",
        app_headers: false,
        session: false,
        key_rule: KeyRule::UnlessLoopback,
    };
}
