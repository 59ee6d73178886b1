//! The table of MCP clients: the location of their configuration, and the form of an entry.
//!
//! One row per client. All differences between clients are data in this file.

use std::path::PathBuf;

use super::format::Format;
use parallel_llm_settings::settings::ConfigPaths;

/// The name of our entry in every client.
pub(super) const NAME: &str = "parallel-llm";

/// Half an hour, longer than a run can take: the limit for clients that allow raising it.
const LONG_MS: i64 = 1_800_000;
/// The longest limit that Zed accepts, in milliseconds.
const ZED_MS: i64 = 600_000;

/// A client.
#[derive(Debug)]
pub struct Client {
    /// Its name on the command line.
    pub id: &'static str,
    /// Its display name.
    pub name: &'static str,
    /// What the user has to do for a change to take effect.
    pub then: &'static str,
    pub(super) format: Format,
    /// The user's file, on each system.
    pub(super) user: [ConfigLocation; 3],
    /// A project's file relative to its root, if the client has such files.
    pub(super) project: Option<&'static str>,
    /// The table that contains the servers.
    pub(super) servers: &'static str,
    pub(super) start: Start,
    pub(super) connect: Option<Connect>,
    pub(super) reference: Reference,
    pub(super) limit: Option<Limit>,
}

/// An operating system, as far as it decides where files are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum System {
    /// Linux and similar systems.
    Linux,
    /// macOS.
    Mac,
    /// Windows.
    Windows,
}

impl System {
    /// The system this program was built for.
    pub(super) const HERE: Self = if cfg!(windows) {
        Self::Windows
    } else if cfg!(target_os = "macos") {
        Self::Mac
    } else {
        Self::Linux
    };
}

/// The location of a file.
#[derive(Clone, Copy, Debug)]
pub(super) enum ConfigLocation {
    /// Below the user's home.
    Home(&'static str),
    /// Below the XDG configuration folder.
    Config(&'static str),
    /// Below `APPDATA`.
    AppData(&'static str),
    /// In the folder named by Codex's variable, otherwise below the home.
    Codex(&'static str, &'static str),
    /// The same for Claude Code.
    Claude(&'static str),
}

/// How an entry says to start a program.
#[derive(Debug)]
pub(super) struct Start {
    /// The keys before the command.
    pub(super) first: &'static [(&'static str, Fixed)],
    /// The key of the command.
    pub(super) command: &'static str,
    /// The key of the environment variables.
    pub(super) env: &'static str,
}

/// How an entry says to connect to an address.
#[derive(Debug)]
pub(super) struct Connect {
    /// The keys before the address.
    pub(super) first: &'static [(&'static str, Fixed)],
    /// The key of the address.
    pub(super) url: &'static str,
    /// How it is given the token.
    pub(super) token: Token,
}

/// How a client gets the token of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Token {
    /// A header that refers to a variable.
    Header,
    /// A key that names the variable.
    Named(&'static str),
    /// Only the file itself.
    Typed,
}

