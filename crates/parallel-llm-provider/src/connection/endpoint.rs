//! The address of a provider and the key that may be sent there.
//!
//! Invariants: the address is https, or http to this machine; it has no user, query or fragment; every address made
//! from it has the same host, so that the key cannot be sent elsewhere.

use std::fmt;
use std::time::Duration;

use futures_util::future::BoxFuture;
use http::HeaderMap;
use parallel_llm_engine::value::next::Next;
use parallel_llm_engine::{Code, Failure, ProviderId};
use tokio::sync::Mutex;
use tokio::time::Instant;
use url::{Host, Url};

use crate::codec::protocol::Address;
use crate::providers::api_key::ApiKey;
use crate::providers::dialect::{Dialect, KeyRule};
use crate::providers::known::Known;

/// How long to wait before fetching a missing key again: the key store may have been locked. Otherwise each seat of a
/// panel would wait for the same failure.
const REFETCH_AFTER: Duration = Duration::from_secs(60);

/// The domain of every address of Azure, which gives each customer another host.
const AZURE_DOMAIN: &str = "azure.com";

/// Fetches a key when a call first needs it, for instance from a password manager.
pub type KeyFetch = Box<dyn Fn() -> BoxFuture<'static, Result<Option<ApiKey>, Failure>> + Send + Sync>;

/// A configured provider.
#[derive(Debug)]
pub struct Endpoint {
    id: ProviderId,
    base: Url,
    key: KeySource,
    dialect: Dialect,
    headers: HeaderMap,
    calls_max: Option<usize>,
    key_advice: Vec<Next>,
    refused_key_advice: Vec<Next>,
}

/// The source of a key.
enum KeySource {
    /// It is known, or there is none.
    Known(Option<ApiKey>),
    /// It is fetched when it is first needed. Locked meanwhile, so that it is fetched once however many calls need it.
    Fetched { fetch: KeyFetch, fetched: Mutex<Option<FetchedKey>> },
}

/// The result of fetching a key.
struct FetchedKey {
    at: Instant,
    key: Result<Option<ApiKey>, Failure>,
}

impl FetchedKey {
    /// A key is used as long as the program runs; a failure only for a while.
    fn is_current(&self) -> bool {
        matches!(self.key, Ok(Some(_))) || self.at.elapsed() < REFETCH_AFTER
    }
}

impl fmt::Debug for KeySource {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("***")
    }
}

impl Endpoint {
    /// Binds a key to the host of a base URL such as `https://openrouter.ai/api/v1`.
    pub fn new(
        id: ProviderId,
        base_url: &str,
        key: Option<ApiKey>,
        dialect: Dialect,
    ) -> Result<Self, Failure> {
        let base = parse(&format!("the base URL of `{id}`"), base_url.trim())?;
        let key = KeySource::Known(key);
        Ok(Self {
            id,
            base,
            key,
            dialect,
            headers: HeaderMap::new(),
            calls_max: None,
            key_advice: Vec::new(),
            refused_key_advice: Vec::new(),
        })
    }

    /// Fetches the key when it is first needed.
    #[must_use]
    pub fn with_key_fetch(mut self, fetch: KeyFetch) -> Self {
        self.key = KeySource::Fetched { fetch, fetched: Mutex::new(None) };
        self
    }

    /// Sends these headers with every request. They never replace ours or the key. Their values are treated as secrets.
    #[must_use]
    pub fn with_headers(mut self, mut headers: HeaderMap) -> Self {
        headers.values_mut().for_each(|value| value.set_sensitive(true));
        self.headers = headers;
        self
    }

    /// Limits concurrent calls to this provider, in place of the general limit; Ollama handles one at a time.
    #[must_use]
    pub const fn with_calls_max(mut self, calls_max: usize) -> Self {
        self.calls_max = Some(calls_max);
        self
    }

    /// What to do if the key is missing, in place of the general advice: only the settings know where this key is
    /// looked up.
    #[must_use]
    pub fn with_key_advice(mut self, advice: Vec<Next>) -> Self {
        self.key_advice = advice;
        self
    }

    /// What to do if the provider refuses the key, in place of the general advice.
    #[must_use]
    pub fn with_refused_key_advice(mut self, advice: Vec<Next>) -> Self {
        self.refused_key_advice = advice;
        self
    }

    /// What to do if the provider refuses the key; empty if the general advice applies.
    pub(crate) fn refused_key_advice(&self) -> &[Next] {
        &self.refused_key_advice
    }

    /// The provider's name in the settings.
    pub const fn id(&self) -> &ProviderId {
        &self.id
    }

