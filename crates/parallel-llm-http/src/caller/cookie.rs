//! The cookie of a session: its name, its attributes, and its value in a request.
//!
//! Browsers share cookies among all ports of a host and let any of its pages set them. Invariants: the name contains
//! the port, unless https gives the cookie to this host alone; a request with two of that name has none, because one
//! of them may be planted.

use std::net::SocketAddr;

use axum::http::{HeaderMap, HeaderValue, header};

/// The name where https protects the cookie. Browsers accept the prefix only with `Secure`, with `Path=/` and without
/// `Domain`, so no other host can set it.
const SECURE_NAME: &str = "__Host-parallel-llm";

/// The cookie of the sessions of one server.
#[derive(Debug)]
pub(crate) struct Cookie {
    name: String,
    is_secure: bool,
}

impl Cookie {
    /// The cookie of a server at this address, which browsers call over https or not.
    pub(crate) fn new(address: SocketAddr, is_secure: bool) -> Self {
        let name =
            if is_secure { SECURE_NAME.to_owned() } else { format!("parallel-llm-{}", address.port()) };
        Self { name, is_secure }
    }

    /// The `Set-Cookie` that gives a browser this value for so many seconds; zero removes the cookie. Its value cannot
    /// be printed.
    pub(super) fn set(&self, value: &str, seconds: u64) -> HeaderValue {
        let secure = if self.is_secure { "; Secure" } else { "" };
        let name = &self.name;
        let text = format!("{name}={value}; Path=/; Max-Age={seconds}; HttpOnly; SameSite=Strict{secure}");
        let mut set = HeaderValue::try_from(text).expect("the value is hexadecimal digits");
        set.set_sensitive(true);
        set
    }

    /// The values that a request brings under this name.
    pub(super) fn values<'a>(&self, headers: &'a HeaderMap) -> impl Iterator<Item = &'a str> {
        let lines = headers.get_all(header::COOKIE).iter().filter_map(|line| line.to_str().ok());
        let pairs = lines.flat_map(|line| line.split(';')).filter_map(|pair| pair.trim().split_once('='));
        pairs.filter(|(name, _)| *name == self.name).map(|(_, value)| value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(port: u16) -> SocketAddr {
        SocketAddr::from(([127, 0, 0, 1], port))
    }

    #[test]
    fn it_belongs_to_one_port_or_is_secure() {
        let set = |cookie: Cookie| cookie.set("abc", 60).to_str().unwrap().to_owned();
        let attributes = "=abc; Path=/; Max-Age=60; HttpOnly; SameSite=Strict";
        assert_eq!(set(Cookie::new(at(8930), false)), format!("parallel-llm-8930{attributes}"));
        assert_eq!(set(Cookie::new(at(8930), true)), format!("__Host-parallel-llm{attributes}; Secure"));
        assert!(!format!("{:?}", Cookie::new(at(1), true).set("abc", 1)).contains("abc"));
    }

    #[test]
    fn all_values_of_its_name_are_found() {
        let check = |lines: &[&str], expected: &[&str]| {
            let headers = lines.iter().map(|line| (header::COOKIE, line.parse().unwrap())).collect();
            let cookie = Cookie::new(at(8930), false);
            assert_eq!(cookie.values(&headers).collect::<Vec<_>>(), expected, "{lines:?}");
        };
        check(&[], &[]);
        check(&["parallel-llm-8930=a"], &["a"]);
        check(&["theme=dark; parallel-llm-8930=a;other"], &["a"]);
        check(&["parallel-llm-8931=a; parallel-llm-893=b; Parallel-LLM-8930=c"], &[]);
        check(&["parallel-llm-8930=a; parallel-llm-8930=b"], &["a", "b"]);
        check(&["parallel-llm-8930=a", "parallel-llm-8930=a"], &["a", "a"]);
        check(&["x=parallel-llm-8930=a"], &[]);
    }
}
