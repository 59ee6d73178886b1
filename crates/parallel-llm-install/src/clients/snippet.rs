//! The entries as the documentation shows them, from the same table that installs them.

use super::entry::{EntrySpec, PROGRAM, Reach, path_of};
use super::format::Format;
use super::json;
use super::node::Node;
use super::table::{ALL, Client, ConfigLocation, Reference};
use super::yaml;

/// The variable in every example.
const VARIABLE: &str = "OPENROUTER_API_KEY";

/// A file of the client that contains only our entry.
pub fn snippet(client: &Client, spec: &EntrySpec) -> Result<String, String> {
    let entry = client.entry(spec, None)?;
    if client.format == Format::Yaml {
        return Ok(yaml::written(&path_of(client), &entry));
    }
    let mut text = String::new();
    let impossible = "an empty file takes any entry";
    // The inputs come first.
    for input in client.inputs(spec) {
        text = json::push(&text, &["inputs"], &input).expect(impossible);
    }
    Ok(client.format.set(&text, &path_of(client), &entry).expect(impossible))
}

/// The configuration that most clients read, with a blank key: `examples/mcp_config.json`.
pub fn example() -> String {
    let entry = Node::table([
        ("command", Node::text(PROGRAM)),
        ("args", Node::List(Vec::new())),
        ("env", Node::table([(VARIABLE, Node::text(""))])),
    ]);
    json::set("", &["mcpServers", super::table::NAME], &entry).expect("an empty file takes any entry")
}

/// The part of the MCP page that lists the location and format of each client's configuration.
pub fn page() -> String {
    let spec = EntrySpec { reach: Reach::Start(PROGRAM.to_owned()), variables: vec![VARIABLE.to_owned()] };
    let mut page = String::from(
        "| client | `install` | your own file | a project's | limit of a call |\n|---|---|---|---|---|\n",
    );
    for client in &ALL {
        let project = client.project.map_or_else(|| "-".to_owned(), |file| format!("`{file}`"));
        let limit = client
            .limit
            .as_ref()
            .map_or_else(|| "-".to_owned(), |limit| format!("`{}`: {} s", limit.key, limit.ms / 1_000));
        page +=
            &format!("| {} | `{}` | {} | {project} | {limit} |\n", client.name, client.id, own_file(client));
    }
    for client in &ALL {
        let text = snippet(client, &spec).expect("every client can start a program");
        page += &format!(
            "\n**{}**{}:\n\n```{}\n{text}```\n",
            client.name,
            key_remark(client),
            client.format.word()
        );
    }
    page
}

/// The paths of a file on the systems, each once.
fn own_file(client: &Client) -> String {
    let mut paths: Vec<String> = Vec::new();
    for path in client.user {
        let path = match path {
            ConfigLocation::Home(rest) | ConfigLocation::Codex(_, rest) | ConfigLocation::Claude(rest) => {
                format!("`~/{rest}`")
            }
            ConfigLocation::Config(rest) => format!("`~/.config/{rest}`"),
            ConfigLocation::AppData(rest) => format!("`%APPDATA%\\{}`", rest.replace('/', "\\")),
        };
        if !paths.contains(&path) {
            paths.push(path);
        }
    }
    paths.join(", ")
}

fn key_remark(client: &Client) -> &'static str {
    match client.reference {
        Reference::Braced | Reference::Prefixed => ", with the key from its environment",
        Reference::Asked => ", which asks for the key once and keeps it",
        Reference::Passed(_) => ", which passes the named variables on",
        Reference::Never => ", with the key to fill in, or left blank where `keys set` keeps it",
    }
}
