//! How long a client waits for a tool before it gives up, and when to answer so that it does not.
//!
//! Most clients count from the call and ignore progress, so the only answer that arrives is one that comes before
//! their wall. The run goes on behind it.

use std::time::Duration;

/// Where a client's name tells nothing: the default of the TypeScript SDK, and of Zed.
const UNKNOWN: Duration = Duration::from_secs(60);

/// The part of the wall that is used: the rest is for the way back and for clients that count from earlier.
const SOFT_PERCENT: u32 = 85;

/// Names that clients give themselves, or beginnings of them, in lower case, and how long they wait; `None` waits as
/// long as it takes. Measured, except where it says otherwise.
const CLIENTS: [(&str, Option<Duration>); 6] = [
    ("claude-code", None), // a hundred thousand seconds
    ("codex", Some(Duration::from_secs(300))),
    ("claude-ai", Some(Duration::from_secs(240))), // Claude Desktop; from reports
    ("claude desktop", Some(Duration::from_secs(240))),
    ("goose", Some(Duration::from_secs(300))), // from its documentation
    ("visual studio code", None),              // from its documentation
];

/// When this client gives up. What the user set holds for every client.
pub(super) fn of_client(name: Option<&str>, set_ms: Option<u64>) -> Option<Duration> {
    if let Some(ms) = set_ms {
        return Some(Duration::from_millis(ms));
    }
    let name = name.unwrap_or_default().to_lowercase();
    let known = CLIENTS.iter().find(|(client, _)| name.starts_with(client));
    known.map_or(Some(UNKNOWN), |(_, wall)| *wall)
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
        assert_eq!(seconds(Some("Zed")), Some(60));
        assert_eq!(seconds(None), Some(60));
        assert_eq!(of_client(Some("claude-code"), Some(2_000)), Some(Duration::from_secs(2)));
        assert_eq!(soft(Duration::from_secs(60)), Duration::from_secs(51));
    }
}
