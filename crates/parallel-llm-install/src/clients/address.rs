//! The address of an HTTP server as typed by the user: completed, or refused with a suggestion.
//!
//! No request is sent to it.

use parallel_llm_engine::value::next::Next;
use parallel_llm_engine::{Code, Failure};
use url::{Host, Url};

use super::entry::ENDPOINT;

/// An example address, if nothing better can be suggested.
const EXAMPLE: &str = "http://127.0.0.1:8930/mcp";
/// This machine, suggested for an address that means all networks.
const HERE: &str = "127.0.0.1";

/// The address for a client to connect to, and to send a token to. If there is no path, our endpoint's path is added;
/// any other path is an error.
pub fn address(typed: &str) -> Result<String, Failure> {
    let typed = typed.trim();
    if !typed.contains("://") {
        // `localhost:8930` would be parsed as an address with the scheme `localhost`.
        let meant = Url::parse(&format!("http://{typed}")).ok().filter(|_| !typed.starts_with('/'));
        return Err(refused("has no scheme", &meant.map_or_else(|| EXAMPLE.to_owned(), meant_by)));
    }
    let url = Url::parse(typed).map_err(|error| refused(&format!("cannot be read: {error}"), EXAMPLE))?;
    if !matches!(url.scheme(), "https" | "http") {
        return Err(refused("is neither https nor http", EXAMPLE));
    }
    let meant = meant_by(url.clone());
    if !url.username().is_empty() || url.password().is_some() || url.query().is_some() {
        let why = "may hold no user, password or query: a secret would be stored in the client's file";
        return Err(refused(why, &meant));
    }
    if is_everywhere(&url) {
        return Err(refused("is where a server listens, not where it is reached", &meant));
    }
    if url.scheme() == "http" && !is_here(&url) {
        let message = "the address given with `--http` would show the token to the network";
        return Err(Failure::new(Code::InsecureUrl, message).with_next(write(&meant)));
    }
    match url.path().trim_end_matches('/') {
        path if path.is_empty() || path.ends_with(ENDPOINT) => Ok(meant),
        path => Err(refused(&format!("leads to `{path}`, and this program answers at `{ENDPOINT}`"), &meant)),
    }
}

fn refused(why: &str, meant: &str) -> Failure {
    Failure::new(Code::Usage, format!("the address given with `--http` {why}")).with_next(write(meant))
}

fn write(meant: &str) -> Next {
    Next::WriteAs(meant.to_owned().into())
}

/// A suggestion for what was probably meant. It contains no secret and is not reachable from the network.
fn meant_by(mut url: Url) -> String {
    if is_everywhere(&url) {
        // These parts exist in every address of these schemes, so these calls cannot fail.
        let _ = url.set_host(Some(HERE));
    }
    if !is_here(&url) {
        let _ = url.set_scheme("https");
    }
    let _ = url.set_username("");
    let _ = url.set_password(None);
    url.set_query(None);
    url.set_fragment(None);
    let path = url.path().trim_end_matches('/').to_owned();
    url.set_path(if path.ends_with(ENDPOINT) { &path } else { ENDPOINT });
    url.into()
}

/// Whether the address is on this machine.
fn is_here(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => name == "localhost",
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    }
}

/// Whether it means all networks of a machine.
fn is_everywhere(url: &Url) -> bool {
    match url.host() {
        Some(Host::Ipv4(address)) => address.is_unspecified(),
        Some(Host::Ipv6(address)) => address.is_unspecified(),
        Some(Host::Domain(_)) | None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_made_whole_or_refused_with_what_to_type() {
        let result = |typed: &str| match address(typed) {
            Ok(address) => format!("{typed} -> {address}"),
            Err(failure) => format!("{typed} -> {}; {}", failure.message, failure.next_step()),
        };
        let rows = [
            "http://127.0.0.1:8930",
            "http://localhost:8930/mcp/",
            " HTTP://[::1]:8930/ ",
            "https://llm.example.com",
            "https://llm.example.com/of/us/mcp",
            "http://127.0.0.1:8930/#part",
            "http://127.0.0.1:8930/sse",
            "https://llm.example.com/mcp/v1",
            "http://llm.example.com:8930",
            "http://192.168.0.7/mcp",
            "http://0.0.0.0:8930/mcp",
            "http://[::]:8930",
            "localhost:8930",
            "llm.example.com",
            "127.0.0.1:8930/mcp",
            "https://me:0000@llm.example.com/mcp?token=0000",
            "ftp://llm.example.com/mcp",
            "http://",
            "http://127.0.0.1:99999/mcp",
            "",
            "/mcp",
        ];
        insta::assert_snapshot!(rows.map(result).join("\n"), @"
        http://127.0.0.1:8930 -> http://127.0.0.1:8930/mcp
        http://localhost:8930/mcp/ -> http://localhost:8930/mcp
         HTTP://[::1]:8930/  -> http://[::1]:8930/mcp
        https://llm.example.com -> https://llm.example.com/mcp
        https://llm.example.com/of/us/mcp -> https://llm.example.com/of/us/mcp
        http://127.0.0.1:8930/#part -> http://127.0.0.1:8930/mcp
        http://127.0.0.1:8930/sse -> the address given with `--http` leads to `/sse`, and this program answers at `/mcp`; write it like `http://127.0.0.1:8930/mcp`
        https://llm.example.com/mcp/v1 -> the address given with `--http` leads to `/mcp/v1`, and this program answers at `/mcp`; write it like `https://llm.example.com/mcp`
        http://llm.example.com:8930 -> the address given with `--http` would show the token to the network; write it like `https://llm.example.com:8930/mcp`
        http://192.168.0.7/mcp -> the address given with `--http` would show the token to the network; write it like `https://192.168.0.7/mcp`
        http://0.0.0.0:8930/mcp -> the address given with `--http` is where a server listens, not where it is reached; write it like `http://127.0.0.1:8930/mcp`
        http://[::]:8930 -> the address given with `--http` is where a server listens, not where it is reached; write it like `http://127.0.0.1:8930/mcp`
        localhost:8930 -> the address given with `--http` has no scheme; write it like `http://localhost:8930/mcp`
        llm.example.com -> the address given with `--http` has no scheme; write it like `https://llm.example.com/mcp`
        127.0.0.1:8930/mcp -> the address given with `--http` has no scheme; write it like `http://127.0.0.1:8930/mcp`
        https://me:0000@llm.example.com/mcp?token=0000 -> the address given with `--http` may hold no user, password or query: a secret would be stored in the client's file; write it like `https://llm.example.com/mcp`
        ftp://llm.example.com/mcp -> the address given with `--http` is neither https nor http; write it like `http://127.0.0.1:8930/mcp`
        http:// -> the address given with `--http` cannot be read: empty host; write it like `http://127.0.0.1:8930/mcp`
        http://127.0.0.1:99999/mcp -> the address given with `--http` cannot be read: invalid port number; write it like `http://127.0.0.1:8930/mcp`
         -> the address given with `--http` has no scheme; write it like `http://127.0.0.1:8930/mcp`
        /mcp -> the address given with `--http` has no scheme; write it like `http://127.0.0.1:8930/mcp`
        ");
    }
}
