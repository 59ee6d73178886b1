//! Conditions for listening on an address that others can reach: tokens, and encryption for them.

use parallel_llm_engine::value::next::{Blank, Next, When};
use parallel_llm_engine::{Code, Failure};

use crate::{Access, Config};

/// The flags of the two ways to encrypt tokens.
const TLS: &str = "--tls-cert FILE --tls-key FILE";
const PROXY: &str = "--behind-proxy";
/// The sample name of the server in suggestions.
const SAMPLE: &str = "llm.example.com";
/// Fails for a configuration that would admit strangers, with a command that would not.
pub(crate) fn check(config: &Config) -> Result<(), Failure> {
    let address = config.address;
    let is_local = address.ip().is_loopback();
    let is_open = matches!(config.access, Access::Open(_));
    if is_open && config.behind_proxy {
        let message = "behind a proxy others reach the server, so it cannot be open to everyone";
        return Err(refused(message, [command(config, PROXY, When::WithToken)]));
    }
    if is_open && !is_local {
        let message =
            format!("`{address}` can be reached from other machines, so it cannot be open to everyone");
        return Err(refused(message, [command(config, TLS, When::WithToken)]));
    }
    if !is_local && config.tls.is_none() && !config.behind_proxy {
        let message = format!(
            "`{address}` can be reached from other machines, and without TLS tokens can be read on the way"
        );
        let here = Next::Serve {
            command: format!("parallel-llm-mcp serve --http 127.0.0.1:{}", address.port()).into(),
            when: When::ThisMachineAlone,
            blanks: Vec::new(),
        };
        let ways = [command(config, TLS, When::Always), command(config, PROXY, When::BehindProxy), here];
        return Err(refused(message, ways));
    }
    let needs_names = config.behind_proxy || address.ip().is_unspecified();
    if needs_names && config.hosts.is_empty() {
        let message = "the names that clients call the server by are not known, so none would be let in";
        let flags = if config.behind_proxy { PROXY } else { TLS };
        return Err(refused(message, [command(config, flags, When::Always)]));
    }
    Ok(())
}

/// A warning about an accepted address.
pub(crate) fn risk(config: &Config) -> Option<String> {
    let address = config.address;
    (config.behind_proxy && config.tls.is_none() && !address.ip().is_loopback()).then(|| {
        format!(
            "`{address}` can be reached from other machines without the proxy, and then tokens and answers can be read on the way: let only the proxy reach it, or listen on `127.0.0.1:{}`",
            address.port()
        )
    })
}

/// A next step: the command with these flags.
fn command(config: &Config, flags: &str, when: When) -> Next {
    let address = config.address;
    let needs_names = flags == PROXY || address.ip().is_unspecified();
    let lacks_names = needs_names && config.hosts.is_empty();
    let names = if config.hosts.is_empty() { SAMPLE.to_owned() } else { config.hosts.join(",") };
    let names = if needs_names { format!("PARALLEL_LLM_HTTP_HOSTS={names} ") } else { String::new() };
    let name = lacks_names.then_some(Blank::ServerName);
    let files = (flags == TLS).then_some(Blank::Files);
    Next::Serve {
        command: format!("{names}parallel-llm-mcp serve --http {address} {flags}").into(),
        when,
        blanks: name.into_iter().chain(files).collect(),
    }
}

fn refused(message: impl AsRef<str>, ways: impl Into<Vec<Next>>) -> Failure {
    Failure::new(Code::SettingsInvalid, message).with_next(ways)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::TlsFiles;

    /// Checks the result for a server at this address: `o`pen, `t`ls, `p`roxy, `h`osts.
    fn check_all(address: &str, with: &str) -> String {
        let nobody: crate::Check =
            Arc::new(|_| Box::pin(async { Err(Failure::new(Code::TokenRefused, "no")) }));
        let access = if with.contains('o') { Access::Open(nobody) } else { Access::Tokens(nobody) };
        let mut config = Config::new(address.parse().unwrap(), access);
        config.tls = with.contains('t').then(|| TlsFiles { certificate: "c".into(), key: "k".into() });
        config.behind_proxy = with.contains('p');
        config.hosts = with.contains('h').then(|| "llm.example.com".to_owned()).into_iter().collect();
        check(&config).map_or_else(|failure| failure.message, |()| "served".to_owned())
    }

    /// CVE-2026-108760: a server that listened on all addresses despite its configuration.
    #[test]
    fn an_address_that_others_reach_needs_tokens_and_secrecy() {
        let open = "so it cannot be open to everyone";
        let plain = "without TLS tokens can be read on the way";
        let nameless = "the names that clients call the server by are not known";
        let cases = [
            ("127.0.0.1:0", "o", "served"),
            ("127.0.0.1:0", "", "served"),
            ("[::1]:0", "o", "served"),
            ("127.0.0.2:0", "t", "served"),
            ("127.0.0.1:0", "p", nameless),
            ("127.0.0.1:0", "ph", "served"),
            ("127.0.0.1:0", "oph", open),
            ("0.0.0.0:0", "", plain),
            ("0.0.0.0:0", "o", open),
            ("0.0.0.0:0", "oth", open),
            ("0.0.0.0:0", "t", nameless),
            ("0.0.0.0:0", "th", "served"),
            ("[::]:0", "ph", "served"),
            ("[::]:0", "h", plain),
            ("192.0.2.1:0", "t", "served"),
            ("192.0.2.1:0", "", plain),
            ("192.0.2.1:0", "p", nameless),
        ];
        for (address, with, expected) in cases {
            let message = check_all(address, with);
            assert!(message.contains(expected), "{address} {with}: {message}");
        }
    }
}
