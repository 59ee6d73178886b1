//! Where a provider is reached, and the key that may go there.
//!
//! What always holds: the address is https, or http to this machine; it carries no user, query or fragment; and
//! every address made from it has the same host, so that the key cannot leave it.

use parallel_llm_engine::{Code, Failure, ProviderId};
use url::{Host, Url};

use crate::api_key::ApiKey;
use crate::dialect::{Dialect, KeyRule};

/// A configured provider.
#[derive(Clone, Debug)]
pub struct Endpoint {
    id: ProviderId,
    base: Url,
    key: Option<ApiKey>,
    dialect: Dialect,
    calls_max: Option<usize>,
}

impl Endpoint {
    /// Binds a key to the host of a base URL such as `https://openrouter.ai/api/v1`.
    pub fn new(
        id: ProviderId,
        base_url: &str,
        key: Option<ApiKey>,
        dialect: Dialect,
    ) -> Result<Self, Failure> {
        let base = parse_base(&id, base_url.trim())?;
        Ok(Self { id, base, key, dialect, calls_max: None })
    }

    /// Bounds the calls at once to this provider, in place of the general bound; Ollama works one at a time.
    #[must_use]
    pub const fn with_calls_max(mut self, calls_max: usize) -> Self {
        self.calls_max = Some(calls_max);
        self
    }

    /// The provider's name in the settings.
    pub const fn id(&self) -> &ProviderId {
        &self.id
    }

    /// Its way of speaking.
    pub const fn dialect(&self) -> &Dialect {
        &self.dialect
    }

    /// The bound on calls at once, where it has its own.
    pub const fn calls_max(&self) -> Option<usize> {
        self.calls_max
    }

    /// Host and port, for messages.
    pub fn authority(&self) -> String {
        authority(&self.base)
    }

    /// Whether the server is on this machine.
    pub fn is_loopback(&self) -> bool {
        is_loopback(&self.base)
    }

    /// Whether requests go through TLS.
    pub fn is_https(&self) -> bool {
        self.base.scheme() == "https"
    }

    /// The key, where there is one.
    pub const fn key(&self) -> Option<&ApiKey> {
        self.key.as_ref()
    }

    /// Fails where a call needs a key and there is none.
    pub fn check_key(&self) -> Result<(), Failure> {
        let needed = match self.dialect.key_rule {
            KeyRule::Always => true,
            KeyRule::UnlessLoopback => !self.is_loopback(),
        };
        if self.key.is_some() || !needed {
            return Ok(());
        }
        let failure = Failure::new(Code::KeyMissing, format!("no API key is set for `{}`", self.id));
        // The code's own advice names OpenRouter's variable.
        let is_openrouter = self.dialect == Dialect::OPENROUTER;
        Err(if is_openrouter {
            failure
        } else {
            failure.with_next(format!("set the API key of `{}`", self.id))
        })
    }

    /// The address of a path below the base, such as `chat/completions`.
    pub(crate) fn url(&self, path: &str) -> Url {
        let mut url = self.base.clone();
        url.set_path(&format!("{}/{path}", self.base.path().trim_end_matches('/')));
        url
    }
}

fn parse_base(id: &ProviderId, text: &str) -> Result<Url, Failure> {
    let invalid = |why: &str| {
        let failure = Failure::new(Code::SettingsInvalid, format!("the base URL of `{id}` {why}"));
        Err(failure.with_next("write it like `https://openrouter.ai/api/v1`"))
    };
    let Ok(url) = Url::parse(text) else { return invalid("cannot be read") };
    if !matches!(url.scheme(), "https" | "http") {
        return invalid("is neither https nor http");
    }
    if !url.username().is_empty() || url.password().is_some() {
        return invalid("holds a user name or a password");
    }
    if url.query().is_some() || url.fragment().is_some() {
        return invalid("holds a query or a fragment");
    }
    if url.scheme() == "http" && !is_loopback(&url) {
        let message = format!("the base URL of `{id}` uses plain http to `{}`", authority(&url));
        return Err(Failure::new(Code::InsecureUrl, message));
    }
    Ok(url)
}

fn authority(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"))
}

/// Whether the host is this machine by its very name, so that no resolver is asked for it.
fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        Some(Host::Domain(name)) => name == "localhost",
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn endpoint(base_url: &str) -> Result<Endpoint, Failure> {
        Endpoint::new(ProviderId("test".into()), base_url, None, Dialect::OPENAI_COMPATIBLE)
    }

    #[test]
    fn plain_http_is_for_this_machine_only() {
        for good in [
            "https://a.b/v1",
            "http://127.0.0.1:1/v1",
            "http://[::1]",
            "http://LOCALHOST:2",
            "http://127.8.9.1",
        ] {
            assert!(endpoint(good).is_ok(), "{good}");
        }
        for bad in
            ["http://a.b", "http://10.0.0.1", "http://localhost.evil.com", "http://[::]", "http://0.0.0.0"]
        {
            assert_eq!(endpoint(bad).unwrap_err().code, Code::InsecureUrl, "{bad}");
        }
    }

    #[test]
    fn an_address_carries_nothing_but_host_and_path() {
        for bad in [
            "",
            "openrouter.ai",
            "ftp://a.b",
            "https://u@a.b",
            "https://:p@a.b",
            "https://a.b?k=1",
            "https://a.b#x",
        ] {
            assert_eq!(endpoint(bad).unwrap_err().code, Code::SettingsInvalid, "{bad}");
        }
        assert!(!endpoint("https://:secret@a.b").unwrap_err().message.contains("secret"));
    }

    #[test]
    fn paths_are_added_below_the_base() {
        for base in ["https://a.b/v1", "https://a.b/v1/"] {
            assert_eq!(
                endpoint(base).unwrap().url("chat/completions").as_str(),
                "https://a.b/v1/chat/completions"
            );
        }
        assert_eq!(endpoint("https://a.b").unwrap().url("models").as_str(), "https://a.b/models");
        assert_eq!(endpoint("https://a.b:8443/v1").unwrap().authority(), "a.b:8443");
    }

    #[test]
    fn a_key_is_needed_where_the_dialect_says() {
        assert!(endpoint("http://localhost:11434/v1").unwrap().check_key().is_ok());
        assert_eq!(endpoint("https://a.b/v1").unwrap().check_key().unwrap_err().code, Code::KeyMissing);
        let id = ProviderId("openrouter".into());
        let local = Endpoint::new(id, "http://localhost:1/api/v1", None, Dialect::OPENROUTER).unwrap();
        assert!(local.check_key().unwrap_err().next_step().contains("OPENROUTER_API_KEY"));
    }
}
