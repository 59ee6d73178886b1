//! Computes a client's file with or without our entry.

use std::path::{Path, PathBuf};

use parallel_llm_engine::value::next::{Advice, Next};
use parallel_llm_engine::{Code, Failure};

use super::entry::{EntrySpec, Reach, is_our_input, path_of};
use super::node::Node;
use super::table::{Client, NAME, Reference, Token};
use super::text::EditRefusal;
use super::{file, json};

/// The path of the inputs that VS Code asks for.
const INPUTS: [&str; 1] = ["inputs"];
/// The byte order mark that some Windows editors write.
const MARK: char = '\u{feff}';

/// A planned change of a file.
#[derive(Clone, Debug)]
pub struct Change {
    /// The file.
    pub path: PathBuf,
    /// The action.
    pub act: Act,
    /// Its content now; `None` if there is no file.
    pub before: Option<String>,
    /// Its content afterwards.
    pub after: String,
    /// Notes for the user, each one sentence without a period.
    pub notes: Vec<String>,
}

/// An action on a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Act {
    /// Add our entry.
    Add,
    /// Change our entry.
    Update,
    /// Remove our entry.
    Remove,
    /// Nothing: the file is already right.
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
    /// The change that adds our entry to a client's file, or updates it.
    pub fn install(client: &Client, path: &Path, spec: &EntrySpec) -> Result<Self, Failure> {
        Self::install_into(client, path, file::read(path)?, spec)
    }

    /// The same for a file with this content.
    pub(super) fn install_into(
        client: &Client,
        path: &Path,
        before: Option<String>,
        spec: &EntrySpec,
    ) -> Result<Self, Failure> {
        let text = before.as_deref().unwrap_or_default();
        let (mark, text) = split_mark(text);
        let refuse = |refusal: EditRefusal| refused(path, &refusal);
        let current = client.format.read(text, &path_of(client)).map_err(refuse)?;
        let whole = client
            .entry(spec, current.as_ref())
            .map_err(|why| Failure::new(Code::Usage, why).with_next(Next::LeaveOut("--http".into())))?;
        let (act, after) = match &current {
            None => (Act::Add, client.format.set(text, &path_of(client), &whole).map_err(refuse)?),
            Some(current) => {
                check_ours(client, path, current, Some(&spec.reach))?;
                (Act::Update, updated(client, text, current, &whole, spec).map_err(refuse)?)
            }
        };
        let after = with_inputs(client, &after, spec).map_err(refuse)?;
        check(client, text, &after).map_err(refuse)?;
        let act = if after == text { Act::Nothing } else { act };
        let notes = notes(client, spec);
        Ok(Self { path: path.to_owned(), act, after: format!("{mark}{after}"), before, notes })
    }

    /// The change that removes our entry from a client's file.
    pub fn remove(client: &Client, path: &Path, reach: Option<&Reach>) -> Result<Self, Failure> {
        Self::remove_from(client, path, file::read(path)?, reach)
    }

    /// The same for a file with this content.
    pub(super) fn remove_from(
        client: &Client,
        path: &Path,
        before: Option<String>,
        reach: Option<&Reach>,
    ) -> Result<Self, Failure> {
        let (mark, text) = split_mark(before.as_deref().unwrap_or_default());
        let refuse = |refusal: EditRefusal| refused(path, &refusal);
        let current = client.format.read(text, &path_of(client)).map_err(refuse)?;
        let (act, after) = match &current {
            None => (Act::Nothing, text.to_owned()),
            Some(current) => {
                check_ours(client, path, current, reach)?;
                let after = without(client, text).map_err(refuse)?;
                check(client, text, &after).map_err(refuse)?;
                (Act::Remove, after)
            }
        };
        Ok(Self { path: path.to_owned(), act, after: format!("{mark}{after}"), before, notes: Vec::new() })
    }

    /// Writes the file, unless it has changed since it was read. Returns the backup of its previous content, if there
    /// was a file.
    pub fn write(&self) -> Result<Option<PathBuf>, Failure> {
        file::write(&self.path, self.before.as_deref(), &self.after)
    }
}

