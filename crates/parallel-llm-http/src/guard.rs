//! The guard: admits requests that name this server as host and come from no foreign page.
//!
//! A page in a browser reaches this machine like any program on it. It cannot choose its `Host` freely (a DNS name that
//! leads here stays that name) nor hide its `Origin`, so both are checked first. Pages of listed origins are admitted,
//! and may read the answers; see `cors`. Whoever follows a link on a foreign page reaches the pages of a door as a
//! stranger: the browser may bring a cookie, but it is removed.

use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::sync::Arc;

use axum::extract::Request;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, header};
use axum::response::Response;
use parallel_llm_engine::value::next::Next;
use parallel_llm_engine::{Code, Failure};

use super::Config;
use crate::answer::failure;
use crate::answer::refusal::Refusal;
use crate::answer::status::Fault;
use crate::doors::cors::{self, Cors};
use crate::doors::paths::Paths;
use parallel_llm_engine::text::safe;

/// The header with the site of a browser's request.
const FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");
/// The headers with the mode and the destination of a browser's request.
const FETCH_MODE: HeaderName = HeaderName::from_static("sec-fetch-mode");
const FETCH_DEST: HeaderName = HeaderName::from_static("sec-fetch-dest");
/// The longest excerpt of a foreign host or origin in a message, in characters.
const SHOWN_CHARS_MAX: usize = 80;

/// The host names of this server, and the origins that may call it.
#[derive(Debug)]
pub(super) struct Names {
    hosts: Vec<Name>,
    origins: Vec<String>,
    /// The base URLs for the host names of the settings.
    urls: Vec<String>,
}

/// A host name of the server.
#[derive(Debug)]
struct Name {
    scheme: &'static str,
    host: String,
    /// `None` for any port.
    port: Option<u16>,
}

/// Why a request is refused.
#[derive(Debug, PartialEq, Eq)]
enum Rejection {
    /// A request that no well-meaning client sends.
    Malformed(&'static str),
    Host(String),
    Origin(String),
    Site,
}

/// The first check of every request.
pub(super) struct Guard {
    pub(super) names: Names,
    pub(super) cors: Cors,
    /// The doors to which links on foreign pages may lead; `None` if strangers would act for the owner.
    pub(super) linked: Option<Arc<Paths>>,
}

impl Guard {
    /// Admits a request or refuses it; returns the origin of a page that may read the answer.
    pub(super) fn check(&self, request: &mut Request) -> Result<Option<HeaderValue>, Refusal> {
        let checked = self.names.check(request);
        if checked == Err(Rejection::Site) && self.is_link(request) {
            for proof in [header::COOKIE, header::AUTHORIZATION] {
                request.headers_mut().remove(proof);
            }
            return Ok(None);
        }
        let origin = checked.map_err(Rejection::refuse)?;
        if let Some(origin) = &origin {
            if cors::is_preflight(request) {
                return Err(self.cors.open(self.cors.preflight(), origin.clone()).into());
            }
            // A listed page asks with a token of its own, never with the session of who looks at it.
            if !has_only(request, FETCH_SITE, "same-origin") {
                request.headers_mut().remove(header::COOKIE);
            }
        }
        Ok(origin)
    }

    /// Whether a person follows a link to a page: the request fills a tab, and changes nothing.
    fn is_link(&self, request: &Request) -> bool {
        let is_page = |paths: &Arc<Paths>| paths.sign_in(request.uri().path()).is_some();
        request.method() == Method::GET
            && has_only(request, FETCH_MODE, "navigate")
            && has_only(request, FETCH_DEST, "document")
            && self.linked.as_ref().is_some_and(is_page)
    }
}

/// Whether a request has this header once, with this value.
fn has_only(request: &Request, name: HeaderName, expected: &str) -> bool {
    let mut values = request.headers().get_all(name).iter();
    values.next().is_some_and(|value| value == expected) && values.next().is_none()
}

impl Names {
    /// The names of a server at this address.
    pub(super) fn new(address: SocketAddr, config: &Config) -> Result<Self, Failure> {
        let own = if config.tls.is_some() { "https" } else { "http" };
        let public = if config.behind_proxy { "https" } else { own };
        let mut hosts = vec!["127.0.0.1".to_owned(), "localhost".to_owned(), "[::1]".to_owned()];
        if !address.ip().is_unspecified() {
            hosts.push(match address.ip() {
                IpAddr::V4(ip) => ip.to_string(),
                IpAddr::V6(ip) => format!("[{ip}]"),
            });
        }
        let mut names: Vec<Name> =
            hosts.into_iter().map(|host| Name { scheme: own, host, port: Some(address.port()) }).collect();
        let mut urls = Vec::new();
        for text in &config.hosts {
            let (host, port) =
                authority(text).ok_or_else(|| misread("http_hosts", text, "llm.example.com"))?;
            // Behind a proxy it is the proxy's port, the default one unless named.
            let at = if config.behind_proxy { port } else { port.or(Some(address.port())) };
            let at = at.filter(|port| *port != usual_port(public)).map(|port| format!(":{port}"));
            urls.push(format!("{public}://{host}{}", at.unwrap_or_default()));
            names.push(Name { scheme: public, host, port });
        }
        for text in &config.origins {
            let is_origin = text.split_once("://").is_some_and(|(_, rest)| authority(rest).is_some());
            if !is_origin {
                return Err(misread("http_origins", text, "https://llm.example.com"));
            }
        }
        let origins = config.origins.iter().map(|origin| origin.to_ascii_lowercase()).collect();
        Ok(Self { hosts: names, origins, urls })
    }

