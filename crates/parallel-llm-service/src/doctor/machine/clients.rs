//! MCP clients with this program in their settings: whether they can start it, and their timeout.

use std::path::Path;

use crate::doctor::finding::Finding;
use crate::doctor::instruments::Doctor;
use crate::doctor::system::quoted;
use parallel_llm_install::clients::{self, Client, Content, InstallState, Installed, Reach};

pub(crate) async fn examine(doctor: &Doctor) -> Vec<Finding> {
    let wall_ms = doctor.settings.client_wall_ms;
    let Some(paths) = doctor.settings.config_paths.clone() else { return Vec::new() };
    let read = move || {
        clients::ALL.iter().filter_map(|client| Some((client, clients::state(client, &paths)?))).collect()
    };
    let states: Vec<(&Client, InstallState)> = tokio::task::spawn_blocking(read).await.unwrap_or_default();
    states.iter().filter_map(|(client, state)| finding(client, state, wall_ms)).collect()
}

/// The finding for a client; `None` if its settings do not name this program.
fn finding(client: &Client, state: &InstallState, wall_ms: Option<u64>) -> Option<Finding> {
    match &state.content {
        Content::Missing | Content::Absent => None,
        Content::Unreadable(why) => {
            let next = "repair the file, or let the client write it again";
            Some(Finding::warning(format!("{} at {}: {why}", client.name, state.path.display()), next))
        }
        Content::Present(entry) => Some(entry_finding(client, entry, &state.path, wall_ms)),
    }
}

fn entry_finding(client: &Client, entry: &Installed, file: &Path, wall_ms: Option<u64>) -> Finding {
    let (id, name) = (client.id, client.name);
    let again = format!("`parallel-llm-mcp install {id} --yes`");
    let how = match &entry.reach {
        // A client searches for a name without folder on a path of its own.
        Some(Reach::Start(command)) if Path::new(command).is_absolute() && !Path::new(command).is_file() => {
            let found = format!("{name} starts {}, which is not there", quoted(Path::new(command)));
            return Finding::warning(found, again);
        }
        Some(Reach::Start(command)) => format!("starts {}", quoted(Path::new(command))),
        Some(Reach::Connect(_)) => "connects by URL".to_owned(),
        None => {
            let found = format!("{name} has an entry for this program without command and URL");
            return Finding::warning(found, again);
        }
    };
    let configured_ms = entry.wall_ms.or(wall_ms);
    if let (Some(timeout_ms), Some(configured_ms)) = (entry.timeout_ms, configured_ms)
        && timeout_ms < configured_ms
    {
        let (patience_s, configured_s) = (timeout_ms / 1_000, configured_ms / 1_000);
        let found = format!(
            "{name} gives up after {patience_s} s, but this program is configured for {configured_s} s"
        );
        return Finding::warning(found, format!("{again}, or set `client_wall_ms` to {timeout_ms} at most"));
    }
    let wait =
        entry.timeout_ms.map(|ms| format!(" and waits {} s for a call", ms / 1_000)).unwrap_or_default();
    Finding::ok(format!("{name} {how}{wait} ({})", file.display()))
}

#[cfg(test)]
mod tests {
    use parallel_llm_engine::value::next;

    use super::*;

    #[test]
    fn each_client_is_reported_by_the_entry_in_its_file() {
        let codex = clients::ALL.iter().find(|client| client.id == "codex").unwrap();
        let described = |content| {
            let state = InstallState { path: "/h/config.toml".into(), content };
            finding(codex, &state, Some(270_000)).map(|finding| {
                format!(
                    "{} {}; {}",
                    finding.state.word(),
                    finding.found,
                    finding.next.map(|next| next.render(&next::PLAIN)).unwrap_or_default()
                )
            })
        };
        let sound = Installed {
            reach: Some(Reach::Start("parallel-llm-mcp".to_owned())),
            is_ours: true,
            timeout_ms: Some(300_000),
            wall_ms: None,
        };
        let with = |change: fn(&mut Installed)| {
            let mut entry = sound.clone();
            change(&mut entry);
            described(Content::Present(entry)).unwrap()
        };
        assert_eq!([described(Content::Missing), described(Content::Absent)], [None, None]);
        assert_eq!(
            [
                with(|_| {}),
                with(|entry| entry.reach = Some(Reach::Connect("http://127.0.0.1:8930/mcp".to_owned()))),
                with(|entry| entry.reach = Some(Reach::Start("/nowhere/at all".to_owned()))),
                with(|entry| entry.reach = None),
                with(|entry| entry.timeout_ms = Some(60_000)),
                with(|entry| (entry.timeout_ms, entry.wall_ms) = (Some(60_000), Some(60_000))),
                described(Content::Unreadable("no TOML".to_owned())).unwrap(),
            ],
            [
                "ok Codex starts parallel-llm-mcp and waits 300 s for a call (/h/config.toml); ",
                "ok Codex connects by URL and waits 300 s for a call (/h/config.toml); ",
                "warning Codex starts '/nowhere/at all', which is not there; `parallel-llm-mcp install codex --yes`",
                "warning Codex has an entry for this program without command and URL; `parallel-llm-mcp install codex --yes`",
                "warning Codex gives up after 60 s, but this program is configured for 270 s; `parallel-llm-mcp install codex --yes`, or set `client_wall_ms` to 60000 at most",
                "ok Codex starts parallel-llm-mcp and waits 60 s for a call (/h/config.toml); ",
                "warning Codex at /h/config.toml: no TOML; repair the file, or let the client write it again",
            ]
        );
    }
}
