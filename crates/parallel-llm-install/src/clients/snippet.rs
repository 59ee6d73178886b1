//! The entries as pages show them, from the same table that installs them.

use super::entry::{PROGRAM, Reach, Wish, path_of};
use super::format::Format;
use super::json;
use super::node::Node;
use super::table::{ALL, Client, ConfigLocation, Reference};
use super::yaml;

/// The variable in every example.
const VARIABLE: &str = "OPENROUTER_API_KEY";

/// A file of the client's that holds our entry and nothing else.
pub fn snippet(client: &Client, wish: &Wish) -> Result<String, String> {
    let entry = client.entry(wish, None)?;
    if client.format == Format::Yaml {
        return Ok(yaml::written(&path_of(client), &entry));
    }
    let mut text = String::new();
    let impossible = "an empty file takes any entry";
    // What is asked for first stands first.
    for input in client.inputs(wish) {
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

/// The part of the page on MCP that tells where each client keeps its configuration, and in which form.
pub fn page() -> String {
    let wish = Wish { reach: Reach::Start(PROGRAM.to_owned()), variables: vec![VARIABLE.to_owned()] };
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
        let text = snippet(client, &wish).expect("every client can start a program");
        page += &format!(
            "\n**{}**{}:\n\n```{}\n{text}```\n",
            client.name,
            key_remark(client),
            client.format.word()
        );
    }
    page
}

/// The paths of a file, the same ones once.
fn own_file(client: &Client) -> String {
    let mut told: Vec<String> = Vec::new();
    for place in client.user {
        let place = match place {
            ConfigLocation::Home(rest) | ConfigLocation::Codex(_, rest) | ConfigLocation::Claude(rest) => {
                format!("`~/{rest}`")
            }
            ConfigLocation::Config(rest) => format!("`~/.config/{rest}`"),
            ConfigLocation::AppData(rest) => format!("`%APPDATA%\\{}`", rest.replace('/', "\\")),
        };
        if !told.contains(&place) {
            told.push(place);
        }
    }
    told.join(", ")
}

fn key_remark(client: &Client) -> &'static str {
    match client.reference {
        Reference::Braced | Reference::Prefixed => ", with the key from its environment",
        Reference::Asked => ", which asks for the key once and keeps it",
        Reference::Passed(_) => ", which passes the named variables on",
        Reference::Never => ", with the key to fill in, or left blank where `keys set` keeps it",
    }
}
