//! Our entry: built from a spec and a client's row, merged with an existing one, and recognised.

use super::node::Node;
use super::table::{Client, Connect, Fixed, Limit, NAME, Reference, Start, Token};

/// The file name of the program.
pub(super) const PROGRAM: &str = "parallel-llm-mcp";
/// The path of our endpoint.
pub(super) const ENDPOINT: &str = "/mcp";
/// The variable with the timeout of this program's client in milliseconds.
pub(super) const WALL: &str = "PARALLEL_LLM_CLIENT_WALL_MS";
/// The prefix of the inputs that the client asks for because of us.
const INPUT: &str = "parallel-llm-";

/// The desired content of an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EntrySpec {
    /// How the client reaches this program.
    pub reach: Reach,
    /// Names of variables: those the program is started with, or the one that holds the token of a connection.
    pub variables: Vec<String>,
}

/// How a client reaches this program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reach {
    /// It starts this command.
    Start(String),
    /// It connects to this address.
    Connect(String),
}

/// The content of an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Installed {
    /// How the client reaches the server; `None` if the entry has neither a command nor an address.
    pub reach: Option<Reach>,
    /// Whether that is this program, as far as the entry shows.
    pub is_ours: bool,
    /// How long the client waits for a tool, in milliseconds, if the entry says so.
    pub timeout_ms: Option<u64>,
    /// How long the client waits according to the variable for this program, in milliseconds.
    pub wall_ms: Option<u64>,
}

/// A value at a path inside an entry.
pub(super) type Edit = (Vec<String>, Node);

impl Client {
    /// The whole entry. `current` is the existing one: a limit that the user chose in it is kept and passed on to the
    /// program.
    pub(super) fn entry(&self, spec: &EntrySpec, current: Option<&Node>) -> Result<Node, String> {
        let mut entry = Node::Table(Vec::new());
        match (&spec.reach, &self.connect) {
            (Reach::Start(command), _) => self.start_entry(&mut entry, command, spec, current),
            (Reach::Connect(url), Some(connect)) => self.connect_entry(&mut entry, connect, url, spec),
            (Reach::Connect(_), None) => {
                return Err(format!(
                    "{} takes no addresses in its file, only programs that it starts",
                    self.name
                ));
            }
        }
        if let Some(Limit { key, unit_ms, ms, .. }) = self.limit {
            entry.set(&[key], Node::Number(ms / unit_ms));
        }
        Ok(entry)
    }

    fn start_entry(&self, entry: &mut Node, command: &str, spec: &EntrySpec, current: Option<&Node>) {
        let Start { first, command: key, env } = self.start;
        set_fixed(entry, first);
        entry.set(&[key], Node::text(command));
        entry.set(&["args"], Node::List(Vec::new()));
        for name in &spec.variables {
            if let Some(value) = self.reference.value_for(name) {
                entry.set(&[env, name], Node::Text(value));
            }
        }
        if let Some(limit) = &self.limit {
            let ms = current.and_then(|current| limit.ms_in(current)).unwrap_or(limit.ms);
            // A limit chosen by the user is passed on, because the program cannot know it.
            if limit.is_passed_on || ms != limit.ms {
                entry.set(&[env, WALL], Node::text(ms.to_string()));
            }
        }
        self.pass_on(entry, spec);
    }

    fn connect_entry(&self, entry: &mut Node, connect: &Connect, url: &str, spec: &EntrySpec) {
        set_fixed(entry, connect.first);
        entry.set(&[connect.url], Node::text(url));
        let Some(name) = spec.variables.first() else { return };
        match connect.token {
            Token::Header => {
                let value = self.reference.value_for(name).unwrap_or_else(|| format!("${{{name}}}"));
                entry.set(&["headers", "Authorization"], Node::text(format!("Bearer {value}")));
                self.pass_on(entry, spec);
            }
            Token::Named(key) => entry.set(&[key], Node::text(name)),
            Token::Typed => {}
        }
    }

    fn pass_on(&self, entry: &mut Node, spec: &EntrySpec) {
        if let Reference::Passed(key) = self.reference
            && !spec.variables.is_empty()
        {
            entry.set(&[key], Node::texts(spec.variables.iter().map(String::as_str)));
        }
    }

    /// The edits that make an existing entry contain everything in `whole`. What the user added or filled in stays.
    pub(super) fn edits(&self, current: &Node, whole: &Node, spec: &EntrySpec) -> Vec<Edit> {
        let mut edits = Vec::new();
        for (key, wanted) in whole.entries() {
            match (current.get(key), wanted) {
                (None, _) => edits.push((vec![key.clone()], wanted.clone())),
                (Some(Node::Table(_)), Node::Table(inner)) => {
                    let have = current.get(key).unwrap_or(wanted);
                    let lacking =
                        inner.iter().filter(|(name, value)| must_write(have.get(name), value, name, spec));
                    edits.extend(
                        lacking.map(|(name, value)| (vec![key.clone(), name.clone()], value.clone())),
                    );
                }
                (Some(Node::List(have)), Node::List(wanted)) => {
                    let more: Vec<Node> =
                        wanted.iter().filter(|item| !have.contains(item)).cloned().collect();
                    if !more.is_empty() {
                        edits.push((vec![key.clone()], Node::List([have.clone(), more].concat())));
                    }
                }
                (Some(have), wanted) if have != wanted && self.is_ours_to_set(key) => {
                    edits.push((vec![key.clone()], wanted.clone()));
                }
                _ => {}
            }
        }
        edits
    }