    /// The base URLs for the host names of the settings, such as `https://llm.example.com`.
    pub(super) fn urls(&self) -> &[String] {
        &self.urls
    }

    /// Checks host and origin; returns the origin of a page that may read the answer.
    fn check(&self, request: &Request) -> Result<Option<HeaderValue>, Rejection> {
        if request.uri().authority().is_some() || request.uri().scheme().is_some() {
            return Err(Rejection::Malformed("the target of a request is a path here, not an address"));
        }
        let headers = request.headers();
        self.check_host(headers)?;
        for origin in headers.get_all(header::ORIGIN) {
            if !origin.to_str().is_ok_and(|origin| self.has_origin(origin)) {
                return Err(Rejection::Origin(shown(origin)));
            }
        }
        let mut origins = headers.get_all(header::ORIGIN).iter();
        let only = origins.next().filter(|_| origins.next().is_none());
        if let Some(listed) = only.filter(|origin| self.lists(origin)) {
            // Its browser reports a cross-site request, which the list allows.
            return Ok(Some(listed.clone()));
        }
        let from_here = |site: &HeaderValue| matches!(site.as_bytes(), b"same-origin" | b"none");
        headers.get_all(FETCH_SITE).iter().all(from_here).then_some(None).ok_or(Rejection::Site)
    }

    fn check_host(&self, headers: &HeaderMap) -> Result<(), Rejection> {
        let mut hosts = headers.get_all(header::HOST).iter();
        let (Some(value), None) = (hosts.next(), hosts.next()) else {
            return Err(Rejection::Malformed("a request names its host exactly once"));
        };
        let host = value.to_str().ok().and_then(authority);
        let host = host.ok_or(Rejection::Malformed("the `Host` of the request cannot be read"))?;
        let known = self.hosts.iter().any(|name| name.is(&host.0, host.1));
        known.then_some(()).ok_or_else(|| Rejection::Host(shown(value)))
    }

    fn lists(&self, origin: &HeaderValue) -> bool {
        let origin = origin.to_str().map(str::to_ascii_lowercase);
        origin.is_ok_and(|origin| self.origins.contains(&origin))
    }