    /// Its dialect.
    pub const fn dialect(&self) -> &Dialect {
        &self.dialect
    }

    /// Its own limit on concurrent calls, if any.
    pub const fn calls_max(&self) -> Option<usize> {
        self.calls_max
    }

    /// The base of every address.
    pub(crate) const fn base(&self) -> &Url {
        &self.base
    }

    /// Host and port, for messages.
    pub fn authority(&self) -> String {
        authority(&self.base)
    }

    /// Whether the server is on this machine.
    pub fn is_loopback(&self) -> bool {
        is_loopback(&self.base)
    }

    /// Whether this is a model server that runs on this machine as a rule, such as Ollama.
    pub(crate) fn is_local_server(&self) -> bool {
        self.is_loopback() && Known::by_id(&self.id.0).is_some_and(Known::is_local)
    }

    /// Whether the user chose this address, and not a vendor known by name: a server on this machine, or a host that
    /// belongs to no vendor of [`Known::ALL`]. A known vendor's other hosts, such as those of a region, are the vendor's,
    /// even if the user wrote them.
    ///
    /// Only such an address gets ids that tie requests together (`traceparent`, the servers a question came through).
    pub fn is_users_own(&self) -> bool {
        self.is_loopback() || !vendor_domains().any(|domain| self.is_within(domain))
    }

    /// Whether the host is this domain or below it.
    fn is_within(&self, domain: &str) -> bool {
        let host = self.base.host_str().unwrap_or_default().trim_end_matches('.');
        host.strip_suffix(domain).is_some_and(|above| above.is_empty() || above.ends_with('.'))
    }

    /// Whether requests use TLS.
    pub fn is_https(&self) -> bool {
        self.base.scheme() == "https"
    }

    /// Whether calls need a key.
    pub fn needs_key(&self) -> bool {
        match self.dialect.key_rule {
            KeyRule::Always => true,
            KeyRule::UnlessLoopback => !self.is_loopback(),
        }
    }

    /// The user's headers for every request.
    pub(crate) const fn headers(&self) -> &HeaderMap {
        &self.headers
    }

    /// The key, if it is known without fetching it.
    pub(crate) const fn known_key(&self) -> Option<&ApiKey> {
        match &self.key {
            KeySource::Known(key) => key.as_ref(),
            KeySource::Fetched { .. } => None,
        }
    }

    /// The key for a call. Fails if one is needed and there is none.
    pub(crate) async fn key(&self) -> Result<Option<ApiKey>, Failure> {
        let key = match &self.key {
            KeySource::Known(key) => key.clone(),
            KeySource::Fetched { fetch, fetched } => {
                let mut fetched = fetched.lock().await;
                if let Some(fetched) = fetched.as_ref().filter(|fetched| fetched.is_current()) {
                    fetched.key.clone()?
                } else {
                    let key = fetch().await;
                    fetched.insert(FetchedKey { at: Instant::now(), key }).key.clone()?
                }
            }
        };
        if key.is_none() && self.needs_key() { Err(self.key_missing()) } else { Ok(key) }
    }

    fn key_missing(&self) -> Failure {
        Failure::new(Code::KeyMissing, format!("no API key is set for `{}`", self.id))
            .with_next(self.key_advice.clone())
    }

    /// An address below the base. Segments are escaped, so that no name can leave the base.
    pub(crate) fn url(&self, address: &Address) -> Url {
        let mut url = self.base.clone();
        let mut path = url.path_segments_mut().expect("http and https addresses have a path");
        path.pop_if_empty().extend(&address.segments);
        drop(path);
        url.set_query(address.query.as_deref());
        url
    }
}

/// The domains of the vendors known by name, each as the last two labels of its host.
fn vendor_domains() -> impl Iterator<Item = &'static str> {
    let remote = Known::ALL.iter().filter(|known| !known.is_local());
    remote
        .filter_map(|known| {
            // `https://api.vendor.com/v1` to `vendor.com`.
            let host = known.base_url.split('/').nth(2)?;
            let (dot, _) = host.rmatch_indices('.').nth(1).unwrap_or_default();
            Some(host[dot..].trim_start_matches('.'))
        })
        .chain([AZURE_DOMAIN])
}

/// An address to which a key or trust may be bound; `what` names it in messages.
pub(crate) fn parse(what: &str, text: &str) -> Result<Url, Failure> {
    let invalid = |why: &str| {
        let failure = Failure::new(Code::SettingsInvalid, format!("{what} {why}"));
        Err(failure.with_next(Next::WriteAs("https://openrouter.ai/api/v1".into())))
    };
    if !text.contains("://") {
        return invalid("does not begin with `https://` or `http://`");
    }
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
        let message = format!("{what} uses plain http to `{}`", authority(&url));
        return Err(Failure::new(Code::InsecureUrl, message));
    }
    Ok(url)
}

