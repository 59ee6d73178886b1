//! Whether hanging up ends what a call costs.
//!
//! Some providers stop a model, and the bill, when the connection is dropped; others let it write to its end and charge
//! for all of it. Where hanging up saves nothing the engine may as well hear the answer out. Source: OpenRouter's list
//! of providers whose streams can be cancelled, October 2026.

/// What a provider charges for a reply that is not heard to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Billing {
    /// What was written until the connection was dropped.
    Stops,
    /// All of it.
    RunsOn,
    /// It routes to others, and theirs holds: told by the author of the model.
    ByAuthor,
    /// Nobody knows. A server on this machine is taken for one that costs nothing and wants to be free again; of others
    /// the worse is assumed.
    Unknown,
}

/// The authors whose models mostly run where hanging up ends the bill: at OpenAI and Azure, Anthropic, DeepSeek, xAI,
/// Cohere, Liquid, Mancer and Recursal themselves. An author is a guess at the upstream, the best there is before the
/// reply names it: some of them sell through clouds that charge on.
///
/// Google, Mistral, Amazon, Alibaba (`qwen/`), MiniMax, Perplexity and AI21 charge for all of it. So do many that run
/// open models, and nobody knows which of them gets the call: an author who is not listed counts as one of these.
/// Hearing such a call out wastes at most the output cap, which its run has set aside, and brings an answer; hanging up
/// on it may throw away what is paid for in full.
const STOPPING_AUTHORS: [&str; 8] =
    ["openai", "anthropic", "deepseek", "x-ai", "cohere", "liquid", "mancer", "recursal"];

impl Billing {
    /// Whether hanging up on a call to this model ends what it costs. `is_local` says that the server is on this
    /// machine.
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
    use crate::dialect::Dialect;
    use crate::known::Known;

    #[test]
    fn every_known_provider_is_in_the_table() {
        let stops: Vec<(&str, bool)> =
            Known::ALL.iter().map(|known| (known.id, known.dialect.billing.stops("x", false))).collect();
        assert_eq!(
            stops,
            [
                // By its authors, and nobody knows this one.
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
    fn a_router_goes_by_the_author() {
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
    fn a_server_nobody_knows_costs_nothing_on_this_machine() {
        assert!(Billing::Unknown.stops("x", true) && !Billing::Unknown.stops("x", false));
    }
}
