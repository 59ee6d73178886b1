//! Taking over the settings of the Python server that this program replaces: its `mcp_config.json`, with a key and
//! variables, and its `ai_models.txt`.
//!
//! What always holds: what the user's file already says stays; a model that is not offered is named and left out, never
//! exchanged in silence; no key is shown, and none is kept before [`Import::write`].

use std::path::{Path, PathBuf};
use std::sync::Arc;

use parallel_llm_engine::request::panel::ModelRef;
use parallel_llm_engine::value::next::{self, Advice, MachineStep};
use parallel_llm_engine::{Code, Failure};
use parallel_llm_provider::Scrubber;
use secrecy::{ExposeSecret, SecretString};
use serde::Serialize;
use serde_json::Value;
use toml_edit::DocumentMut;

use crate::access::Principal;
use crate::models::check::ConfiguredModels;
use crate::models::{CheckedModel, ModelState};
use crate::ports::OPENROUTER;
use parallel_llm_install::clients;
use parallel_llm_install::clients::file;
use parallel_llm_settings::keys::{self, KeptKey};
use parallel_llm_settings::private_files;
use parallel_llm_settings::settings::{self, ProviderKey, Settings};

/// The client's file that the Python server came with.
const CONFIG: &str = "mcp_config.json";
/// Its list of models.
const MODELS: &str = "ai_models.txt";
/// What its key is called.
const KEY: &str = "OPENROUTER_API_KEY";
/// A longer list says which names are valid; nobody asks that many models each time.
const PANEL_MAX: usize = 10;

/// What each of its variables is called here, and how its value is read.
const VARIABLES: [(&str, &str, Form); 12] = [
    ("MODELS", "panel", Form::Models),
    ("OPENROUTER_MODELS", "panel", Form::Models),
    ("PARALLEL_LLM_MODELS", "panel", Form::Models),
    ("SYNTHESIZER_MODEL", "synthesizer", Form::Models),
    ("PARALLEL_LLM_SYNTHESIZER", "synthesizer", Form::Models),
    ("MAX_WORKERS", "calls_per_key_max", Form::Number(1)),
    ("MAX_TOKENS", "max_tokens", Form::Number(1)),
    ("MAX_PROMPT_LENGTH", "prompt_chars_max", Form::Number(1)),
    ("TIMEOUT", "call_timeout_ms", Form::Number(1_000)),
    ("REQUEST_TIMEOUT", "call_timeout_ms", Form::Number(1_000)),
    ("PARALLEL_LLM_TIMEOUT", "call_timeout_ms", Form::Number(1_000)),
    ("PARALLEL_LLM_LOG_LEVEL", "log_level", Form::Level),
];
/// Keys of the entry itself that say the same.
const FIELDS: [(&str, &str); 3] =
    [("models", "MODELS"), ("synthesizer", "SYNTHESIZER_MODEL"), ("timeout", "TIMEOUT")];

/// How a value is read.
#[derive(Clone, Copy)]
enum Form {
    /// Names of models between commas or blanks.
    Models,
    /// A number, and by how much it is multiplied.
    Number(u32),
    /// How much is logged, in Python's words.
    Level,
}

/// What would be taken over.
#[derive(Debug)]
pub struct Import {
    /// The files that were found.
    pub sources: Vec<PathBuf>,
    /// What they say, and what becomes of it.
    pub items: Vec<Item>,
    /// How the models stand that they name.
    pub models: Vec<CheckedModel>,
    /// What becomes of the key.
    pub key: KeyImport,
    /// The user's file, there or not.
    pub path: PathBuf,
    before: Option<String>,
    after: String,
    secret: Option<SecretString>,
}

/// One thing that a file says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Item {
    /// What it is called there.
    pub from: String,
    /// The setting it becomes, where there is one.
    pub setting: Option<String>,
    /// The setting's value as it would be written.
    pub value: Option<String>,
    /// Why it is not taken over, where it is not.
    pub left_out: Option<String>,
}

/// What becomes of the key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum KeyImport {
    /// It would be kept, as `keys set` does.
    Keep,
    /// A key is kept already, in force or not, and stays.
    KnownRun,
    /// A program of the user's gives one, and goes before a kept key.
    Command,
    /// There is none.
    None,
}

impl Item {
    fn taken(from: &str, setting: &str, value: &toml_edit::Value) -> Self {
        let value = Some(value.to_string().trim().to_owned());
        Self { from: from.to_owned(), setting: Some(setting.to_owned()), value, left_out: None }
    }

    fn left_out(from: &str, why: impl Into<String>) -> Self {
        Self { from: from.to_owned(), setting: None, value: None, left_out: Some(why.into()) }
    }
}