pub(crate) fn authority(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"))
}

/// Whether a base URL leads to this machine. One that cannot be read does not.
pub fn is_loopback_url(base_url: &str) -> bool {
    Url::parse(base_url).is_ok_and(|url| is_loopback(&url))
}

/// Whether the host is this machine by its name alone, without name resolution.
pub(crate) fn is_loopback(url: &Url) -> bool {
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
    use futures_util::FutureExt;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

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
    fn a_vendor_is_known_by_its_domain_and_every_other_address_is_the_users_own() {
        for own in [
            "http://127.0.0.1:1/v1",
            "http://localhost:11434/v1",
            "https://models.company.example/v1",
            "https://10.0.0.7/v1",
            "https://notopenai.com/v1",
            "https://openai.com.example/v1",
        ] {
            assert!(endpoint(own).unwrap().is_users_own(), "{own}");
        }
        let defaults = Known::ALL.iter().filter(|known| !known.is_local()).map(|known| known.base_url);
        let regional = [
            "https://eu.openrouter.ai/api/v1",
            "https://OPENAI.com./v1",
            "https://mine.openai.azure.com/openai/v1",
        ];
        for vendor in defaults.filter(|url| !url.is_empty()).chain(regional) {
            assert!(!endpoint(vendor).unwrap().is_users_own(), "{vendor}");
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
            let url = endpoint(base).unwrap().url(&Address::path("chat/completions"));
            assert_eq!(url.as_str(), "https://a.b/v1/chat/completions");
        }
        let url = |address: Address| endpoint("https://a.b").unwrap().url(&address).to_string();
        assert_eq!(url(Address::path("models")), "https://a.b/models");
        let query = Address { query: Some("alt=sse".into()), ..Address::path("models/m:generate") };
        assert_eq!(url(query), "https://a.b/models/m:generate?alt=sse");
        assert_eq!(url(Address::path("models/../../x?key=y#z")), "https://a.b/models/x%3Fkey=y%23z");
        assert_eq!(endpoint("https://a.b:8443/v1").unwrap().authority(), "a.b:8443");
    }

    fn key(endpoint: &Endpoint) -> Result<Option<ApiKey>, Failure> {
        endpoint.key().now_or_never().unwrap()
    }

    #[test]
    fn a_key_is_needed_if_the_dialect_requires_one() {
        assert!(key(&endpoint("http://localhost:11434/v1").unwrap()).unwrap().is_none());
        let missing = |endpoint: Endpoint| {
            let failure = key(&endpoint).unwrap_err();
            assert_eq!(failure.code, Code::KeyMissing);
            assert_eq!(failure.message, "no API key is set for `test`");
            failure.next_steps().to_vec()
        };
        let elsewhere = || endpoint("https://a.b/v1").unwrap();
        assert_eq!(missing(elsewhere()), Code::KeyMissing.next());
        let advice = vec![Next::Set("work_key".into())];
        assert_eq!(missing(elsewhere().with_key_advice(advice.clone())), advice);
    }

    #[tokio::test(start_paused = true)]
    async fn a_key_is_fetched_once_and_a_missing_one_again_after_a_while() {
        let key_after = async |fetched: Result<Option<ApiKey>, Failure>| {
            let times = Arc::new(AtomicUsize::new(0));
            let counted = Arc::clone(&times);
            let fetch: KeyFetch = Box::new(move || {
                counted.fetch_add(1, Ordering::SeqCst);
                std::future::ready(fetched.clone()).boxed()
            });
            let endpoint = endpoint("https://a.b/v1").unwrap().with_key_fetch(fetch);
            let codes =
                [key(&endpoint), key(&endpoint)].map(|key| key.map(|_| ()).map_err(|failure| failure.code));
            let at_once = times.load(Ordering::SeqCst);
            tokio::time::advance(REFETCH_AFTER).await;
            let _ = key(&endpoint);
            (codes, at_once, times.load(Ordering::SeqCst))
        };
        assert_eq!(key_after(Ok(ApiKey::parse("some-key").unwrap())).await, ([Ok(()), Ok(())], 1, 1));
        let missing = [Err(Code::KeyMissing), Err(Code::KeyMissing)];
        assert_eq!(key_after(Ok(None)).await, (missing, 1, 2));
        let failed = Failure::new(Code::KeyMissing, "the keeper is locked");
        assert_eq!(key_after(Err(failed)).await, (missing, 1, 2));
    }
}
