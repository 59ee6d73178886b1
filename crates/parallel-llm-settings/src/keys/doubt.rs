//! Keys that are hardly meant: a word, or the key of another provider, which would be sent to a stranger.

use parallel_llm_engine::value::next::{Advice, Next};
use parallel_llm_engine::{Code, Failure};
use parallel_llm_provider::Known;

/// How the keys of a provider begin. A beginning that several providers share is not here.
const BEGINNINGS: [(&str, &str); 14] = [
    ("sk-or-", "openrouter"),
    ("sk-ant-", "anthropic"),
    ("sk-proj-", "openai"),
    ("sk-svcacct-", "openai"),
    ("sk-admin-", "openai"),
    ("AIza", "gemini"),
    ("gsk_", "groq"),
    ("xai-", "xai"),
    ("csk-", "cerebras"),
    ("fw_", "fireworks"),
    ("tgp_v1_", "together"),
    ("pplx-", "perplexity"),
    ("hf_", "huggingface"),
    ("nvapi-", "nvidia"),
];
/// The fewest bytes of a key.
const KEY_BYTES_MIN: usize = 16;
/// Tokens that are no keys of models at all.
const OTHERS: [(&str, &str); 8] = [
    ("plm_", "a token of this server"),
    ("ghp_", "a token of GitHub"),
    ("github_pat_", "a token of GitHub"),
    ("glpat-", "a token of GitLab"),
    ("AKIA", "a key of AWS"),
    ("xoxb-", "a token of Slack"),
    ("eyJ", "a web token (JWT)"),
    ("ssh-", "a key of SSH"),
];

/// Whether a text is a key or another token by its beginning.
pub fn is_key(text: &str) -> bool {
    let has_digit = text.len() >= KEY_BYTES_MIN && text.bytes().any(|byte| byte.is_ascii_digit());
    has_digit && BEGINNINGS.iter().chain(&OTHERS).any(|(beginning, _)| text.starts_with(beginning))
}

/// Why this is hardly a key of this provider, without repeating any of it.
pub(super) fn refusal(provider: &str, text: &str) -> Option<Failure> {
    let insist = Next::Type(format!("keys set {provider} --force").into());
    let refused = |message: String| Failure::new(Code::Usage, message);
    // A provider of the user's own, or on this machine, may be a proxy that takes the keys of another one.
    let is_known = Known::by_id(provider).is_some_and(|known| !known.is_local());
    let foreign =
        BEGINNINGS.iter().find(|(beginning, _)| text.starts_with(beginning)).map(|(_, owner)| *owner);
    if let Some(owner) = foreign.filter(|owner| *owner != provider && is_known) {
        let message = format!("what was given is a key of `{owner}` by its beginning, not of `{provider}`");
        let set = Known::by_id(owner).map(|_| Next::Type(format!("keys set {owner}").into()));
        return Some(refused(message).with_next(set.into_iter().chain([insist]).collect::<Vec<_>>()));
    }
    if let Some((_, what)) = OTHERS.iter().find(|(beginning, _)| text.starts_with(beginning)) {
        let message = format!("what was given is {what} by its beginning, not a key of `{provider}`");
        return Some(refused(message).with_next([Next::Do(Advice::CopyKeyAlone), insist]));
    }
    // Keys are random, and thirty random letters without a digit are rarer than one in a hundred.
    if !text.bytes().any(|byte| byte.is_ascii_digit()) {
        let message = "what was given is no key: it has no digit, as a word".to_owned();
        return Some(refused(message).with_next([Next::Do(Advice::CopyKeyAlone), insist]));
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_of_another_provider_and_a_word_are_doubted() {
        for (provider, text, why) in [
            (
                "anthropic",
                "sk-or-v1-0000",
                Some("a key of `openrouter` by its beginning, not of `anthropic`"),
            ),
            ("openrouter", "sk-ant-api03-0000", Some("a key of `anthropic`")),
            ("openai", "gsk_0000", Some("a key of `groq`")),
            ("mistral", "sk-or-v1-0000", Some("a key of `openrouter` by its beginning, not of `mistral`")),
            ("deepseek", "sk-ant-api03-0000", Some("a key of `anthropic`")),
            ("mistral", "hf_0000", Some("a key of `huggingface`")),
            ("vllm", "hf_0000", None),
            ("openrouter", "ghp_0000", Some("a token of GitHub")),
            ("groq", "plm_0000", Some("a token of this server")),
            ("openrouter", "nonsense", Some("it has no digit")),
            ("team", "your-key-here", Some("it has no digit")),
            ("openrouter", "sk-or-v1-0000", None),
            ("openai", "sk-0000", None),
            ("deepseek", "sk-0000", None),
            ("team", "sk-or-v1-0000", None),
            ("mistral", "0000-0000", None),
        ] {
            let message = refusal(provider, text).map(|failure| failure.message.clone());
            match (why, message) {
                (None, None) => {}
                (Some(why), Some(message)) => assert!(message.contains(why), "{text}: {message}"),
                (why, message) => panic!("{provider}, {text}: {why:?}, {message:?}"),
            }
        }
    }
}