/// Takes over the settings of the Python server, for one principal.
#[derive(Clone)]
pub struct Importing {
    pub(crate) settings: Arc<Settings>,
    pub(crate) principal: Principal,
    pub(crate) configured: ConfiguredModels,
}

impl Importing {
    /// Reads what there is at a path: a folder with the files of the Python server, or one of them.
    pub async fn read(&self, path: &Path) -> Result<Import, Failure> {
        self.principal.check_owner()?;
        let paths = self.settings.config_paths.as_ref().ok_or_else(|| {
            Failure::new(Code::SettingsInvalid, "there is no home folder to keep settings in")
                .with_next(MachineStep::SetVariable("HOME".into()))
        })?;
        let mut draft = Draft::default();
        draft.read(path)?;
        self.judge(&mut draft).await;
        let before = file::read(&paths.user_file)?;
        let after = draft.lay_under(before.as_deref().unwrap_or_default(), &paths.user_file)?;
        let key = match draft.secret {
            Some(_) => key_import(&self.settings)?,
            None => KeyImport::None,
        };
        let secret = draft.secret.filter(|_| key == KeyImport::Keep);
        let path = paths.user_file.clone();
        Ok(Import {
            sources: draft.sources,
            items: draft.items,
            models: draft.models,
            key,
            path,
            before,
            after,
            secret,
        })
    }

    /// Looks whether the models are still offered, and leaves those out that are not.
    async fn judge(&self, draft: &mut Draft) {
        let named: Vec<String> = draft.found.iter().flat_map(|found| found.models.clone()).collect();
        if named.is_empty() {
            return;
        }
        draft.models = self.configured.check_others(&named).await.models;
        for found in &mut draft.found {
            let stands = |name: &String| {
                let model = self.configured.lists.providers.model_of(name)?;
                draft.models.iter().find(|present| {
                    self.configured
                        .lists
                        .providers
                        .model_of(&present.id)
                        .is_some_and(|known| is_same(&known, &model))
                })
            };
            let (good, bad): (Vec<String>, Vec<String>) = found
                .models
                .drain(..)
                .partition(|name| stands(name).is_some_and(|present| present.standing != ModelState::Dead));
            draft.items.extend(bad.iter().map(|name| {
                let next = stands(name).and_then(|present| present.next.clone());
                let why =
                    stands(name).map_or("it is no name of a model", |_| "its provider does not offer it");
                Item::left_out(
                    name,
                    next.map_or_else(
                        || why.to_owned(),
                        |steps| format!("{why}; {}", next::render(&steps, &next::PLAIN)),
                    ),
                )
            }));
            found.models = good;
        }
    }
}

impl Import {
    /// What would change in the user's file, as a unified diff; empty where nothing would.
    pub fn diff(&self) -> String {
        clients::diff(
            &self.path.display().to_string(),
            self.before.as_deref().unwrap_or_default(),
            &self.after,
        )
    }

    /// Whether there is nothing to do.
    pub fn is_done(&self) -> bool {
        self.secret.is_none() && !self.is_changed()
    }

    fn is_changed(&self) -> bool {
        self.before.as_deref().unwrap_or_default() != self.after
    }

    /// Keeps the key and writes the user's file. Gives where the key is, and the copy of what was in the file.
    pub async fn write(&self, settings: &Settings) -> Result<(Option<KeptKey>, Option<PathBuf>), Failure> {
        let kept = match &self.secret {
            Some(_) if keys::is_kept(settings, OPENROUTER)? => {
                let message = format!("a key of `{OPENROUTER}` was kept in the meantime");
                return Err(Failure::new(Code::OutputUnwritable, message).with_next(Advice::RunAgain));
            }
            Some(secret) => Some(keys::set(settings, OPENROUTER, secret.expose_secret()).await?),
            None => None,
        };
        if !self.is_changed() {
            return Ok((kept, None));
        }
        if let Some(folder) = self.path.parent() {
            // What cannot be made here cannot be written either, and that is said there.
            let _ = private_files::folder_builder().recursive(true).create(folder);
        }
        Ok((kept, file::write(&self.path, self.before.as_deref(), &self.after)?))
    }
}

/// Whether two references lead to the same model. A lost `~` is given back when a model is looked up.
fn is_same(one: &ModelRef, other: &ModelRef) -> bool {
    let plain = |model: &ModelRef| model.model.trim_start_matches('~').to_owned();
    one.provider == other.provider && plain(one) == plain(other)
}

