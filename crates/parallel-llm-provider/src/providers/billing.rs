//! Whether closing the connection stops what a call costs.
//!
//! Some providers stop the model and the bill when the connection is dropped; others let it finish and charge for all
//! of it. If closing saves nothing, the engine may as well read the answer to its end. Source: OpenRouter's list of
//! providers whose streams can be cancelled, October 2026.

/// What a provider charges when the connection is closed before the end of the reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Billing {
    /// Only what was written until the connection was dropped.
    Stops,
    /// The whole answer.
    RunsOn,
    /// It routes to other providers and their rule applies; guessed from the author of the model.
    ByAuthor,
    /// Unknown. A server on this machine is assumed to cost nothing and to stop; any other is assumed to charge for
    /// everything.
    Unknown,
}

/// The authors whose models mostly run at providers that stop billing: OpenAI and Azure, Anthropic, DeepSeek, xAI,
/// Cohere, Liquid, Mancer and Recursal themselves. The author is a guess at the upstream provider, the best there is
/// before the reply names it: some of these authors also sell through clouds that do not stop.
///
/// Google, Mistral, Amazon, Alibaba (`qwen/`), MiniMax, Perplexity and AI21 charge for everything. So do many providers
/// of open models, and the upstream is not known in advance, so an author that is not listed counts as one of these.
/// Reading such a call to its end wastes at most the output cap, which the run has reserved, and yields an answer;
/// closing it may discard an answer that is paid for in full.
const STOPPING_AUTHORS: [&str; 8] =
    ["openai", "anthropic", "deepseek", "x-ai", "cohere", "liquid", "mancer", "recursal"];

impl Billing {
    /// Whether closing a call to this model stops its cost. `is_local` says that the server is on this machine.
    pub(crate) fn stops(self, model: &str, is_local: bool) -> bool {
        match self {
            Self::Stops => true,
            Self::RunsOn => false,
            Self::ByAuthor => {
                let author = model.trim_start_matches('~').split('/').next();
                author.is_some_and(|author| STOPPING_AUTHORS.contains(&author))
            }
            Self::Unknown => is_local,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::providers::dialect::Dialect;
    use crate::providers::known::Known;

    #[test]
    fn every_known_provider_is_in_the_table() {
        let stops: Vec<(&str, bool)> =
            Known::ALL.iter().map(|known| (known.id, known.dialect.billing.stops("x", false))).collect();
        assert_eq!(
            stops,
            [
                // Decided by the author, and this author is unknown.
                ("openrouter", false),
                ("openai", true),
                ("anthropic", true),
                ("gemini", false),
                ("azure", true),
                ("groq", false),
                ("deepseek", true),
                ("xai", true),
                ("mistral", false),
                ("together", true),
                ("moonshot", false),
                ("ollama", true),
                ("lmstudio", true),
                ("vllm", true),
            ]
        );
        let kinds: Vec<(&str, bool)> =
            Known::KINDS.iter().map(|(kind, dialect)| (*kind, dialect.billing.stops("x", false))).collect();
        assert_eq!(kinds, [("openai-compatible", false), ("anthropic-chat", true), ("gemini-chat", false)]);
    }

    #[test]
    fn a_router_bills_as_the_author_of_the_model_does() {
        for (model, stops) in [
            ("openai/gpt-6.1-sol", true),
            ("~openai/gpt-sol-latest", true),
            ("anthropic/claude-opus-5.5", true),
            ("deepseek/deepseek-v4-pro-0813:free", true),
            ("x-ai/grok-4.7", true),
            ("cohere/command", true),
            ("google/gemini-4-argon", false),
            ("~google/gemini-pro-latest", false),
            ("mistralai/mistral-large-4-0", false),
            ("amazon/nova", false),
            ("qwen/qwen3.8-max-0902", false),
            ("minimax/minimax-m3", false),
            ("perplexity/sonar", false),
            ("ai21/jamba", false),
            ("z-ai/glm-5.3", false),
            ("openrouter/auto", false),
            ("openai-of-somebody/x", false),
            ("", false),
        ] {
            assert_eq!(Dialect::OPENROUTER.billing.stops(model, true), stops, "{model}");
        }
    }

    #[test]
    fn an_unknown_server_on_this_machine_costs_nothing() {
        assert!(Billing::Unknown.stops("x", true) && !Billing::Unknown.stops("x", false));
    }
}