    /// Whether we set this key and the user does not choose it.
    fn is_ours_to_set(&self, key: &str) -> bool {
        let in_first = |first: &[(&str, Fixed)]| key == "type" && first.iter().any(|(name, _)| *name == key);
        let connect = self.connect.as_ref();
        key == self.start.command
            || in_first(self.start.first)
            || connect.is_some_and(|connect| {
                key == connect.url
                    || matches!(connect.token, Token::Named(name) if name == key)
                    || in_first(connect.first)
            })
    }

    /// Reads an entry.
    pub(super) fn read_entry(&self, entry: &Node) -> Installed {
        let text = |node: &Node, key: &str| node.get(key).and_then(Node::as_text).map(str::to_owned);
        let url = || self.connect.as_ref().and_then(|connect| text(entry, connect.url));
        let reach = text(entry, self.start.command).map(Reach::Start).or_else(|| url().map(Reach::Connect));
        let wall = entry.get(self.start.env).and_then(|env| text(env, WALL));
        Installed {
            is_ours: reach.as_ref().is_some_and(Reach::is_ours),
            reach,
            timeout_ms: self
                .limit
                .as_ref()
                .and_then(|limit| limit.ms_in(entry))
                .and_then(|ms| ms.try_into().ok()),
            wall_ms: wall.and_then(|wall| wall.parse().ok()),
        }
    }

    /// The inputs the client has to ask the user for.
    pub(super) fn inputs(&self, spec: &EntrySpec) -> Vec<Node> {
        let input = |name: &String| {
            Node::table([
                ("type", Node::text("promptString")),
                ("id", Node::Text(input_id(name))),
                ("description", Node::text(name)),
                ("password", Node::Flag(true)),
            ])
        };
        match self.reference {
            Reference::Asked => spec.variables.iter().map(input).collect(),
            _ => Vec::new(),
        }
    }
}

/// Whether a value of a table must replace the existing one.
fn must_write(have: Option<&Node>, wanted: &Node, name: &str, spec: &EntrySpec) -> bool {
    let is_blank = have.is_none_or(|have| have.as_text().is_some_and(|text| text.trim().is_empty()));
    let is_chosen = name == WALL || (name == "Authorization" && !spec.variables.is_empty());
    have != Some(wanted) && (is_blank || is_chosen)
}

/// Whether an input is one of ours.
pub(super) fn is_our_input(input: &Node) -> bool {
    input.get("id").and_then(Node::as_text).is_some_and(|id| id.starts_with(INPUT))
}

fn input_id(variable: &str) -> String {
    format!("{INPUT}{}", variable.to_lowercase().replace('_', "-"))
}

fn set_fixed(entry: &mut Node, fixed: &[(&str, Fixed)]) {
    for (key, value) in fixed {
        let node = match value {
            Fixed::Text(text) => Node::text(*text),
            Fixed::Yes => Node::Flag(true),
        };
        entry.set(&[key], node);
    }
}

impl Reference {
    /// The value that refers to a variable, if the table of variables needs one.
    fn value_for(self, name: &str) -> Option<String> {
        match self {
            Self::Braced => Some(format!("${{{name}}}")),
            Self::Prefixed => Some(format!("${{env:{name}}}")),
            Self::Asked => Some(format!("${{input:{}}}", input_id(name))),
            Self::Passed(_) => None,
            Self::Never => Some(String::new()),
        }
    }
}

impl Limit {
    /// The limit in an entry, in milliseconds.
    fn ms_in(&self, entry: &Node) -> Option<i64> {
        entry.get(self.key)?.as_number().filter(|number| *number > 0)?.checked_mul(self.unit_ms)
    }
}

impl Reach {
    /// Whether it leads to this program: by its file name, or by the end of the endpoint's path.
    pub(super) fn is_ours(&self) -> bool {
        match self {
            Self::Start(command) => {
                let file = command.rsplit(['/', '\\']).next().unwrap_or_default();
                file == PROGRAM || file.strip_suffix(".exe") == Some(PROGRAM)
            }
            Self::Connect(url) => {
                url::Url::parse(url).is_ok_and(|url| url.path().trim_end_matches('/').ends_with(ENDPOINT))
            }
        }
    }
}

impl std::fmt::Display for Reach {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Start(command) => out.write_str(command),
            Self::Connect(url) => out.write_str(url),
        }
    }
}

/// The path of our entry in a client's file.
pub(super) fn path_of(client: &Client) -> [&'static str; 2] {
    [client.servers, NAME]
}
