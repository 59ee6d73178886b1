//! [`Provider`]: an API that models are called at.

use parallel_llm_settings::settings::EmbeddedProvider;
use secrecy::SecretString;

use super::amount;

/// A provider to set up in code: a known one by its id, or any OpenAI-compatible server under a name of your own.
///
/// ```
/// use parallel_llm_mcp::{Panel, Provider};
///
/// let panel = Panel::builder()
///     .provider(Provider::new("anthropic").key("sk-ant-..."))
///     .provider(Provider::new("gateway").base_url("https://llm.example.com/v1").header("X-Team", "blue"))
///     .panel(["anthropic:claude-opus-5", "gateway:local-model"])
///     .build()?;
/// # drop(panel);
/// # Ok::<(), parallel_llm_mcp::Error>(())
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct Provider {
    pub(super) own: EmbeddedProvider,
    /// Whether a value cannot be read.
    pub(super) is_wrong: bool,
}

impl Provider {
    /// A provider of this id, which model references name in front of a colon: 1 to 40 lower-case letters, digits or `-`.
    pub fn new(id: impl Into<String>) -> Self {
        Self { own: EmbeddedProvider { id: id.into(), ..EmbeddedProvider::default() }, is_wrong: false }
    }

    /// The address of its API: https, or http on this machine.
    pub fn base_url(mut self, base_url: impl Into<String>) -> Self {
        self.own.base_url = Some(base_url.into());
        self
    }

    /// How it speaks, if not as its id says: the id of a known provider, such as `anthropic`, or `openai-compatible`.
    pub fn kind(mut self, kind: impl Into<String>) -> Self {
        self.own.kind = Some(kind.into());
        self
    }

    /// Its key. It is sent to its own address only, and shown nowhere.
    pub fn key(mut self, key: impl Into<SecretString>) -> Self {
        self.own.key = Some(key.into());
        self
    }

    /// A header sent with every call. Its value is treated as a secret.
    pub fn header(mut self, name: impl Into<String>, value: impl Into<SecretString>) -> Self {
        self.own.headers.push((name.into(), value.into()));
        self
    }

    /// Most concurrent calls, in place of `calls_per_key_max`.
    pub const fn calls_max(mut self, calls_max: usize) -> Self {
        self.own.calls_max = Some(calls_max);
        self
    }

    /// The most that all runs together may cost in a day (UTC) with its key, in USD. Needs a folder.
    pub fn budget_day_usd(mut self, usd: f64) -> Self {
        self.own.budget_day = amount(usd);
        self.is_wrong |= self.own.budget_day.is_none();
        self
    }
}
