//! [`ClientBuilder`]: where a client calls, and its limits.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use parallel_llm_engine::ProviderId;
use parallel_llm_engine::request::panel::DEFAULT_PROVIDER;
use secrecy::SecretString;
use tokio_util::sync::CancellationToken;

use super::{Client, ClientShared, OpenReplies};
use crate::blocking::Blocking;
use crate::error::Error;
use crate::panel::builder::PanelBuilder;
use crate::parallel::Limiter;

/// Makes a [`Client`]. It reads no environment, and no file but [`ClientBuilder::ca_file`].
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct ClientBuilder {
    settings: PanelBuilder,
    limiter: Option<Limiter>,
}

impl ClientBuilder {
    /// The key.
    pub fn key(self, key: impl Into<SecretString>) -> Self {
        Self { settings: self.settings.key(key), ..self }
    }

    /// The address of an API in place of OpenRouter's: https, or http on this machine.
    pub fn base_url(self, base_url: impl Into<String>) -> Self {
        Self { settings: self.settings.base_url(base_url), ..self }
    }

    /// A header sent with every request. Its value is treated as a secret.
    pub fn header(self, name: impl Into<String>, value: impl Into<SecretString>) -> Self {
        Self { settings: self.settings.header(name, value), ..self }
    }

    /// The name of your program at OpenRouter.
    pub fn app_title(self, title: impl Into<String>) -> Self {
        Self { settings: self.settings.app_title(title), ..self }
    }

    /// The address of your program at OpenRouter.
    pub fn app_url(self, url: impl Into<String>) -> Self {
        Self { settings: self.settings.app_url(url), ..self }
    }

    /// A file (PEM) of certificates that are trusted beside the system's.
    pub fn ca_file(self, path: impl Into<PathBuf>) -> Self {
        Self { settings: self.settings.ca_file(path), ..self }
    }

    /// The time to connect.
    pub fn connect_timeout(self, limit: Duration) -> Self {
        Self { settings: self.settings.connect_timeout(limit), ..self }
    }

    /// The time from sending a call to its first text or reasoning.
    pub fn first_text_timeout(self, limit: Duration) -> Self {
        Self { settings: self.settings.first_text_timeout(limit), ..self }
    }

    /// The time that a call may go without a byte, once it has shown a sign of life: text, reasoning or a keep-alive. A model
    /// may think in silence before.
    pub fn idle_timeout(self, limit: Duration) -> Self {
        Self { settings: self.settings.idle_timeout(limit), ..self }
    }

    /// The time that a call may go without text or reasoning once it has begun.
    pub fn content_timeout(self, limit: Duration) -> Self {
        Self { settings: self.settings.content_timeout(limit), ..self }
    }

    /// The time that one call may take once it is sent, and before that the time that each place among those of
    /// [`ClientBuilder::within`] and [`ClientBuilder::calls_max`] may take to come free.
    pub fn call_timeout(self, limit: Duration) -> Self {
        Self { settings: self.settings.call_timeout(limit), ..self }
    }

    /// Most concurrent calls of this client.
    pub fn calls_max(self, calls: usize) -> Self {
        Self { settings: self.settings.calls_per_key_max(calls), ..self }
    }

    /// Also keeps to a bound that other work shares. Work around a call of this client must not have the same one; see
    /// [`Limiter`].
    pub fn within(self, limiter: &Limiter) -> Self {
        Self { limiter: Some(limiter.clone()), ..self }
    }

    /// The client. Fails with [`Error::Field`] for a value that cannot be used. Nothing is opened or sent yet.
    pub fn build(self) -> Result<Client, Error> {
        let settings = self.settings.settings()?;
        let provider = parallel_llm_app::make_upstream(&settings)
            .map_err(|failure| Error::field("base_url", &failure))?;
        Ok(Client(Arc::new(ClientShared {
            provider,
            id: ProviderId(DEFAULT_PROVIDER.to_owned()),
            limiter: self.limiter,
            max_tokens: settings.max_tokens,
            timers: settings.timers,
            closed: CancellationToken::new(),
            open: OpenReplies::default(),
            blocking: Blocking::default(),
        })))
    }
}