    fn has_origin(&self, origin: &str) -> bool {
        let origin = origin.to_ascii_lowercase();
        let own = || {
            let (scheme, rest) = origin.split_once("://")?;
            let (host, port) = authority(rest)?;
            self.hosts.iter().find(|name| name.scheme == scheme && name.is(&host, port))
        };
        self.origins.contains(&origin) || own().is_some()
    }
}

impl Name {
    fn is(&self, host: &str, port: Option<u16>) -> bool {
        self.host == host
            && self.port.is_none_or(|mine| mine == port.unwrap_or_else(|| usual_port(self.scheme)))
    }
}

/// The default port of a scheme.
fn usual_port(scheme: &str) -> u16 {
    if scheme == "https" { 443 } else { 80 }
}

impl Rejection {
    fn refuse(self) -> Response {
        let refused = |message: String| Failure::new(Code::HostRefused, message);
        let message = match self {
            Self::Malformed(why) => return failure::refusal(Fault::Malformed, &refused(why.to_owned())),
            Self::Host(host) => format!("the host `{host}` is not served here"),
            Self::Origin(origin) => format!("pages of the origin `{origin}` may not ask here"),
            Self::Site => "pages of other sites may not ask here".to_owned(),
        };
        failure::response(&refused(message))
    }
}

/// A host in lower case with its port; `None` if there is anything else, such as a user, a path, or an ambiguous
/// spelling.
fn authority(text: &str) -> Option<(String, Option<u16>)> {
    let (host, rest) = if let Some(inner) = text.strip_prefix('[') {
        let (ip, rest) = inner.split_once(']')?;
        (format!("[{}]", ip.parse::<Ipv6Addr>().ok()?), rest)
    } else {
        let (host, rest) = text.split_at(text.find(':').unwrap_or(text.len()));
        let is_name = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_');
        if host.is_empty() || !host.bytes().all(is_name) {
            return None;
        }
        (host.to_ascii_lowercase(), rest)
    };
    if rest.is_empty() {
        return Some((host, None));
    }
    let digits = rest.strip_prefix(':')?;
    // Only the canonical form of a number: no sign, no leading zero.
    let is_plain = digits.bytes().all(|byte| byte.is_ascii_digit()) && !digits.starts_with('0');
    is_plain.then(|| digits.parse().ok()).flatten().map(|port| (host, Some(port)))
}

fn shown(value: &HeaderValue) -> String {
    safe::excerpt(&String::from_utf8_lossy(value.as_bytes()), SHOWN_CHARS_MAX)
}

fn misread(setting: &str, text: &str, example: &str) -> Failure {
    let message = format!("`{setting}` cannot have `{text}`");
    Failure::new(Code::SettingsInvalid, message).with_next(Next::WriteAs(example.to_owned().into()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Access;

    fn nobody() -> Access {
        Access::Open(Arc::new(|_| Box::pin(async { Err(Failure::new(Code::TokenRefused, "no")) })))
    }

    fn names(change: impl FnOnce(&mut Config)) -> Names {
        let address = "127.0.0.1:8930".parse().unwrap();
        let mut config = Config::new(address, nobody());
        change(&mut config);
        Names::new(address, &config).unwrap()
    }

    fn described(names: &Names, target: &str, headers: &[(&str, &str)]) -> String {
        let request =
            headers.iter().fold(Request::get(target), |request, (name, value)| request.header(*name, *value));
        let looked = names.check(&request.body(axum::body::Body::empty()).unwrap());
        looked.map_or_else(|rejection| format!("{rejection:?}"), |_| "ours".to_owned())
    }

    #[test]
    fn an_authority_is_read_in_one_way_only() {
        let cases = [
            ("127.0.0.1:8930", Some(("127.0.0.1", Some(8930)))),
            ("LocalHost", Some(("localhost", None))),
            ("[::1]:80", Some(("[::1]", Some(80)))),
            ("[0:0:0:0:0:0:0:1]", Some(("[::1]", None))),
            ("localhost:", None),
            ("localhost:+8930", None),
            ("localhost:08930", None),
            ("localhost:65536", None),
            ("localhost:80:80", None),
            ("user@localhost", None),
            ("localhost/", None),
            ("localhost, evil.example", None),
            ("[::1", None),
            ("[::1]x", None),
            ("::1", None),
            ("", None),
        ];
        for (text, expected) in cases {
            let expected = expected.map(|(host, port)| (host.to_owned(), port));
            assert_eq!(authority(text), expected, "{text}");
        }
    }

    #[test]
    fn names_and_origins_of_the_settings_are_served_too() {
        let names = names(|config| {
            config.behind_proxy = true;
            config.hosts = vec!["llm.example.com".to_owned(), "Other.example:8443".to_owned()];
            config.origins = vec!["app-file://App".to_owned()];
        });
        let check = |host, origin, expected: &str| {
            assert_eq!(
                described(&names, "/mcp", &[("host", host), ("origin", origin)]),
                expected,
                "{host} {origin}"
            );
        };
        check("llm.example.com", "https://llm.example.com", "ours");
        check("LLM.example.com:9999", "app-file://app", "ours");
        check("other.example:8443", "https://other.example:8443", "ours");
        check("127.0.0.1:8930", "http://127.0.0.1:8930", "ours");
        check("other.example", "https://llm.example.com", "Host(\"other.example\")");
        check("llm.example.com", "http://llm.example.com", "Origin(\"http://llm.example.com\")");
        check("llm.example.com", "https://127.0.0.1:8930", "Origin(\"https://127.0.0.1:8930\")");
        check("llm.example.com", "null", "Origin(\"null\")");
    }

    #[test]
    fn a_port_that_is_left_out_is_the_usual_one() {
        let address = "127.0.0.1:80".parse().unwrap();
        let names = Names::new(address, &Config::new(address, nobody())).unwrap();
        assert_eq!(described(&names, "/", &[("host", "127.0.0.1"), ("origin", "http://localhost")]), "ours");
        assert_eq!(described(&names, "/", &[("host", "127.0.0.1:81")]), "Host(\"127.0.0.1:81\")");
    }

    #[test]
    fn targets_that_are_addresses_are_refused() {
        let names = names(|_| ());
        let refused = "Malformed(\"the target of a request is a path here, not an address\")";
        let host = [("host", "127.0.0.1:8930")];
        assert_eq!(described(&names, "http://127.0.0.1:8930/mcp", &host), refused);
        assert_eq!(described(&names, "127.0.0.1:8930", &host), refused);
        assert_eq!(described(&names, "/mcp", &host), "ours");
    }

    #[test]
    fn settings_that_are_no_names_are_refused() {
        let address = "127.0.0.1:0".parse().unwrap();
        let refused = |hosts: &[&str], origins: &[&str]| {
            let mut config = Config::new(address, nobody());
            config.hosts = hosts.iter().map(|&host| host.to_owned()).collect();
            config.origins = origins.iter().map(|&origin| origin.to_owned()).collect();
            Names::new(address, &config).unwrap_err().message
        };
        assert_eq!(refused(&["https://a.example"], &[]), "`http_hosts` cannot have `https://a.example`");
        assert_eq!(refused(&[], &["a.example"]), "`http_origins` cannot have `a.example`");
        assert_eq!(refused(&[], &["null"]), "`http_origins` cannot have `null`");
        assert_eq!(refused(&[], &["https://a.example/"]), "`http_origins` cannot have `https://a.example/`");
    }
}
