//! MCP clients whose configuration names this program: whether they can start it, and how long they wait for it.

use std::path::PathBuf;

use parallel_llm_engine::Failure;

use super::system::quoted;
use super::{Finding, Service};

/// What is known of one client's configuration, where it names this program or cannot be read.
#[derive(Clone, Debug)]
pub struct ClientFinding {
    /// The client's word for `install`.
    pub id: String,
    /// Its name for people.
    pub name: String,
    /// Its configuration file.
    pub file: PathBuf,
    /// The program it starts; `None` where it comes by an address.
    pub command: Option<PathBuf>,
    /// How long it waits for a call, in milliseconds, where its file says.
    pub timeout_ms: Option<u64>,
    /// How long this program takes to answer that client at most, in milliseconds, where its entry says.
    pub wall_ms: Option<u64>,
    /// Why the file cannot be used.
    pub failure: Option<Failure>,
}

pub(super) async fn look(service: &Service) -> Vec<Finding> {
    let wall_ms = service.settings().client_wall_ms;
    (service.parts.clients)().await.iter().map(|client| finding(client, wall_ms)).collect()
}

fn finding(client: &ClientFinding, wall_ms: Option<u64>) -> Finding {
    let ClientFinding { id, name, file, command, timeout_ms, failure, .. } = client;
    if let Some(failure) = failure {
        return Finding::warning(format!("{name}: {}", failure.message), failure.next_step());
    }
    // A name without a folder is looked for by the client, on a path of its own.
    let missing = command.as_ref().filter(|command| command.is_absolute() && !command.is_file());
    if let Some(command) = missing {
        let found = format!("{name} starts {}, which is not there", quoted(command));
        return Finding::warning(found, format!("`parallel-llm-mcp install {id} --yes`"));
    }
    let wall_ms = client.wall_ms.or(wall_ms);
    if let (Some(timeout_ms), Some(wall_ms)) = (*timeout_ms, wall_ms)
        && timeout_ms <= wall_ms
    {
        let found = format!(
            "{name} gives up after {} s, but is answered only within {} s",
            timeout_ms / 1_000,
            wall_ms / 1_000
        );
        return Finding::warning(
            found,
            format!("set `client_wall_ms` below {timeout_ms}, or raise its time-out"),
        );
    }
    let how = match command {
        Some(command) => format!("starts {}", quoted(command)),
        None => "comes by an address".to_owned(),
    };
    let wait = timeout_ms.map(|ms| format!(" and waits {} s for a call", ms / 1_000)).unwrap_or_default();
    Finding::ok(format!("{name} {how}{wait} ({})", file.display()))
}

#[cfg(test)]
mod tests {
    use parallel_llm_engine::Code;

    use super::*;

    #[test]
    fn each_client_is_told_by_what_stands_in_its_file() {
        let sound = ClientFinding {
            id: "codex".into(),
            name: "Codex".into(),
            file: "/h/config.toml".into(),
            command: Some("parallel-llm-mcp".into()),
            timeout_ms: Some(300_000),
            wall_ms: None,
            failure: None,
        };
        let told = |client: &ClientFinding| {
            let Finding { state, found, next, .. } = finding(client, Some(270_000));
            format!("{} {found}; {}", state.word(), next.unwrap_or_default())
        };
        let with = |change: fn(&mut ClientFinding)| {
            let mut client = sound.clone();
            change(&mut client);
            told(&client)
        };
        assert_eq!(
            [
                told(&sound),
                with(|client| client.command = None),
                with(|client| client.command = Some("/nowhere/at all".into())),
                with(|client| client.timeout_ms = Some(60_000)),
                with(|client| (client.timeout_ms, client.wall_ms) = (Some(60_000), Some(50_000))),
                with(|client| client.failure =
                    Some(Failure::new(Code::SettingsInvalid, "no JSON").with_next("mend it"))),
            ],
            [
                "ok Codex starts parallel-llm-mcp and waits 300 s for a call (/h/config.toml); ",
                "ok Codex comes by an address and waits 300 s for a call (/h/config.toml); ",
                "warning Codex starts '/nowhere/at all', which is not there; `parallel-llm-mcp install codex --yes`",
                "warning Codex gives up after 60 s, but is answered only within 270 s; set `client_wall_ms` below 60000, or raise its time-out",
                "ok Codex starts parallel-llm-mcp and waits 60 s for a call (/h/config.toml); ",
                "warning Codex: no JSON; mend it",
            ]
        );
    }
}
