//! What a client's file would be with our entry, or without it. Nothing is written here.

use std::path::{Path, PathBuf};

use parallel_llm_engine::value::next::{Advice, Next};
use parallel_llm_engine::{Code, Failure};

use super::entry::{Reach, Wish, is_our_input, path_of};
use super::node::Node;
use super::table::{Client, NAME, Reference, Token};
use super::text::Doubt;
use super::{file, json};

/// Where VS Code keeps what it asks for.
const INPUTS: [&str; 1] = ["inputs"];
/// What some editors on Windows begin a file with.
const MARK: char = '\u{feff}';

/// What is to be done to a file, and what it would be then.
#[derive(Clone, Debug)]
pub struct Change {
    /// The file.
    pub path: PathBuf,
    /// What is done.
    pub act: Act,
    /// What is in it; `None` where there is no file.
    pub before: Option<String>,
    /// What would be in it.
    pub after: String,
    /// What the user should know, each in one sentence without a period.
    pub notes: Vec<String>,
}

/// What is done to a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Act {
    /// Our entry comes in.
    Add,
    /// Our entry is changed.
    Update,
    /// Our entry is taken out.
    Remove,
    /// The file is as it should be.
    Nothing,
}

impl Act {
    /// The word in JSON.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Add => "add",
            Self::Update => "update",
            Self::Remove => "remove",
            Self::Nothing => "nothing",
        }
    }
}

impl Change {
    /// What puts an entry into a client's file, or brings one that is there up to date.
    pub fn install(client: &Client, path: &Path, wish: &Wish) -> Result<Self, Failure> {
        Self::install_into(client, path, file::read(path)?, wish)
    }

    /// The same for a file that holds this.
    pub(super) fn install_into(
        client: &Client,
        path: &Path,
        before: Option<String>,
        wish: &Wish,
    ) -> Result<Self, Failure> {
        let text = before.as_deref().unwrap_or_default();
        let (mark, text) = split_mark(text);
        let doubtful = |doubt: Doubt| in_doubt(path, &doubt);
        let current = client.format.read(text, &path_of(client)).map_err(doubtful)?;
        let whole = client
            .entry(wish, current.as_ref())
            .map_err(|why| Failure::new(Code::Usage, why).with_next(Next::LeaveOut("--http".into())))?;
        let (act, after) = match &current {
            None => (Act::Add, added(client, text, &whole).map_err(doubtful)?),
            Some(current) => {
                check_ours(client, path, current, Some(&wish.reach))?;
                (Act::Update, updated(client, text, current, &whole, wish).map_err(doubtful)?)
            }
        };
        let after = with_inputs(client, &after, wish).map_err(doubtful)?;
        check(client, text, &after).map_err(doubtful)?;
        let act = if after == text { Act::Nothing } else { act };
        let notes = notes(client, wish);
        Ok(Self { path: path.to_owned(), act, after: format!("{mark}{after}"), before, notes })
    }

    /// What takes our entry out of a client's file.
    pub fn remove(client: &Client, path: &Path, reach: Option<&Reach>) -> Result<Self, Failure> {
        Self::remove_from(client, path, file::read(path)?, reach)
    }

    /// The same for a file that holds this.
    pub(super) fn remove_from(
        client: &Client,
        path: &Path,
        before: Option<String>,
        reach: Option<&Reach>,
    ) -> Result<Self, Failure> {
        let (mark, text) = split_mark(before.as_deref().unwrap_or_default());
        let doubtful = |doubt: Doubt| in_doubt(path, &doubt);
        let current = client.format.read(text, &path_of(client)).map_err(doubtful)?;
        let (act, after) = match &current {
            None => (Act::Nothing, text.to_owned()),
            Some(current) => {
                check_ours(client, path, current, reach)?;
                let after = without(client, text).map_err(doubtful)?;
                check(client, text, &after).map_err(doubtful)?;
                (Act::Remove, after)
            }
        };
        Ok(Self { path: path.to_owned(), act, after: format!("{mark}{after}"), before, notes: Vec::new() })
    }

    /// Writes the file, unless it has changed since it was read. Gives the copy of what was there before, where there
    /// was a file.
    pub fn write(&self) -> Result<Option<PathBuf>, Failure> {
        file::write(&self.path, self.before.as_deref(), &self.after)
    }
}

/// All that is in a file of JSON, as editors write it; else the line that cannot be read, counted from 1.
pub fn plain_json(text: &str) -> Result<serde_json::Value, usize> {
    json::plain(split_mark(text).1)
}

fn split_mark(text: &str) -> (&str, &str) {
    text.split_at(if text.starts_with(MARK) { MARK.len_utf8() } else { 0 })
}

