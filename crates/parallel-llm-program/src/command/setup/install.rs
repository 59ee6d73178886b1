//! `install`: adds this program to the settings of MCP clients, and removes it.

use std::io::{BufRead, IsTerminal, Read};
use std::path::{Component, Path, PathBuf};

use clap::builder::PossibleValuesParser;
use parallel_llm_engine::value::next::{Advice, MachineStep, Next};
use parallel_llm_engine::{Code, Failure, value::nearest};
use serde_json::{Value, json};

use crate::called;
use crate::command::context::CommandContext;
use crate::command::json::pretty;
use crate::exit;
use crate::terminal::table::Column;
use parallel_llm_engine::text::safe;
use parallel_llm_install::clients::{self, Act, Change, Client, Content, EntrySpec, Reach};
use parallel_llm_settings::PROGRAM;
use parallel_llm_settings::keys::{self, KeySource};
use parallel_llm_settings::settings::{ConfigPaths, Settings, is_known_variable};

/// The longest reply read, in bytes: `yes` and some more.
const REPLY_BYTES_MAX: u64 = 64;
/// The longest path shown in the list, in characters.
const PATH_CHARS_MAX: usize = 160;
/// The most variables of an entry. More are a mistake.
const VARIABLES_MAX: usize = 32;

/// Put this program into the settings of an MCP client
///
/// Shows the changes to the client's own file, and asks before it writes. A copy of the file is kept beside it;
/// comments, order and other entries stay as they are. Without a client, lists all clients and their state.
///
/// Example: parallel-llm-mcp install claude-code
#[derive(Debug, clap::Args)]
pub struct Install {
    /// The client
    #[arg(value_parser = PossibleValuesParser::new(clients::ALL.iter().map(|client| client.id)))]
    pub client: Option<String>,
    /// Use the file of the project in this folder instead of your own
    #[arg(long, requires = "client")]
    pub project: bool,
    /// Connect to a server over HTTP at this address, instead of starting the program
    #[arg(long, value_name = "URL", requires = "client", conflicts_with = "command")]
    pub http: Option<String>,
    /// Refer to this variable, by its name: one with a key, or with `--http` the one with the token; repeat for several
    #[arg(long = "env", value_name = "NAME", requires = "client")]
    pub variables: Vec<String>,
    /// The command to start, instead of the full path of this program
    #[arg(long, value_name = "COMMAND", requires = "client")]
    pub command: Option<String>,
    /// Write without asking
    #[arg(long, requires = "client")]
    pub yes: bool,
    /// Take the entry out
    #[arg(long, requires = "client", conflicts_with = "variables")]
    pub remove: bool,
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
}

/// Runs the command.
pub(in crate::command) fn run(context: &CommandContext<'_>, install: &Install) -> Result<u8, Failure> {
    let paths = config_paths(context)?;
    let Some(client) = install.client.as_deref().and_then(Client::by_id) else {
        list(context, paths, install.json);
        return Ok(exit::ANSWER);
    };
    let path = file_of(client, paths, install.project)?;
    let reach = reach(install, paths)?;
    if !install.remove {
        check_variables(install, &context.service.settings)?;
    }
    let spec = EntrySpec { reach, variables: install.variables.clone() };
    if client.is_by_hand() {
        return by_hand(context, install, client, &spec);
    }
    let change = if install.remove {
        Change::remove(client, &path, Some(&spec.reach))?
    } else {
        Change::install(client, &path, &spec)
            .inspect_err(|failure| render_by_hand(context, client, &spec, failure))?
    };
    Installing { context, install, client, change }.finish()
}

/// The user's folders.
pub(super) fn config_paths<'d>(context: &'d CommandContext<'_>) -> Result<&'d ConfigPaths, Failure> {
    context.service.settings.config_paths.as_ref().ok_or_else(|| {
        let failure = Failure::new(Code::SettingsInvalid, "there is no home folder to look for settings in");
        failure.with_next(MachineStep::SetVariable("HOME".into()))
    })
}