/// What becomes of a key that was found. The file of kept keys is asked, because a variable goes before it.
fn key_import(settings: &Settings) -> Result<KeyImport, Failure> {
    if keys::is_kept(settings, OPENROUTER)? {
        return Ok(KeyImport::KnownRun);
    }
    let has_command = matches!(settings.provider(OPENROUTER)?.key, ProviderKey::Command(_));
    Ok(if has_command { KeyImport::Command } else { KeyImport::Keep })
}

/// What was read so far.
#[derive(Default)]
struct Draft {
    sources: Vec<PathBuf>,
    found: Vec<Found>,
    items: Vec<Item>,
    models: Vec<CheckedModel>,
    secret: Option<SecretString>,
}

/// A setting that was found.
struct Found {
    from: String,
    setting: &'static str,
    /// Names of models, where it holds such.
    models: Vec<String>,
    /// Any other value.
    value: Option<toml_edit::Value>,
}

impl Draft {
    fn read(&mut self, path: &Path) -> Result<(), Failure> {
        let is_folder = path.is_dir();
        let of = |name: &str| if is_folder { path.join(name) } else { path.to_owned() };
        let is_list = path.extension().is_some_and(|ending| ending == "txt");
        if (is_folder || !is_list)
            && let Some(text) = file::read(&of(CONFIG))?
        {
            self.read_config(&of(CONFIG), &text)?;
        }
        if (is_folder || is_list)
            && let Some(text) = file::read(&of(MODELS))?
        {
            self.read_models(&of(MODELS), &text);
        }
        if self.sources.is_empty() {
            let message = format!("there is neither `{CONFIG}` nor `{MODELS}` at `{}`", path.display());
            return Err(Failure::new(Code::Usage, message).with_next(Advice::NamePythonServer));
        }
        Ok(())
    }

    fn read_config(&mut self, path: &Path, text: &str) -> Result<(), Failure> {
        let unusable = |why: &str| {
            let message = format!("`{}` cannot be taken over: {why}", path.display());
            Failure::new(Code::SettingsInvalid, message).with_next(Advice::RepairOrAnother)
        };
        // What the reader says would show a part of the file, which holds a key.
        let json = clients::plain_json(text).map_err(|line| unusable(&format!("line {line} is not JSON")))?;
        let servers = json["mcpServers"].as_object().ok_or_else(|| unusable("it has no `mcpServers`"))?;
        let is_its = |entry: &&Value| {
            entry["env"].get(KEY).is_some() || entry["args"].to_string().contains("parallel_llm")
        };
        let mut its = servers.values().filter(is_its);
        let entry = its.next().ok_or_else(|| unusable("no server in it is the Python server"))?;
        if its.next().is_some() {
            return Err(unusable("several servers in it may be the Python server"));
        }
        self.sources.push(path.to_owned());
        for (field, name) in FIELDS {
            if let Some(value) = entry.get(field) {
                self.take(field, name, &text_of(value));
            }
        }
        for (name, value) in entry["env"].as_object().into_iter().flatten() {
            match (name.as_str(), text_of(value)) {
                (KEY, key) => self.take_key(&key),
                (_, value) => self.take(name, name, &value),
            }
        }
        Ok(())
    }

    fn take_key(&mut self, key: &str) {
        let key = key.trim();
        if key.is_empty() {
            self.items.push(Item::left_out(KEY, "it is blank"));
        } else if key.starts_with(['$', '<']) {
            self.items.push(Item::left_out(KEY, "it stands for a key and is none"));
        } else {
            self.secret = Some(SecretString::from(key));
        }
    }

    fn take(&mut self, from: &str, name: &str, text: &str) {
        if holds_key(from) || holds_key(text) {
            let why = "it looks like a key, which is read from `OPENROUTER_API_KEY` only";
            return self.items.push(Item::left_out(&Scrubber::default().scrub(from), why));
        }
        let Some((_, setting, form)) = VARIABLES.iter().find(|(known, ..)| *known == name) else {
            let why = match name {
                "OPENROUTER_BASE_URL" => "set it in your environment: it decides who is sent your key",
                "TEMPERATURE" => "models are asked without one, unless you write `model@temperature=0.7`",
                _ => "there is nothing like it here",
            };
            self.items.push(Item::left_out(from, why));
            return;
        };
        let mut found = Found { from: from.to_owned(), setting, models: Vec::new(), value: None };
        match form {
            Form::Models => {
                found.models = text
                    .split([',', ' ', '\n'])
                    .map(str::trim)
                    .filter(|name| !name.is_empty())
                    .map(str::to_owned)
                    .collect();
            }
            Form::Level => found.value = Some(level(text.trim()).into()),
            Form::Number(times) => match text.trim().parse::<f64>() {
                Ok(number) if number >= 1.0 && number < f64::from(u32::MAX) => {
                    found.value = Some(((number * f64::from(*times)).round() as i64).into());
                }
                _ => return self.items.push(Item::left_out(from, "it is no number above 0")),
            },
        }
        self.add(found);
    }

