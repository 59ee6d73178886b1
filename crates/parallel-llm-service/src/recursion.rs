//! Recursion: a panel that is asked by itself, through a model that is a server of this program.
//!
//! Every call to a server of the user's names the processes that its question passed through; a server that finds itself
//! among them refuses before anything is paid. A provider at an address of this very server is refused at planning.

use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, OnceLock};

use parallel_llm_engine::{Code, Failure};
use parallel_llm_settings::process;
use parallel_llm_settings::settings::ProviderSettings;
use url::{Host, Url};

/// The most servers of this program that a question may pass through. Two in a row are a set-up that somebody meant; a
/// longer way is a circle of servers of which one does not pass the way on.
const SERVERS_MAX: usize = 4;

/// The id of this process on such a way.
pub fn own_id() -> &'static str {
    process::id()
}

/// Fails for a question that passed through these servers if this one is among them, or if they are too many.
pub fn check(via: &[String]) -> Result<(), Failure> {
    if via.iter().any(|id| id == own_id()) {
        return Err(Failure::new(Code::Recursion, "the question comes from this server itself"));
    }
    if via.len() > SERVERS_MAX {
        let message = format!(
            "the question passed through {} servers of this program; at most {SERVERS_MAX}",
            via.len()
        );
        return Err(Failure::new(Code::Recursion, message));
    }
    Ok(())
}

/// The addresses that this process listens at, known once it does. Clones share them.
#[derive(Clone, Debug, Default)]
pub(crate) struct OwnAddresses(Arc<OnceLock<Listening>>);

#[derive(Debug)]
struct Listening {
    address: SocketAddr,
    /// The base URLs by which clients reach it.
    urls: Vec<Url>,
}

impl OwnAddresses {
    /// Notes where this process listens. The first address counts.
    pub(crate) fn set(&self, address: SocketAddr, urls: &[String]) {
        let urls = urls.iter().filter_map(|url| Url::parse(url).ok()).collect();
        // A process that serves twice is a library's, and each of its servers has services of its own.
        let _ = self.0.set(Listening { address, urls });
    }

    /// Whether a provider's address is one of this process.
    pub(crate) fn are_of(&self, provider: &ProviderSettings) -> bool {
        let Some(listening) = self.0.get() else { return false };
        provider
            .base_url
            .as_deref()
            .and_then(|url| Url::parse(url).ok())
            .is_some_and(|url| listening.is_at(&url))
    }
}

impl Listening {
    fn is_at(&self, url: &Url) -> bool {
        let port = url.port_or_known_default();
        let is_same = |own: &Url| own.host() == url.host() && own.port_or_known_default() == port;
        let is_loopback = match url.host() {
            Some(Host::Domain(name)) => name == "localhost",
            Some(Host::Ipv4(address)) => address.is_loopback(),
            Some(Host::Ipv6(address)) => address.is_loopback(),
            None => false,
        };
        let ip: IpAddr = self.address.ip();
        let is_here = is_loopback && (ip.is_loopback() || ip.is_unspecified());
        (is_here && port == Some(self.address.port())) || self.urls.iter().any(is_same)
    }
}

/// The failure for a provider at an address of this server.
pub(crate) fn own_address(provider: &ProviderSettings) -> Failure {
    Failure::new(Code::Recursion, format!("the base URL of `{}` is this server itself", provider.id))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_spelling_of_its_own_address_is_known() {
        let listening = |address: &str, urls: &[&str]| Listening {
            address: address.parse().unwrap(),
            urls: urls.iter().map(|url| url.parse().unwrap()).collect(),
        };
        let local = listening("127.0.0.1:8930", &["http://127.0.0.1:8930"]);
        let public = listening("0.0.0.0:443", &["https://llm.example.com"]);
        for (listening, url, expected) in [
            (&local, "http://127.0.0.1:8930/v1", true),
            (&local, "http://localhost:8930", true),
            (&local, "http://[::1]:8930/v1", true),
            (&local, "http://127.0.0.1:8931/v1", false),
            (&local, "https://llm.example.com:8930", false),
            (&public, "https://llm.example.com/v1", true),
            (&public, "https://localhost/v1", true),
            (&public, "https://llm.example.com:8443/v1", false),
            (&public, "https://other.example.com/v1", false),
        ] {
            assert_eq!(listening.is_at(&url.parse().unwrap()), expected, "{url}");
        }
    }
}
