//! [`PanelBuilder`]: everything a panel is made of, checked when it is built.
//!
//! A field becomes a setting of the program, in the text form of its settings files, so that both have the same bounds and
//! messages. Invariant: neither the environment nor a settings file is read unless [`PanelBuilder::from_environment`] asks
//! for it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use parallel_llm_app::Own;
use parallel_llm_engine::port::{Caller, Journal};
use parallel_llm_engine::request::panel::DEFAULT_PROVIDER;
use parallel_llm_engine::text::safe;
use parallel_llm_engine::value::next::Advice;
use parallel_llm_engine::{Code, Failure, ProviderId};
use parallel_llm_provider::ApiKey;
use parallel_llm_settings::settings::{
    EmbeddedProvider, Environment, Settings, check_headers, check_value, split_models,
};
use secrecy::{ExposeSecret, SecretString};

use super::provider::Provider;
use super::question::millis;
use super::{Panel, usd};
use crate::error::Error;

/// Makes a [`Panel`]. What is left out has the default of the program.
///
/// ```
/// use std::time::Duration;
/// use parallel_llm_mcp::{Error, Panel};
///
/// let panel = Panel::builder()
///     .key("sk-or-...")
///     .panel(["openai/gpt-6.1-sol", "z-ai/glm-5.3", "x-ai/grok-4.7"])
///     .synthesizer(["google/gemini-3.8-flash"])
///     .run_timeout(Duration::from_secs(120))
///     .budget_usd(0.5)
///     .build()?;
///
/// let wrong = Panel::builder().max_tokens(0).build().unwrap_err();
/// assert_eq!(wrong.to_string(), "the builder cannot use its `max_tokens`");
/// # drop(panel);
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Default)]
#[must_use]
pub struct PanelBuilder {
    /// Settings by name, each as its text.
    values: BTreeMap<&'static str, String>,
    /// Settings by a name that only running code knows.
    others: Vec<(String, String)>,
    /// The default provider.
    main: EmbeddedProvider,
    providers: Vec<Provider>,
    keep: Keep,
    /// The first field that cannot even be written as a setting, and why.
    wrong: Option<(&'static str, Failure)>,
    reads_environment: bool,
    callers: BTreeMap<ProviderId, Arc<dyn Caller>>,
    journal: Option<Arc<dyn Journal>>,
}

/// Settings that mean something only if runs are kept, and what each asks for.
const KEPT: &[(&str, &str)] = &[
    ("budget_day_usd", "a limit of the day"),
    ("store", "a store"),
    ("database_url", "a database"),
    ("files", "a file"),
    ("output_dir", "a file"),
];
/// Settings of the program that a library leaves to others.
const NOT_OURS: &[(&str, &str)] = &[
    ("data_dir", "the folder is set with `folder`"),
    ("log_level", "the library sets up no log; listen to `tracing`"),
    ("log_file", "the library sets up no log; listen to `tracing`"),
];
/// The longest excerpt of a wrong model in a message, in characters.
const EXCERPT_CHARS: usize = 80;

/// Where runs are kept.
#[derive(Clone, Debug, Default)]
enum Keep {
    /// In memory, or where the environment says if it is read.
    #[default]
    Unsaid,
    Memory,
    Folder(PathBuf),
}

impl std::fmt::Debug for PanelBuilder {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Without keys and headers.
        out.debug_struct("PanelBuilder").field("settings", &self.values).finish_non_exhaustive()
    }
}

/// Who is called, and how.
impl PanelBuilder {
    /// The key of OpenRouter, or of the server at [`PanelBuilder::base_url`].
    pub fn key(mut self, key: impl Into<SecretString>) -> Self {
        self.main.key = Some(key.into());
        self
    }

    /// The address of an API in place of OpenRouter's: https, or http on this machine.
    pub fn base_url(mut self, base_url: impl Into<String>) -> Self {
        self.main.base_url = Some(base_url.into());
        self
    }

    /// A header sent with every call to that address. Its value is treated as a secret.
    pub fn header(mut self, name: impl Into<String>, value: impl Into<SecretString>) -> Self {
        self.main.headers.push((name.into(), value.into()));
        self
    }

    /// A further provider. Its models are written with its id in front, such as `anthropic:claude-opus-5`.
    pub fn provider(mut self, provider: Provider) -> Self {
        self.providers.push(provider);
        self
    }

    /// A provider of your own code: calls to models `ID:...` go to `caller`.
    pub fn caller(mut self, id: impl Into<String>, caller: Arc<dyn Caller>) -> Self {
        self.callers.insert(ProviderId(id.into()), caller);
        self
    }