fn file_of(client: &Client, paths: &ConfigPaths, project: bool) -> Result<PathBuf, Failure> {
    if project {
        return client.project_file(paths).ok_or_else(|| {
            Failure::new(Code::Usage, format!("{} has no file for a project", client.name))
                .with_next(Next::LeaveOut("--project".into()))
        });
    }
    client.user_file(paths).ok_or_else(|| {
        let message = format!("it is not known where {} keeps its settings here", client.name);
        Failure::new(Code::SettingsInvalid, message).with_next(MachineStep::SetVariable("APPDATA".into()))
    })
}

/// How the client reaches the program.
fn reach(install: &Install, paths: &ConfigPaths) -> Result<Reach, Failure> {
    match (&install.http, &install.command) {
        (Some(url), _) => clients::address(url).map(Reach::Connect),
        (None, Some(command)) if command.trim().is_empty() => {
            Err(Failure::new(Code::Usage, "the command is blank"))
        }
        (None, Some(command)) => Ok(Reach::Start(command.clone())),
        (None, None) => own_command(paths).map(Reach::Start),
    }
}

/// The full path of this program as it was started. A link stays a link, because its target changes with the next
/// version.
fn own_command(paths: &ConfigPaths) -> Result<String, Failure> {
    let unknown = |why: &str| {
        Failure::new(Code::Usage, format!("the path of this program {why}"))
            .with_next(Next::NameWith("--command".into()))
    };
    let real = std::env::current_exe().map_err(|error| unknown(&format!("is not known: {error}")))?;
    let path = typed(paths).filter(|typed| is_same(typed, &real)).unwrap_or(real);
    path.into_os_string().into_string().map_err(|_| unknown("is not valid UTF-8"))
}

/// The path of the command that started this program.
fn typed(paths: &ConfigPaths) -> Option<PathBuf> {
    let word = PathBuf::from(std::env::args_os().next()?);
    // `pllm` is started by people; a client starts the program beside it.
    let word = if called::name() == PROGRAM { word } else { word.with_file_name(PROGRAM) };
    if word.components().any(|part| part == Component::ParentDir) {
        return None;
    }
    if word.components().count() > 1 || word.is_absolute() {
        return std::path::absolute(word).ok();
    }
    std::env::split_paths(&paths.programs)
        .map(|folder| folder.join(&word))
        .find(|path| path.is_file() && path.is_absolute())
}

fn is_same(one: &Path, other: &Path) -> bool {
    matches!((one.canonicalize(), other.canonicalize()), (Ok(one), Ok(other)) if one == other)
}

/// Fails for invalid names of variables, and for variables that this program never reads.
fn check_variables(install: &Install, settings: &Settings) -> Result<(), Failure> {
    let refused = |message: String| Err(Failure::new(Code::Usage, message).with_next(Advice::NameOfVariable));
    if install.http.is_some() && install.variables.len() > 1 {
        return refused("one variable holds the token of a connection".to_owned());
    }
    if install.variables.len() > VARIABLES_MAX {
        return refused(format!("a client is told of at most {VARIABLES_MAX} variables"));
    }
    let is_name = |name: &String| {
        let is_word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
        name.bytes().all(is_word)
            && name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
    };
    // An invalid name may be a secret value, so the message does not repeat it.
    match install.variables.iter().position(|name| !is_name(name)) {
        Some(at) => {
            return refused(format!("what `--env` was given at place {} is no name of a variable", at + 1));
        }
        // The client reads the token of a connection, under any name.
        None if install.http.is_some() => return Ok(()),
        None => {}
    }
    let known = settings.key_variables();
    if known.is_empty() {
        return Ok(());
    }
    let is_known = |name: &String| known.iter().any(|known| known == name) || is_known_variable(name);
    let Some(unknown) = install.variables.iter().find(|name| !is_known(name)) else { return Ok(()) };
    let keys: Vec<&str> = known.iter().map(String::as_str).collect();
    let failure = Failure::new(Code::Usage, format!("no provider reads the variable `{unknown}`"));
    Err(nearest::suggest_or_list(failure, unknown, &keys))
}

