//! Imports the settings of the Python server that this program replaces: `mcp_config.json`, with its key and variables,
//! and `ai_models.txt`.
//!
//! Invariants: existing settings of the user's file stay; a model that is not offered is reported and left out,
//! never replaced silently; no key is shown, and none is stored before [`Import::write`].

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

/// The client configuration of the Python server.
const CONFIG: &str = "mcp_config.json";
/// Its list of models.
const MODELS: &str = "ai_models.txt";
/// The variable of its key.
const KEY: &str = "OPENROUTER_API_KEY";
/// The longest list taken as a panel; a longer one lists the valid names.
const PANEL_MAX: usize = 10;

/// The setting for each of its variables, and how to read the value.
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
/// Fields of the entry itself that mean the same.
const FIELDS: [(&str, &str); 3] =
    [("models", "MODELS"), ("synthesizer", "SYNTHESIZER_MODEL"), ("timeout", "TIMEOUT")];

/// The format of a value.
#[derive(Clone, Copy)]
enum Form {
    /// Names of models, separated by commas or spaces.
    Models,
    /// A number, and the factor to multiply it by.
    Number(u32),
    /// A Python log level.
    Level,
}

/// A planned import.
#[derive(Debug)]
pub struct Import {
    /// The files that were found.
    pub sources: Vec<PathBuf>,
    /// Their entries, each with its treatment.
    pub items: Vec<Item>,
    /// The state of the models that they name.
    pub models: Vec<CheckedModel>,
    /// The treatment of the key.
    pub key: KeyImport,
    /// The user's file, which may not exist.
    pub path: PathBuf,
    before: Option<String>,
    after: String,
    secret: Option<SecretString>,
}

/// An entry of a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Item {
    /// Its name in that file.
    pub from: String,
    /// The setting that it becomes, if any.
    pub setting: Option<String>,
    /// The value that would be written.
    pub value: Option<String>,
    /// Why it is left out, if it is.
    pub left_out: Option<String>,
}

/// The treatment of the key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum KeyImport {
    /// It would be stored, as `keys set` does.
    Keep,
    /// A stored key exists and stays, whether in force or not.
    Known,
    /// A key command of the user's provides one, and takes precedence over a stored key.
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

/// Imports the settings of the Python server, for one principal.
#[derive(Clone)]
pub struct Importing {
    pub(crate) settings: Arc<Settings>,
    pub(crate) principal: Principal,
    pub(crate) configured: ConfiguredModels,
}

impl Importing {
    /// Plans an import from a path: a folder with the files of the Python server, or one of them.
    pub async fn read(&self, path: &Path) -> Result<Import, Failure> {
        self.principal.check_owner()?;
        let paths = self.settings.config_paths.as_ref().ok_or_else(|| {
            Failure::new(Code::SettingsInvalid, "there is no home folder to keep settings in")
                .with_next(MachineStep::SetVariable("HOME".into()))
        })?;
        let mut draft = Draft::default();
        draft.read(path)?;
        self.check_models(&mut draft).await;
        let before = file::read(&paths.user_file)?;
        let after = draft.merge(before.as_deref().unwrap_or_default(), &paths.user_file)?;
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

    /// Leaves out models that are no longer offered.
    async fn check_models(&self, draft: &mut Draft) {
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
                .partition(|name| stands(name).is_some_and(|present| present.state != ModelState::Dead));
            draft.items.extend(bad.iter().map(|name| {
                let next = stands(name).and_then(|present| present.next.clone());
                let why = stands(name)
                    .map_or("it is not the name of a model", |_| "its provider does not offer it");
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
    /// The changes to the user's file as a unified diff; empty without changes.
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

    /// Stores the key and writes the user's file. Returns the location of the key, and of the backup of the file.
    pub async fn write(&self, settings: &Settings) -> Result<(Option<KeptKey>, Option<PathBuf>), Failure> {
        let kept = match &self.secret {
            Some(_) if keys::is_kept(settings, OPENROUTER)? => {
                let message = format!("a key of `{OPENROUTER}` was kept in the meantime");
                return Err(Failure::new(Code::OutputUnwritable, message).with_next(Advice::RunAgain));
            }
            Some(secret) => Some(keys::set(settings, OPENROUTER, secret.expose_secret(), true).await?),
            None => None,
        };
        if !self.is_changed() {
            return Ok((kept, None));
        }
        if let Some(folder) = self.path.parent() {
            // If it cannot be made here it cannot be written either, and the write reports that.
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

/// The treatment of a key that was found. Looks into the file of stored keys, because a variable takes precedence over it.
fn key_import(settings: &Settings) -> Result<KeyImport, Failure> {
    if keys::is_kept(settings, OPENROUTER)? {
        return Ok(KeyImport::Known);
    }
    let has_command = matches!(settings.provider(OPENROUTER)?.key, ProviderKey::Command(_));
    Ok(if has_command { KeyImport::Command } else { KeyImport::Keep })
}

/// The settings read so far.
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
    /// Names of models, if the file has any.
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
            let message = format!("`{}` cannot be imported: {why}", path.display());
            Failure::new(Code::SettingsInvalid, message).with_next(Advice::RepairOrAnother)
        };
        // A parser error would quote the file, which holds a key.
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
            self.items.push(Item::left_out(KEY, "it is a placeholder"));
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
                _ => return self.items.push(Item::left_out(from, "it is not a number above 0")),
            },
        }
        self.add(found);
    }

    /// The first entry for a setting counts.
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
            // Text after a name is a remark; text after a comma may be another name.
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
                "it names {} models, which is a list of valid names, not a panel; `models` has that list, always current",
                models.len()
            );
            self.items.push(Item::left_out(MODELS, why));
        } else if !models.is_empty() {
            self.add(Found { from: MODELS.to_owned(), setting: "panel", models, value: None });
        }
    }

    /// The user's file with the imported settings that it does not set itself.
    fn merge(&mut self, before: &str, path: &Path) -> Result<String, Failure> {
        // The program read this file at its start, so an error in it is new.
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

/// Whether a text looks like a key. Such a text is never shown, and not used as another setting.
fn holds_key(text: &str) -> bool {
    Scrubber::default().scrub(text) != text
}

/// The error of a value, without the position in a file that was never written.
fn without_place(message: &str, path: &Path) -> String {
    let place = path.display().to_string();
    let rest = message.strip_prefix(&place).and_then(|rest| rest.split_once(": "));
    rest.map_or_else(|| message.to_owned(), |(_, why)| why.to_owned())
}

/// Our name for a Python log level.
fn level(word: &str) -> String {
    match word.to_lowercase().as_str() {
        "warning" => "warn".to_owned(),
        "critical" => "error".to_owned(),
        other => other.to_owned(),
    }
}

/// A JSON value as the text of a variable.
fn text_of(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(items) => items.iter().map(text_of).collect::<Vec<_>>().join(","),
        other => other.to_string(),
    }
}
