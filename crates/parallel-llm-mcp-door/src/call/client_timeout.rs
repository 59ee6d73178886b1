//! The tool timeout of each MCP client.
//!
//! Most clients count from the call and ignore progress. A timeout that a user set in the client is not visible here;
//! the setting `client_wall_ms` declares it.

use std::time::Duration;

use parallel_llm_service::CLIENT_TIMEOUT_UNKNOWN;

/// A known client.
struct Client {
    /// Its name for itself in lower case; with `*` at the end, a prefix of it.
    name: &'static str,
    /// Its default timeout in seconds; `None` for none.
    timeout_s: Option<u64>,
    #[cfg_attr(
        not(test),
        expect(dead_code, reason = "only the documentation shows it, and a test compares the two")
    )]
    source: Source,
}

/// The source of a timeout.
#[derive(Clone, Copy)]
enum Source {
    /// Measured with the client.
    Measured,
    /// The client's documentation or its code.
    Documentation,
    /// Reports of its users, if there is nothing better.
    Reports,
}

const CLIENTS: [Client; 13] = [
    client("claude-code*", None, Source::Measured),
    client("codex*", Some(300), Source::Measured),
    // The name that the Python SDK gives to programs without one.
    client("mcp", None, Source::Measured),
    client("claude-ai*", Some(240), Source::Reports),
    client("claude desktop*", Some(240), Source::Reports),
    client("cursor*", Some(60), Source::Reports),
    client("opencode*", Some(60), Source::Reports),
    client("cline*", Some(60), Source::Documentation),
    client("gemini-cli*", Some(600), Source::Documentation),
    client("goose*", Some(300), Source::Documentation),
    client("visual studio code*", None, Source::Documentation),
    client("visual-studio-code*", None, Source::Documentation),
    client("zed*", Some(60), Source::Documentation),
];

const fn client(name: &'static str, timeout_s: Option<u64>, source: Source) -> Client {
    Client { name, timeout_s, source }
}

impl Client {
    fn is(&self, name: &str) -> bool {
        match self.name.strip_suffix('*') {
            Some(beginning) => name.starts_with(beginning),
            None => name == self.name,
        }
    }
}

/// The timeout of this client. A configured one applies to every client.
pub(super) fn of_client(name: Option<&str>, set_ms: Option<u64>) -> Option<Duration> {
    if let Some(ms) = set_ms {
        return Some(Duration::from_millis(ms));
    }
    let name = name.unwrap_or_default().to_lowercase();
    let known = CLIENTS.iter().find(|client| client.is(&name));
    // Unknown clients probably have the default of the TypeScript SDK, on which most are built.
    known.map_or(Some(CLIENT_TIMEOUT_UNKNOWN), |client| client.timeout_s.map(Duration::from_secs))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_client_has_its_timeout() {
        let seconds = |name| of_client(name, None).map(|timeout| timeout.as_secs());
        assert_eq!(seconds(Some("codex-mcp-client")), Some(300));
        assert_eq!(seconds(Some("claude-ai")), Some(240));
        assert_eq!(seconds(Some("claude-code")), None);
        assert_eq!(seconds(Some("Visual Studio Code - Insiders")), None);
        assert_eq!(seconds(Some("gemini-cli-mcp-client")), Some(600));
        assert_eq!(seconds(Some("Zed")), Some(60));
        assert_eq!([Some("mcp"), Some("mcp-remote"), None].map(seconds), [None, Some(60), Some(60)]);
        assert_eq!(of_client(Some("claude-code"), Some(2_000)), Some(Duration::from_secs(2)));
    }

    #[test]
    fn the_documentation_lists_the_same_clients_and_timeouts() {
        let limit = |timeout_s: Option<u64>| {
            timeout_s.map_or_else(|| "none".to_owned(), |timeout| format!("{timeout} s"))
        };
        let row = |client: &Client| {
            let source = match client.source {
                Source::Measured => "measured",
                Source::Documentation => "documentation",
                Source::Reports => "reports",
            };
            format!("| `{}` | {} | {source} |\n", client.name.replace('*', "..."), limit(client.timeout_s))
        };
        let rows: String = CLIENTS.iter().map(row).collect();
        let table = format!(
            "{rows}| anything else | {} | the TypeScript SDK's default |\n",
            limit(Some(CLIENT_TIMEOUT_UNKNOWN.as_secs()))
        );
        let page = include_str!("../../../../docs/mcp.md");
        assert!(page.contains(&table), "docs/mcp.md is to hold:\n{table}");
    }
}