/// Shows what to write by hand if a file cannot be changed.
fn render_by_hand(context: &CommandContext<'_>, client: &Client, spec: &EntrySpec, failure: &Failure) {
    if failure.code == Code::SettingsInvalid
        && let Ok(text) = clients::snippet(client, spec)
    {
        context.console.say(&format!("by hand it is:\n\n{text}"));
    }
}

/// Prints the entry of a client whose file is not edited here, and its location.
fn by_hand(
    context: &CommandContext<'_>,
    install: &Install,
    client: &Client,
    spec: &EntrySpec,
) -> Result<u8, Failure> {
    let path = file_of(client, config_paths(context)?, install.project)?;
    if install.remove {
        let message = format!("`{}` is YAML, which is not edited here", path.display());
        return Err(Failure::new(Code::Usage, message).with_next(Advice::TakeOwnEntryOut));
    }
    let entry = clients::snippet(client, spec).map_err(|why| Failure::new(Code::Usage, why))?;
    let notes = clients::notes(client, spec);
    if install.json {
        context.console.data(&pretty(&json!({
            "schema": 1,
            "client": client.id,
            "path": path,
            "act": "by_hand",
            "written": false,
            "entry": entry,
            "notes": notes,
            "next": client.then,
        })));
        return Ok(exit::ANSWER);
    }
    context.console.data(&entry);
    context.console.say(&format!("put this into {} by hand; YAML is not edited here", path.display()));
    for note in notes {
        context.console.say(&format!("note: {note}"));
    }
    context.console.say(&format!("next: {}", client.then));
    Ok(exit::ANSWER)
}

/// A planned change of a client's file.
struct Installing<'a> {
    context: &'a CommandContext<'a>,
    install: &'a Install,
    client: &'a Client,
    change: Change,
}

impl Installing<'_> {
    fn finish(self) -> Result<u8, Failure> {
        let path = self.change.path.display().to_string();
        let diff =
            clients::diff(&path, self.change.before.as_deref().unwrap_or_default(), &self.change.after);
        if !self.install.json && self.change.act != Act::Nothing {
            self.context.console.data(&diff);
        }
        let written = self.change.act != Act::Nothing && self.consent()?;
        let copy = if written { self.change.write()? } else { None };
        if self.install.json {
            self.context.console.data(&pretty(&self.described(&diff, written, copy.as_deref())));
        } else {
            self.say(written, copy.as_deref());
        }
        Ok(exit::ANSWER)
    }

    /// Asks whether the change may be written.
    fn consent(&self) -> Result<bool, Failure> {
        if self.install.yes
            || self.install.json
            || !std::io::stdin().is_terminal()
            || !std::io::stderr().is_terminal()
        {
            return Ok(self.install.yes);
        }
        ask(self.context, &format!("Write this to {}? [y/N]", self.change.path.display()))
    }

    fn say(&self, written: bool, copy: Option<&Path>) {
        let console = &self.context.console;
        let path = self.change.path.display();
        let name = self.client.name;
        match (self.change.act, written) {
            (Act::Nothing, _) if self.install.remove => {
                console.say(&format!("nothing to do: {path} has no entry of this program"));
            }
            (Act::Nothing, _) => console.say(&format!("nothing to do: {path} has the entry")),
            (_, false) => return console.say(&format!("nothing is written; `--yes` writes it to {path}")),
            (Act::Remove, true) => {
                console.say(&format!("{name} no longer knows this program: {path} is written"));
            }
            (_, true) => console.say(&format!("{name} knows this program: {path} is written")),
        }
        if let Some(copy) = copy {
            console.say(&format!("what was there is kept in {}", copy.display()));
        }
        for note in self.notes() {
            console.say(&format!("note: {note}"));
        }
        if written && self.change.act != Act::Remove {
            console.say(&format!("next: {}", self.client.then));
        }
    }

    /// Further notes for the user.
    fn notes(&self) -> Vec<String> {
        let mut notes = self.change.notes.clone();
        let starts = !self.install.remove && self.install.http.is_none();
        if starts && self.install.variables.is_empty() && !has_lasting_key(self.context) {
            let note = "a client may start the program without the variables of your shell: keep a key once with `keys set openrouter`";
            notes.push(note.to_owned());
        }
        notes
    }

    fn described(&self, diff: &str, written: bool, copy: Option<&Path>) -> Value {
        json!({
            "schema": 1,
            "client": self.client.id,
            "path": self.change.path,
            "act": self.change.act.word(),
            "written": written,
            "copy": copy,
            "diff": diff,
            "notes": self.notes(),
            "next": (written && self.change.act != Act::Remove).then_some(self.client.then),
        })
    }
}