/// Parses a JSON file with comments as editors write it; the error is the line number, counted from 1.
pub fn plain_json(text: &str) -> Result<serde_json::Value, usize> {
    json::plain(split_mark(text).1)
}

fn split_mark(text: &str) -> (&str, &str) {
    text.split_at(if text.starts_with(MARK) { MARK.len_utf8() } else { 0 })
}

fn updated(
    client: &Client,
    text: &str,
    current: &Node,
    whole: &Node,
    spec: &EntrySpec,
) -> Result<String, EditRefusal> {
    let path = path_of(client);
    let is_start = matches!(client.read_entry(current).reach, Some(Reach::Start(_)));
    if is_start != matches!(spec.reach, Reach::Start(_)) {
        // An entry for a command and one for an address have nothing in common, so it is replaced.
        return client.format.set(&client.format.take(text, &path)?, &path, whole);
    }
    let mut text = text.to_owned();
    for (inside, node) in client.edits(current, whole, spec) {
        let path: Vec<&str> = path.into_iter().chain(inside.iter().map(String::as_str)).collect();
        text = client.format.set(&text, &path, &node)?;
    }
    Ok(text)
}

fn with_inputs(client: &Client, text: &str, spec: &EntrySpec) -> Result<String, EditRefusal> {
    let mut text = text.to_owned();
    for input in client.inputs(spec) {
        let there = json::read(&text, &INPUTS)?;
        let has_it = |list: &Node| list.items().iter().any(|one| one.get("id") == input.get("id"));
        if !there.as_ref().is_some_and(has_it) {
            text = json::push(&text, &INPUTS, &input)?;
        }
    }
    Ok(text)
}

fn without(client: &Client, text: &str) -> Result<String, EditRefusal> {
    let text = client.format.take(text, &path_of(client))?;
    match client.reference {
        Reference::Asked => json::pull(&text, &INPUTS, is_our_input),
        _ => Ok(text),
    }
}

/// Checks that two texts contain the same except for our entry.
fn check(client: &Client, before: &str, after: &str) -> Result<(), EditRefusal> {
    if rest(client, before)? == rest(client, after)? {
        return Ok(());
    }
    Err(EditRefusal::new("it cannot be changed without changing something else in it"))
}

/// The content of a file without our entry.
fn rest(client: &Client, text: &str) -> Result<Node, EditRefusal> {
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
    // An empty table of servers counts as none.
    if whole.get(client.servers) == Some(&Node::Table(Vec::new())) {
        whole.take(&[client.servers]);
    }
    Ok(whole)
}

/// Refuses an entry with our name that leads to something else: it belongs to the user.
fn check_ours(client: &Client, path: &Path, current: &Node, reach: Option<&Reach>) -> Result<(), Failure> {
    let installed = client.read_entry(current);
    if installed.is_ours || (reach.is_some() && installed.reach.as_ref() == reach) {
        return Ok(());
    }
    let other = installed.reach.map_or_else(|| "nothing".to_owned(), |reach| format!("`{reach}`"));
    let message =
        format!("`{}` has an entry `{NAME}` that leads to {other}, not to this program", path.display());
    Err(Failure::new(Code::Usage, message)
        .with_next([Next::Do(Advice::TakeEntryOut), Next::NameWith("--command".into())]))
}

fn refused(path: &Path, refusal: &EditRefusal) -> Failure {
    let message = format!("`{}` is left as it is: {}", path.display(), refusal.0);
    Failure::new(Code::SettingsInvalid, message).with_next(Advice::RepairFileOrByHand)
}

/// Notes on such an entry for the user, each one sentence without a period.
pub fn notes(client: &Client, spec: &EntrySpec) -> Vec<String> {
    let mut notes = Vec::new();
    let names = spec.variables.join("`, `");
    let token = client.connect.as_ref().map(|connect| connect.token);
    match (&spec.reach, client.reference) {
        (_, _) if spec.variables.is_empty() => {}
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
