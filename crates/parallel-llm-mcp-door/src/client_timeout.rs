//! How long a client waits for a tool before it gives up, and when to answer so that it does not.
//!
//! Most clients count from the call and ignore progress, so the only answer that arrives is one that comes before
//! their wall. The run goes on behind it. What a user set in the client for this server cannot be seen from here; the
//! setting `client_wall_ms` says it.

use std::time::Duration;

/// Where a client's name tells nothing: the default of the TypeScript SDK, which most clients are made with.
const UNKNOWN_S: u64 = 60;

/// The part of the wall that is used: the rest is for the way back and for clients that count from earlier.
const SOFT_PERCENT: u32 = 85;

/// What is known of a client.
struct Client {
    /// The name that it gives itself, in lower case; with `*` at the end, the beginning of it.
    name: &'static str,
    /// How long it waits by default, in seconds; `None` waits as long as it takes.
    wall_s: Option<u64>,
    #[cfg_attr(
        not(test),
        expect(dead_code, reason = "only the page tells it, which is compared with this table")
    )]
    source: Source,
}

/// Where that is known from.
#[derive(Clone, Copy)]
enum Source {
    /// Tried.
    Measured,
    /// The client's documentation or its code.
    Documentation,
    /// What its users tell, where nothing else is to be had.
    Reports,
}

const CLIENTS: [Client; 13] = [
    client("claude-code*", None, Source::Measured),
    client("codex*", Some(300), Source::Measured),
    // The name that the Python SDK gives a program which gives itself none.
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

const fn client(name: &'static str, wall_s: Option<u64>, source: Source) -> Client {
    Client { name, wall_s, source }
}

impl Client {
    fn is(&self, name: &str) -> bool {
        match self.name.strip_suffix('*') {
            Some(beginning) => name.starts_with(beginning),
            None => name == self.name,
        }
    }
}

/// When this client gives up. What the user set holds for every client.
pub(super) fn of_client(name: Option<&str>, set_ms: Option<u64>) -> Option<Duration> {
    if let Some(ms) = set_ms {
        return Some(Duration::from_millis(ms));
    }
    let name = name.unwrap_or_default().to_lowercase();
    let known = CLIENTS.iter().find(|client| client.is(&name));
    known.map_or(Some(UNKNOWN_S), |client| client.wall_s).map(Duration::from_secs)
}

/// When to answer at the latest before such a wall.
pub(super) fn soft(wall: Duration) -> Duration {
    wall * SOFT_PERCENT / 100
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_client_has_its_wall() {
        let seconds = |name| of_client(name, None).map(|wall| wall.as_secs());
        assert_eq!(seconds(Some("codex-mcp-client")), Some(300));
        assert_eq!(seconds(Some("claude-ai")), Some(240));
        assert_eq!(seconds(Some("claude-code")), None);
        assert_eq!(seconds(Some("Visual Studio Code - Insiders")), None);
        assert_eq!(seconds(Some("gemini-cli-mcp-client")), Some(600));
        assert_eq!(seconds(Some("Zed")), Some(60));
        assert_eq!([Some("mcp"), Some("mcp-remote"), None].map(seconds), [None, Some(60), Some(60)]);
        assert_eq!(of_client(Some("claude-code"), Some(2_000)), Some(Duration::from_secs(2)));
        assert_eq!(soft(Duration::from_secs(60)), Duration::from_secs(51));
    }

    #[test]
    fn the_page_tells_what_stands_here() {
        let limit =
            |wall_s: Option<u64>| wall_s.map_or_else(|| "none".to_owned(), |wall| format!("{wall} s"));
        let row = |client: &Client| {
            let source = match client.source {
                Source::Measured => "measured",
                Source::Documentation => "documentation",
                Source::Reports => "reports",
            };
            format!("| `{}` | {} | {source} |\n", client.name.replace('*', "..."), limit(client.wall_s))
        };
        let rows: String = CLIENTS.iter().map(row).collect();
        let table =
            format!("{rows}| anything else | {} | the TypeScript SDK's default |\n", limit(Some(UNKNOWN_S)));
        let page = include_str!("../../../docs/mcp.md");
        assert!(page.contains(&table), "docs/mcp.md is to hold:\n{table}");
    }
}