/// Asks a question on the terminal; anything but yes is no.
pub(super) fn ask(context: &CommandContext<'_>, question: &str) -> Result<bool, Failure> {
    context.console.write(&format!("{} ", safe::for_terminal(question)));
    let mut reply = String::new();
    let read = std::io::stdin().lock().take(REPLY_BYTES_MAX).read_line(&mut reply);
    read.map_err(|error| Failure::new(Code::Usage, format!("the answer cannot be read: {error}")))?;
    context.console.end_reply(&reply);
    Ok(matches!(reply.trim().to_lowercase().as_str(), "y" | "yes"))
}

/// Whether a key is found in any environment, not only in this shell's.
fn has_lasting_key(context: &CommandContext<'_>) -> bool {
    let lines = keys::list(&context.service.settings).unwrap_or_default();
    lines.iter().any(|line| matches!(line.source, KeySource::Kept | KeySource::Command))
}

fn list(context: &CommandContext<'_>, paths: &ConfigPaths, as_json: bool) {
    if as_json {
        let lines: Vec<Value> = clients::ALL.iter().map(|client| json_line(client, paths)).collect();
        context.console.data(&pretty(&json!({ "schema": 1, "clients": lines })));
        return;
    }
    let columns = [
        Column::words("CLIENT", 20),
        Column::words("NAME", 20),
        Column::words("HERE", 4),
        Column::words("INSTALLED", PATH_CHARS_MAX),
        Column::words("FILE", PATH_CHARS_MAX),
    ];
    let rows = clients::ALL.iter().map(|client| {
        let state = clients::state(client, paths);
        let here = if client.is_found(paths) { "yes" } else { "no" };
        let path = state.as_ref().map_or_else(|| "-".to_owned(), |state| state.path.display().to_string());
        let described = state.map_or_else(|| "-".to_owned(), |state| entry_state(&state.content));
        vec![client.id.to_owned(), client.name.to_owned(), here.to_owned(), described, path]
    });
    context.console.table(&columns, &rows.collect::<Vec<_>>());
}

/// The state of a client's entry in a few words.
fn entry_state(content: &Content) -> String {
    match content {
        Content::Missing | Content::Absent => "no".to_owned(),
        Content::Unreadable(why) => format!("unknown: {why}"),
        Content::Present(entry) => match (&entry.reach, entry.is_ours) {
            (Some(reach), true) => format!("yes: {reach}"),
            (Some(reach), false) => format!("another: {reach}"),
            (None, _) => "another".to_owned(),
        },
    }
}

fn json_line(client: &Client, paths: &ConfigPaths) -> Value {
    let state = clients::state(client, paths);
    let content = state.as_ref().map(|state| &state.content);
    let entry = match content {
        Some(Content::Present(entry)) => Some(entry),
        _ => None,
    };
    let (word, message) = match content {
        None => ("unknown", None),
        Some(Content::Missing) => ("missing", None),
        Some(Content::Unreadable(why)) => ("unreadable", Some(why)),
        Some(Content::Absent) => ("absent", None),
        Some(Content::Present(_)) => ("present", None),
    };
    let (command, url) = match entry.and_then(|entry| entry.reach.as_ref()) {
        Some(Reach::Start(command)) => (Some(command), None),
        Some(Reach::Connect(url)) => (None, Some(url)),
        None => (None, None),
    };
    json!({
        "client": client.id,
        "name": client.name,
        "here": client.is_found(paths),
        "path": state.as_ref().map(|state| &state.path),
        "entry": word,
        "ours": entry.map(|entry| entry.is_ours),
        "command": command,
        "url": url,
        "timeout_ms": entry.and_then(|entry| entry.timeout_ms),
        "wall_ms": entry.and_then(|entry| entry.wall_ms),
        "message": message,
    })
}
