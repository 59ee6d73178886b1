//! Facts about the host that are not settings: home, user, proxies, text encoding.
//!
//! They are only shown. Invariant: no proxy's user name or password is stored here.

use std::path::PathBuf;

use url::Url;

use super::environment::{EXCEPTIONS, Environment, LOCALES, PROXIES, USERS};

/// Facts about the host.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HostInfo {
    /// The user's home folder, if known.
    pub home: Option<PathBuf>,
    /// The user's name, if the environment has it.
    pub user: Option<String>,
    /// The proxy for remote hosts, if one is set.
    pub proxy: Option<Proxy>,
    /// The variable that names hosts reached without the proxy, if it is set.
    pub exceptions: Option<&'static str>,
}

/// A proxy in the environment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proxy {
    /// The variable that sets it.
    pub variable: &'static str,
    /// Its address without credentials; `None` if it cannot be parsed.
    pub address: Option<String>,
    /// Whether the variable contains a user name or password.
    pub has_credentials: bool,
}

impl HostInfo {
    /// The facts in this environment.
    pub fn of(environment: &Environment) -> Self {
        let set = |name: &&'static str| environment.readable(name).is_some();
        let proxy = PROXIES.into_iter().find_map(|name| Some(Proxy::of(name, environment.readable(name)?)));
        Self {
            home: environment.folders().map(|folders| folders.home.clone()),
            user: USERS.into_iter().find_map(|name| environment.readable(name)).map(str::to_owned),
            proxy,
            exceptions: EXCEPTIONS.into_iter().find(set),
        }
    }
}

impl Proxy {
    fn of(variable: &'static str, text: &str) -> Self {
        // The HTTP client reads an address without a scheme as plain HTTP.
        let text = if text.contains("://") { text.to_owned() } else { format!("http://{text}") };
        let url = Url::parse(&text).ok().filter(Url::has_host);
        let has_credentials =
            url.as_ref().is_some_and(|url| !url.username().is_empty() || url.password().is_some());
        let address = url.and_then(|url| {
            let port = url.port().map(|port| format!(":{port}")).unwrap_or_default();
            Some(format!("{}://{}{port}", url.scheme(), url.host_str()?))
        });
        Self { variable, address, has_credentials }
    }
}

impl Environment {
    /// Whether the terminal shows UTF-8; `None` if unknown.
    pub fn is_utf8(&self) -> Option<bool> {
        let locale = LOCALES.into_iter().find_map(|name| self.readable(name))?.to_lowercase();
        Some(locale.contains("utf-8") || locale.contains("utf8"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn proxy(variables: &[(&str, &str)]) -> Option<Proxy> {
        let with = |environment: Environment, (name, value): &(&str, &str)| environment.with(name, *value);
        HostInfo::of(&variables.iter().fold(Environment::default(), with)).proxy
    }

    #[test]
    fn a_proxy_is_shown_without_its_password() {
        let named = |variable, address: Option<&str>, has_credentials| {
            Some(Proxy { variable, address: address.map(str::to_owned), has_credentials })
        };
        for (value, address, has_credentials) in [
            ("http://proxy.example:3128", Some("http://proxy.example:3128"), false),
            ("http://me:hidden@proxy.example:3128/", Some("http://proxy.example:3128"), true),
            ("me:hidden@proxy.example", Some("http://proxy.example"), true),
            ("socks5://[::1]:1080", Some("socks5://[::1]:1080"), false),
            ("http://a b:hidden@", None, false),
        ] {
            let shown = proxy(&[("HTTPS_PROXY", value)]);
            assert_eq!(shown, named("HTTPS_PROXY", address, has_credentials), "{value}");
            assert!(!format!("{shown:?}").contains("hidden"), "{shown:?}");
        }
        let two = [("all_proxy", "http://a"), ("https_proxy", "http://b")];
        assert_eq!(proxy(&two), named("https_proxy", Some("http://b"), false));
        assert_eq!(proxy(&[("HTTPS_PROXY", " ")]), None);
    }

    #[test]
    fn the_locale_determines_whether_text_is_utf8() {
        let is_utf8 = |name: &str, value: &str| Environment::default().with(name, value).is_utf8();
        let utf8 = [
            is_utf8("LANG", "en_GB.UTF-8"),
            is_utf8("LC_ALL", "C.utf8"),
            is_utf8("LANG", "C"),
            is_utf8("LANG", ""),
        ];
        assert_eq!(utf8, [Some(true), Some(true), Some(false), None]);
    }
}
