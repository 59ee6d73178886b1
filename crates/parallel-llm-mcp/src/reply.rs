//! [`ChatReply`]: the reply of one model, or what has come of one.

use parallel_llm_engine::Usage;

/// What a provider reports at the end of a reply.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct ChatEnd {
    /// Why the model stopped, in the protocol's word: `stop` for a complete answer, `length` for one at its cap.
    pub finish: Option<String>,
    /// The token counts.
    pub usage: Usage,
    /// The cost in USD, if the provider reports it.
    pub cost_usd: Option<f64>,
    /// The model that answered, as the provider names it.
    pub model: Option<String>,
    /// The provider's id of the call.
    pub generation_id: Option<String>,
}

/// A whole reply, or what has come of one that was cut.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct ChatReply {
    /// The answer. Never empty in a whole reply.
    pub text: String,
    /// What the provider reported with it.
    pub end: ChatEnd,
}