    /// The first word on a setting holds.
    fn add(&mut self, found: Found) {
        match self.found.iter().find(|known| known.setting == found.setting) {
            Some(known) => {
                let why = format!("`{}` says the same setting before it", known.from);
                self.items.push(Item::left_out(&found.from, why));
            }
            None => self.found.push(found),
        }
    }

    fn read_models(&mut self, path: &Path, text: &str) {
        self.sources.push(path.to_owned());
        let mut models: Vec<String> = Vec::new();
        for (at, line) in text.trim_start_matches('\u{feff}').lines().enumerate() {
            let line = line.split('#').next().unwrap_or_default().trim();
            let is_mark = |one: char| matches!(one, '"' | '\'' | ',' | '[' | ']' | '`' | '*' | ';');
            if line.trim_matches(is_mark).is_empty() {
                continue;
            }
            // What follows a name is a remark; what follows a comma may be another name.
            let named = |part: &str| {
                let mut words = part.split_whitespace().map(|word| word.trim_matches(is_mark).to_owned());
                words.find(|word| word.contains('/'))
            };
            let found: Vec<String> = line.split([',', ';']).filter_map(named).collect();
            if found.is_empty() || holds_key(line) {
                let from = format!("{MODELS} line {}", at + 1);
                self.items.push(Item::left_out(&from, "it names no model"));
                continue;
            }
            for model in found {
                if !models.contains(&model) {
                    models.push(model);
                }
            }
        }
        if models.len() > PANEL_MAX {
            let why = format!(
                "it names {} models, which is a list of what is valid and no panel; `models` has that list, always current",
                models.len()
            );
            self.items.push(Item::left_out(MODELS, why));
        } else if !models.is_empty() {
            self.add(Found { from: MODELS.to_owned(), setting: "panel", models, value: None });
        }
    }

    /// The user's file with what was found, where it does not say otherwise.
    fn lay_under(&mut self, before: &str, path: &Path) -> Result<String, Failure> {
        // The settings were read from it when the program started, so what is wrong with it is news.
        let refused =
            || Failure::new(Code::SettingsInvalid, format!("`{}` cannot be read as TOML", path.display()));
        let mut document: DocumentMut = before.parse().map_err(|_| refused())?;
        let mut text = before.to_owned();
        for found in self.found.drain(..) {
            let value = match found.value {
                Some(value) => value,
                None if found.models.is_empty() => {
                    self.items.push(Item::left_out(&found.from, "none of its models is left"));
                    continue;
                }
                None => toml_edit::Value::Array(found.models.into_iter().collect()),
            };
            if let Some(own) = document.get(found.setting) {
                if own.to_string().trim() != value.to_string().trim() {
                    let why = format!("your file already sets `{}`, which stays", found.setting);
                    self.items.push(Item::left_out(&found.from, why));
                }
                continue;
            }
            self.items.push(Item::taken(&found.from, found.setting, &value));
            document.insert(found.setting, toml_edit::Item::Value(value));
            let with = document.to_string();
            if let Err(failure) = settings::check_user_text(path, &with) {
                document.remove(found.setting);
                self.items.pop();
                self.items.push(Item::left_out(&found.from, without_place(&failure.message, path)));
                continue;
            }
            text = with;
        }
        Ok(text)
    }
}

/// Whether something in it looks like a key: that is shown nowhere, and taken for nothing else.
fn holds_key(text: &str) -> bool {
    Scrubber::default().scrub(text) != text
}

/// What is wrong with a value, without the place of a line that was never written.
fn without_place(message: &str, path: &Path) -> String {
    let place = path.display().to_string();
    let rest = message.strip_prefix(&place).and_then(|rest| rest.split_once(": "));
    rest.map_or_else(|| message.to_owned(), |(_, why)| why.to_owned())
}

/// Python's word for how much is logged, as ours.
fn level(word: &str) -> String {
    match word.to_lowercase().as_str() {
        "warning" => "warn".to_owned(),
        "critical" => "error".to_owned(),
        other => other.to_owned(),
    }
}

/// A value as a variable would hold it.
fn text_of(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(items) => items.iter().map(text_of).collect::<Vec<_>>().join(","),
        other => other.to_string(),
    }
}