    /// A file (PEM) of certificates that are trusted beside the system's.
    pub fn ca_file(mut self, path: impl Into<PathBuf>) -> Self {
        match self::whole(&path.into()) {
            Ok(path) => self.set("ca_file", path),
            Err(failure) => {
                self.wrong.get_or_insert(("ca_file", failure));
                self
            }
        }
    }

    /// The name of your program at OpenRouter.
    pub fn app_title(self, title: impl Into<String>) -> Self {
        self.set("app_title", title.into())
    }

    /// The address of your program at OpenRouter.
    pub fn app_url(self, url: impl Into<String>) -> Self {
        self.set("app_url", url.into())
    }
}

/// What is asked of whom.
impl PanelBuilder {
    /// The models that are asked, each `[provider:]model[*N][@key=value,...]`; 1 to 64 seats.
    pub fn panel<I>(self, models: I) -> Self
    where
        I: IntoIterator<Item: Into<String>>,
    {
        self.set_models("panel", models)
    }

    /// The models that make one text of the answers; the first that succeeds is used.
    pub fn synthesizer<I>(self, models: I) -> Self
    where
        I: IntoIterator<Item: Into<String>>,
    {
        self.set_models("synthesizer", models)
    }

    /// How answers become one text, such as `vote` or `best-of-n`.
    pub fn strategy(self, strategy: impl Into<String>) -> Self {
        self.set("strategy", strategy.into())
    }

    /// When to stop waiting for the panel: `all`, `quorum:K`, `until:DURATION` or `stragglers`.
    pub fn wait(self, rule: impl Into<String>) -> Self {
        self.set("wait", rule.into())
    }

    /// Any other setting of the program by its name, such as `reasoning_effort`, in the text form of its settings files. Of
    /// several values for one setting, also by its own method, the last one counts.
    pub fn setting(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        let name = name.into();
        self.values.retain(|set, _| *set != name);
        self.others.retain(|(set, _)| *set != name);
        self.others.push((name, value.into()));
        self
    }
}

/// Limits.
impl PanelBuilder {
    /// The most that one run may cost in the worst case, in USD.
    pub fn budget_usd(self, amount: f64) -> Self {
        self.set("budget_usd", usd(amount))
    }

    /// The most that all runs of the folder together may cost in a day (UTC), in USD. Needs a folder.
    pub fn budget_day_usd(self, amount: f64) -> Self {
        self.set("budget_day_usd", usd(amount))
    }

    /// Output cap of each call in tokens, reasoning included.
    pub fn max_tokens(self, tokens: u32) -> Self {
        self.set("max_tokens", tokens.to_string())
    }

    /// The longest prompt in characters, attachments included.
    pub fn prompt_chars_max(self, chars: usize) -> Self {
        self.set("prompt_chars_max", chars.to_string())
    }

    /// Most concurrent calls with one provider's key.
    pub fn calls_per_key_max(self, calls: usize) -> Self {
        self.set("calls_per_key_max", calls.to_string())
    }

    /// Most concurrent calls of this panel.
    pub fn calls_max(self, calls: usize) -> Self {
        self.set("calls_max", calls.to_string())
    }

    /// How often a failed call is retried before its first text.
    pub fn retries_max(self, retries: u32) -> Self {
        self.set("retries_max", retries.to_string())
    }
}

/// Timers.
impl PanelBuilder {
    /// The time to connect to a provider.
    pub fn connect_timeout(self, limit: Duration) -> Self {
        self.set("connect_timeout_ms", millis(limit).to_string())
    }

    /// The time from sending a call to its first text or reasoning.
    pub fn first_text_timeout(self, limit: Duration) -> Self {
        self.set("first_text_timeout_ms", millis(limit).to_string())
    }

    /// The time that a call may go without a byte.
    pub fn idle_timeout(self, limit: Duration) -> Self {
        self.set("idle_timeout_ms", millis(limit).to_string())
    }

    /// The time that a call may go without text or reasoning once it has begun.
    pub fn content_timeout(self, limit: Duration) -> Self {
        self.set("content_timeout_ms", millis(limit).to_string())
    }

    /// The time that one call may take.
    pub fn call_timeout(self, limit: Duration) -> Self {
        self.set("call_timeout_ms", millis(limit).to_string())
    }

    /// The time that a whole run may take.
    pub fn run_timeout(self, limit: Duration) -> Self {
        self.set("run_timeout_ms", millis(limit).to_string())
    }

    /// How long [`Panel::close`] waits for runs in progress, and a run that is given up for answers that are paid for.
    pub fn drain(self, limit: Duration) -> Self {
        self.set("drain_ms", millis(limit).to_string())
    }
}