/// A value that is the same on every machine.
#[derive(Clone, Copy, Debug)]
pub(super) enum Fixed {
    /// A text.
    Text(&'static str),
    /// Yes.
    Yes,
}

/// How the user's variables are referred to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reference {
    /// `${NAME}`.
    Braced,
    /// `${env:NAME}`.
    Prefixed,
    /// The client asks for it once and stores it: `${input:id}`, with an entry among the inputs.
    Asked,
    /// A list of the names of variables that are passed on.
    Passed(&'static str),
    /// Not at all.
    Never,
}

/// How long a client waits for a tool.
#[derive(Debug)]
pub(super) struct Limit {
    /// The key.
    pub(super) key: &'static str,
    /// Milliseconds in one unit of it.
    pub(super) unit_ms: i64,
    /// The value to write, in milliseconds.
    pub(super) ms: i64,
    /// Whether the limit must be passed on to this program, because it would assume a shorter one for this client.
    pub(super) is_passed_on: bool,
}

/// A command with no keys before it.
const PLAIN: Start = Start { first: &[], command: "command", env: "env" };
/// `"type": "stdio"` before it.
const TYPED: Start = Start { first: &[("type", Fixed::Text("stdio"))], command: "command", env: "env" };
/// `"type": "http"` before the address.
const HTTP: &[(&str, Fixed)] = &[("type", Fixed::Text("http"))];

/// Every client, in the order in which they are listed.
pub static ALL: [Client; 9] = [
    Client {
        id: "claude-code",
        name: "Claude Code",
        then: "start a new session of Claude Code; `/mcp` there shows the server",
        format: Format::Json,
        user: [ConfigLocation::Claude(".claude.json"); 3],
        project: Some(".mcp.json"),
        servers: "mcpServers",
        start: PLAIN,
        connect: Some(Connect { first: HTTP, url: "url", token: Token::Header }),
        reference: Reference::Braced,
        limit: Some(Limit { key: "timeout", unit_ms: 1, ms: LONG_MS, is_passed_on: false }),
    },
    Client {
        id: "claude-desktop",
        name: "Claude Desktop",
        then: "quit Claude Desktop and start it again",
        format: Format::Json,
        user: [
            ConfigLocation::Config("Claude/claude_desktop_config.json"),
            ConfigLocation::Home("Library/Application Support/Claude/claude_desktop_config.json"),
            ConfigLocation::AppData("Claude/claude_desktop_config.json"),
        ],
        project: None,
        servers: "mcpServers",
        start: PLAIN,
        connect: None,
        reference: Reference::Never,
        limit: None,
    },
    Client {
        id: "cursor",
        name: "Cursor",
        then: "switch the server on in Cursor's settings, under MCP",
        format: Format::Json,
        user: [ConfigLocation::Home(".cursor/mcp.json"); 3],
        project: Some(".cursor/mcp.json"),
        servers: "mcpServers",
        start: PLAIN,
        connect: Some(Connect { first: &[], url: "url", token: Token::Header }),
        reference: Reference::Prefixed,
        limit: None,
    },
    Client {
        id: "vscode",
        name: "VS Code",
        then: "start the server in VS Code: `MCP: List Servers`",
        format: Format::Json,
        user: [
            ConfigLocation::Config("Code/User/mcp.json"),
            ConfigLocation::Home("Library/Application Support/Code/User/mcp.json"),
            ConfigLocation::AppData("Code/User/mcp.json"),
        ],
        project: Some(".vscode/mcp.json"),
        servers: "servers",
        start: TYPED,
        connect: Some(Connect { first: HTTP, url: "url", token: Token::Header }),
        reference: Reference::Asked,
        limit: None,
    },
    Client {
        id: "codex",
        name: "Codex",
        then: "start a new session of Codex; `/mcp` there shows the server",
        format: Format::Toml,
        user: [ConfigLocation::Codex("config.toml", ".codex/config.toml"); 3],
        project: Some(".codex/config.toml"),
        servers: "mcp_servers",
        start: PLAIN,
        connect: Some(Connect { first: &[], url: "url", token: Token::Named("bearer_token_env_var") }),
        reference: Reference::Passed("env_vars"),
        limit: Some(Limit { key: "tool_timeout_sec", unit_ms: 1_000, ms: LONG_MS, is_passed_on: true }),
    },
    Client {
        id: "zed",
        name: "Zed",
        then: "look at the server in Zed's agent settings",
        format: Format::Json,
        user: [
            ConfigLocation::Config("zed/settings.json"),
            ConfigLocation::Home(".config/zed/settings.json"),
            ConfigLocation::AppData("Zed/settings.json"),
        ],
        project: None,
        servers: "context_servers",
        start: PLAIN,
        connect: Some(Connect { first: &[], url: "url", token: Token::Typed }),
        reference: Reference::Never,
        limit: Some(Limit { key: "timeout", unit_ms: 1_000, ms: ZED_MS, is_passed_on: true }),
    },
    Client {
        id: "goose",
        name: "goose",
        then: "start a new session of goose",
        format: Format::Yaml,
        user: [
            ConfigLocation::Config("goose/config.yaml"),
            ConfigLocation::Home(".config/goose/config.yaml"),
            ConfigLocation::AppData("Block/goose/config/config.yaml"),
        ],
        project: None,
        servers: "extensions",
        start: Start {
            first: &[
                ("enabled", Fixed::Yes),
                ("type", Fixed::Text("stdio")),
                ("name", Fixed::Text(NAME)),
                ("description", Fixed::Text("Asks many language models at once")),
            ],
            command: "cmd",
            env: "envs",
        },
        connect: Some(Connect {
            first: &[
                ("enabled", Fixed::Yes),
                ("type", Fixed::Text("streamable_http")),
                ("name", Fixed::Text(NAME)),
                ("description", Fixed::Text("Asks many language models at once")),
            ],
            url: "uri",
            token: Token::Header,
        }),
        reference: Reference::Passed("env_keys"),
        limit: Some(Limit { key: "timeout", unit_ms: 1_000, ms: LONG_MS, is_passed_on: true }),
    },
    Client {
        id: "windsurf",
        name: "Windsurf",
        then: "press Refresh in Windsurf's MCP panel",
        format: Format::Json,
        user: [ConfigLocation::Home(".codeium/windsurf/mcp_config.json"); 3],
        project: None,
        servers: "mcpServers",
        start: PLAIN,
        connect: Some(Connect { first: &[], url: "serverUrl", token: Token::Header }),
        reference: Reference::Prefixed,
        limit: None,
    },
    Client {
        id: "gemini",
        name: "Gemini CLI",
        then: "start a new session of Gemini CLI; `/mcp` there shows the server",
        format: Format::Json,
        user: [ConfigLocation::Home(".gemini/settings.json"); 3],
        project: Some(".gemini/settings.json"),
        servers: "mcpServers",
        start: PLAIN,
        connect: Some(Connect { first: &[], url: "httpUrl", token: Token::Header }),
        reference: Reference::Braced,
        limit: Some(Limit { key: "timeout", unit_ms: 1, ms: LONG_MS, is_passed_on: true }),
    },
];

impl ConfigLocation {
    /// The file, if this machine has its folder.
    fn path(self, paths: &ConfigPaths) -> Option<PathBuf> {
        let at =
            |folder: &PathBuf, rest: &str| rest.split('/').fold(folder.clone(), |path, name| path.join(name));
        match self {
            Self::Home(rest) => Some(at(&paths.home, rest)),
            Self::Config(rest) => Some(at(&paths.config, rest)),
            Self::AppData(rest) => paths.app_data.as_ref().map(|folder| at(folder, rest)),
            Self::Codex(inside, below) => {
                Some(paths.codex.as_ref().map_or_else(|| at(&paths.home, below), |folder| at(folder, inside)))
            }
            Self::Claude(name) => Some(at(paths.claude.as_ref().unwrap_or(&paths.home), name)),
        }
    }
}

impl Client {
    /// The client with this name on the command line.
    pub fn by_id(id: &str) -> Option<&'static Self> {
        ALL.iter().find(|client| client.id == id)
    }

    /// Whether the user has to edit the file: its format is only shown.
    pub fn is_by_hand(&self) -> bool {
        self.format == Format::Yaml
    }

    /// The user's file, if this machine has a folder for it.
    pub fn user_file(&self, paths: &ConfigPaths) -> Option<PathBuf> {
        self.user_file_on(System::HERE, paths)
    }

    pub(super) fn user_file_on(&self, system: System, paths: &ConfigPaths) -> Option<PathBuf> {
        self.user[system as usize].path(paths)
    }

    /// The file of the project in the current folder, if the client has such files.
    pub fn project_file(&self, paths: &ConfigPaths) -> Option<PathBuf> {
        self.project.map(|rest| rest.split('/').fold(paths.current_dir.clone(), |path, name| path.join(name)))
    }

    /// Whether the client seems to be on this machine.
    pub fn is_found(&self, paths: &ConfigPaths) -> bool {
        let Some(file) = self.user_file(paths) else { return false };
        // If the file is in the home itself, its folder says nothing.
        file.exists() || file.parent().is_some_and(|folder| *folder != paths.home && folder.is_dir())
    }
}