fn added(client: &Client, text: &str, whole: &Node) -> Result<String, Doubt> {
    client.format.set(text, &path_of(client), whole)
}

fn updated(client: &Client, text: &str, current: &Node, whole: &Node, wish: &Wish) -> Result<String, Doubt> {
    let path = path_of(client);
    let is_start = matches!(client.reading(current).reach, Some(Reach::Start(_)));
    if is_start != matches!(wish.reach, Reach::Start(_)) {
        // What held for a program says nothing of an address.
        return client.format.set(&client.format.take(text, &path)?, &path, whole);
    }
    let mut text = text.to_owned();
    for (inside, node) in client.edits(current, whole, wish) {
        let path: Vec<&str> = path.into_iter().chain(inside.iter().map(String::as_str)).collect();
        text = client.format.set(&text, &path, &node)?;
    }
    Ok(text)
}

fn with_inputs(client: &Client, text: &str, wish: &Wish) -> Result<String, Doubt> {
    let mut text = text.to_owned();
    for input in client.inputs(wish) {
        let there = json::read(&text, &INPUTS)?;
        let has_it = |list: &Node| list.items().iter().any(|one| one.get("id") == input.get("id"));
        if !there.as_ref().is_some_and(has_it) {
            text = json::push(&text, &INPUTS, &input)?;
        }
    }
    Ok(text)
}

fn without(client: &Client, text: &str) -> Result<String, Doubt> {
    let text = client.format.take(text, &path_of(client))?;
    match client.reference {
        Reference::Asked => json::pull(&text, &INPUTS, is_our_input),
        _ => Ok(text),
    }
}

/// Whether a text says what another says, but for our entry.
fn check(client: &Client, before: &str, after: &str) -> Result<(), Doubt> {
    if rest(client, before)? == rest(client, after)? {
        return Ok(());
    }
    Err(Doubt::new("it cannot be changed without changing something else in it"))
}

/// What is in a file besides our entry.
fn rest(client: &Client, text: &str) -> Result<Node, Doubt> {
    let mut whole = client.format.read(text, &[])?.unwrap_or(Node::Table(Vec::new()));
    whole.take(&path_of(client));
    if client.reference == Reference::Asked
        && let Some(inputs) = whole.get(INPUTS[0])
    {
        let others: Vec<Node> = inputs.items().iter().filter(|input| !is_our_input(input)).cloned().collect();
        if others.is_empty() {
            whole.take(&INPUTS);
        } else {
            whole.set(&INPUTS, Node::List(others));
        }
    }
    // An empty table of servers is none.
    if whole.get(client.servers) == Some(&Node::Table(Vec::new())) {
        whole.take(&[client.servers]);
    }
    Ok(whole)
}

/// An entry of our name that leads elsewhere is somebody's own.
fn check_ours(client: &Client, path: &Path, current: &Node, reach: Option<&Reach>) -> Result<(), Failure> {
    let installed = client.reading(current);
    if installed.is_ours || (reach.is_some() && installed.reach.as_ref() == reach) {
        return Ok(());
    }
    let other = installed.reach.map_or_else(|| "nothing".to_owned(), |reach| format!("`{reach}`"));
    let message =
        format!("`{}` has an entry `{NAME}` that leads to {other}, not to this program", path.display());
    Err(Failure::new(Code::Usage, message)
        .with_next([Next::Do(Advice::TakeEntryOut), Next::NameWith("--command".into())]))
}

fn in_doubt(path: &Path, doubt: &Doubt) -> Failure {
    let message = format!("`{}` is left as it is: {}", path.display(), doubt.0);
    Failure::new(Code::SettingsInvalid, message).with_next(Advice::RepairFileOrByHand)
}

/// What the user should know of such an entry, each in one sentence without a period.
pub fn notes(client: &Client, wish: &Wish) -> Vec<String> {
    let mut notes = Vec::new();
    let names = wish.variables.join("`, `");
    let token = client.connect.as_ref().map(|connect| connect.token);
    match (&wish.reach, client.reference) {
        (_, _) if wish.variables.is_empty() => {}
        (Reach::Start(_), Reference::Never) => notes.push(format!(
            "{} takes no references to variables: fill `{names}` in by hand, or leave it blank and keep the key with `keys set`",
            client.name
        )),
        (Reach::Connect(_), _) if token == Some(Token::Typed) => notes.push(format!(
            "{} takes no references to variables: write the token into the file by hand, as `\"headers\": {{ \"Authorization\": \"Bearer ...\" }}`",
            client.name
        )),
        (_, Reference::Asked) => notes.push(format!("{} asks for `{names}` once and keeps it", client.name)),
        _ => notes.push(format!("{} takes `{names}` from its own environment when it starts", client.name)),
    }
    notes
}