/// Where things are kept.
impl PanelBuilder {
    /// Keeps runs in the database of this folder, which is made when it is first needed: they can be resumed, replayed and
    /// continued, by other processes too. Files of answers are written only after [`PanelBuilder::files`].
    pub fn folder(mut self, folder: impl Into<PathBuf>) -> Self {
        self.keep = Keep::Folder(folder.into());
        self
    }

    /// Keeps runs in memory and writes no file, as is the default unless the environment is read.
    pub fn in_memory(mut self) -> Self {
        self.keep = Keep::Memory;
        self
    }

    /// Whether answers are also written as files in the folder.
    pub fn files(self, on: bool) -> Self {
        self.set("files", if on { "on" } else { "off" }.to_owned())
    }

    /// A journal of your own in place of the folder: it gets every event before it counts.
    pub fn journal(mut self, journal: Arc<dyn Journal>) -> Self {
        self.journal = Some(journal);
        self
    }

    /// Reads the environment, the settings files and the stored keys as the program does, for whatever the builder leaves
    /// out. They are read once, by [`PanelBuilder::build`].
    pub const fn from_environment(mut self) -> Self {
        self.reads_environment = true;
        self
    }
}

impl PanelBuilder {
    fn set(mut self, name: &'static str, text: String) -> Self {
        self.others.retain(|(set, _)| set != name);
        self.values.insert(name, text);
        self
    }

    /// Sets a list of models. An entry that a setting would read as several, or as none, is refused.
    fn set_models<I>(mut self, name: &'static str, models: I) -> Self
    where
        I: IntoIterator<Item: Into<String>>,
    {
        let models: Vec<String> = models.into_iter().map(Into::into).collect();
        if let Some(wrong) = models.iter().find(|model| split_models(model).len() != 1) {
            let message = format!("`{}` is not one model", safe::excerpt(wrong, EXCERPT_CHARS));
            let failure = Failure::new(Code::ModelInvalid, message);
            self.wrong.get_or_insert((name, failure));
        }
        self.set(name, models.join(" "))
    }

    /// The panel. Fails with [`Error::Field`] for a value that cannot be used. Nothing is opened or sent yet.
    pub fn build(self) -> Result<Panel, Error> {
        let settings = self.settings()?;
        let (callers, journal) = (self.callers, self.journal);
        let wrap = move |ours| journal.clone().unwrap_or(ours);
        let own = Own { callers, ..Own::default() };
        Ok(Panel::of(parallel_llm_app::wire_around(&settings, wrap, own)))
    }

    /// The settings that the fields come to.
    pub(crate) fn settings(&self) -> Result<Settings, Error> {
        if let Some((field, failure)) = &self.wrong {
            return Err(Error::field(*field, failure));
        }
        let values = self.checked_values()?;
        let mut settings = self.base_settings(&values)?;
        if let Some(key) = &self.main.key {
            ApiKey::parse(key.expose_secret()).map_err(|failure| Error::field("key", &failure))?;
        }
        let main = EmbeddedProvider { id: DEFAULT_PROVIDER.to_owned(), ..self.main.clone() };
        check_headers(&main.headers).map_err(|failure| Error::field("header", &failure))?;
        if main.key.is_some() || main.base_url.is_some() || !main.headers.is_empty() {
            settings.set_provider(main).map_err(|failure| Error::field("base_url", &failure))?;
        }
        for provider in &self.providers {
            self.set_provider(&mut settings, provider)?;
        }
        for id in self.callers.keys() {
            let own =
                EmbeddedProvider { id: id.0.clone(), is_called_by_code: true, ..EmbeddedProvider::default() };
            settings.set_provider(own).map_err(|failure| Error::field("caller", &failure))?;
        }
        Ok(settings)
    }

    /// Sets up a further provider.
    fn set_provider(&self, settings: &mut Settings, provider: &Provider) -> Result<(), Error> {
        let refused = |failure: &Failure| Error::field(format!("provider {}", provider.own.id), failure);
        if provider.is_wrong {
            return Err(refused(&Failure::new(Code::SettingsInvalid, "`budget_day_usd` is no amount")));
        }
        if provider.own.budget_day.is_some() && self.is_in_memory() {
            return Err(refused(&needs_folder("a limit of the day")));
        }
        if let Some(key) = &provider.own.key {
            ApiKey::parse(key.expose_secret()).map_err(|failure| refused(&failure))?;
        }
        settings.set_provider(provider.own.clone()).map_err(|failure| refused(&failure))
    }

    /// Whether nothing is kept on disk.
    const fn is_in_memory(&self) -> bool {
        match self.keep {
            Keep::Unsaid => !self.reads_environment,
            Keep::Memory => true,
            Keep::Folder(_) => false,
        }
    }

    /// All settings as names and texts, each checked by itself.
    fn checked_values(&self) -> Result<Vec<(&str, String)>, Error> {
        let fixed = self.values.iter().map(|(name, text)| (*name, text.clone()));
        let others = self.others.iter().map(|(name, text)| (name.as_str(), text.clone()));
        let mut values: Vec<(&str, String)> = fixed.chain(others).collect();
        for (name, text) in &values {
            check_value(name, text).map_err(|failure| Error::field(self.method(name), &failure))?;
        }
        let is_set = |name: &str| values.iter().any(|(set, text)| *set == name && text != "off");
        for (name, what) in KEPT {
            if is_set(name) && self.is_in_memory() {
                return Err(Error::field(*name, &needs_folder(what)));
            }
        }
        for (name, why) in NOT_OURS {
            if is_set(name) {
                let failure = Failure::new(Code::SettingsInvalid, why);
                return Err(Error::field(*name, &failure.with_next(Advice::LeaveItOut)));
            }
        }
        if self.journal.is_some() && matches!(self.keep, Keep::Folder(_)) {
            let failure =
                Failure::new(Code::SettingsInvalid, "it takes the place of the folder, and one is set");
            return Err(Error::field("journal", &failure.with_next(Advice::LeaveItOut)));
        }
        let has_files = values.iter().any(|(set, _)| *set == "files");
        if self.is_in_memory() || self.journal.is_some() {
            values.push(("store", "none".to_owned()));
        }
        if !has_files && (!self.reads_environment || self.is_in_memory()) {
            values.push(("files", "off".to_owned()));
        }
        Ok(values)
    }

    /// The method that sets this setting: timers are set as durations.
    fn method<'a>(&self, setting: &'a str) -> &'a str {
        let is_typed = self.values.contains_key(setting);
        setting.strip_suffix("_ms").filter(|_| is_typed).unwrap_or(setting)
    }

    /// The settings without the providers of the code.
    fn base_settings(&self, values: &[(&str, String)]) -> Result<Settings, Error> {
        let folder = match &self.keep {
            Keep::Folder(folder) => Some(std::path::absolute(folder).map_err(|error| {
                let failure = Failure::new(Code::OutputUnwritable, format!("it has no whole path: {error}"));
                Error::field("folder", &failure)
            })?),
            Keep::Unsaid | Keep::Memory => None,
        };
        if !self.reads_environment {
            return Settings::embedded(values, folder.as_deref())
                .map_err(|failure| Error::field("setting", &failure));
        }
        let mut values = values.to_vec();
        if let Some(folder) = &folder {
            let folder = folder.to_str().ok_or_else(|| Error::field("folder", &not_utf8(folder)))?;
            values.push(("data_dir", folder.to_owned()));
        }
        let here = std::env::current_dir().unwrap_or_else(|_| Path::new("/").to_owned());
        let settings = Settings::load(&Environment::read(), &here, &values)
            .map_err(|failure| Error::field("from_environment", &failure))?;
        let settings = Settings { in_memory: self.is_in_memory(), ..settings };
        self.check_limits(&settings)?;
        Ok(settings)
    }

    /// Fails for limits of the day that the environment sets and nothing can keep.
    fn check_limits(&self, settings: &Settings) -> Result<(), Error> {
        let refused = |field: &str| Err(Error::field(field, &needs_folder("a limit of the day")));
        if !self.is_in_memory() {
            return Ok(());
        }
        if settings.budget_day.is_some() {
            return refused("budget_day_usd");
        }
        match settings.providers.iter().find(|provider| provider.budget_day.is_some()) {
            Some(provider) => refused(&format!("provider {}", provider.id)),
            None => Ok(()),
        }
    }
}

/// A path as a setting: whole, so that it does not depend on the folder in which it is read.
fn whole(path: &Path) -> Result<String, Failure> {
    let refused = |error| Failure::new(Code::SettingsInvalid, format!("it has no whole path: {error}"));
    let whole = std::path::absolute(path).map_err(refused)?;
    whole.to_str().map(str::to_owned).ok_or_else(|| not_utf8(path))
}

fn not_utf8(path: &Path) -> Failure {
    let message = format!("the path `{}` is not UTF-8, so it cannot be a setting", path.display());
    Failure::new(Code::SettingsInvalid, message).with_next(Advice::CorrectOrDefault)
}

fn needs_folder(what: &str) -> Failure {
    let failure =
        Failure::new(Code::SettingsInvalid, format!("{what} needs a folder, and runs are in memory"));
    failure.with_next(Advice::KeepRunsInFolder)
}
