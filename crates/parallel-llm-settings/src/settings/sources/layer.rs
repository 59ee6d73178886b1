//! The settings of one source, and merging sources.
//!
//! Invariant: a [`Layer`] that began as [`Layer::defaults`] has a value for every setting, of the type in the table.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use parallel_llm_engine::Failure;
use parallel_llm_engine::PicoUsd;
use parallel_llm_engine::request::StoreMode;
use parallel_llm_engine::request::wait::Wait;

use crate::settings::table::Setting;
use crate::settings::value::command;
use crate::settings::value::database_url::DatabaseUrl;
use crate::settings::value::failure::invalid;
use crate::settings::value::kind::Value;
use crate::settings::value::origin::{self, Origin};

/// A value and its origin.
#[derive(Clone, Debug)]
pub(in crate::settings) struct Entry {
    pub(in crate::settings) value: Value,
    pub(in crate::settings) origin: Origin,
}

/// The values of some settings.
#[derive(Clone, Debug, Default)]
pub(in crate::settings) struct Layer(BTreeMap<Setting, Entry>);

impl Layer {
    /// The default of every setting.
    pub(in crate::settings) fn defaults() -> Self {
        let entry = |setting: &Setting| {
            let value = match setting.default() {
                "" => Value::Unset,
                text => setting.kind().read(setting.name(), text).expect("a test reads every default"),
            };
            (*setting, Entry { value, origin: Origin::Default })
        };
        Self(Setting::ALL.iter().map(entry).collect())
    }

    /// The settings given as flags: names and texts.
    pub(in crate::settings) fn of_flags(overrides: &[(&str, String)]) -> Result<Self, Failure> {
        let mut layer = Self::default();
        for (name, text) in overrides {
            let setting =
                Setting::by_name(name).ok_or_else(|| invalid(format!("`{name}` cannot be set by a flag")))?;
            let value = setting.kind().read(name, text);
            let value = value.map_err(|failure| {
                crate::settings::value::failure::at(&format!("flag {}", origin::flag(name)), failure)
            })?;
            layer.set(setting, Entry { value, origin: Origin::Flag(setting.name()) });
        }
        Ok(layer)
    }

    /// The settings given in code: names and texts.
    pub(in crate::settings) fn of_code(values: &[(&str, String)]) -> Result<Self, Failure> {
        let mut layer = Self::default();
        for (name, text) in values {
            let (setting, value) = Setting::read(name, text)?;
            layer.set(setting, Entry { value, origin: Origin::Code });
        }
        Ok(layer)
    }

    pub(in crate::settings) fn set(&mut self, setting: Setting, entry: Entry) {
        self.0.insert(setting, entry);
    }

    /// Merges another layer on top; its values take precedence.
    #[must_use]
    pub(in crate::settings) fn under(mut self, upper: &Self) -> Self {
        self.0.extend(upper.0.iter().map(|(setting, entry)| (*setting, entry.clone())));
        self
    }

    /// Makes every path absolute, including those of programs. Paths in the user file are relative to the file, others
    /// to the current folder; `~/` is the home folder, since no shell expands it.
    pub(in crate::settings) fn make_paths_absolute(&mut self, current_dir: &Path, home: Option<&Path>) {
        for entry in self.0.values_mut() {
            let absolute = |path: &Path| match (path.strip_prefix("~"), home, &entry.origin) {
                (Ok(rest), Some(home), _) => home.join(rest),
                (_, _, Origin::User(location)) => {
                    current_dir.join(location.path.parent().unwrap_or(current_dir)).join(path)
                }
                _ => current_dir.join(path),
            };
            match &mut entry.value {
                Value::Path(path) => *path = absolute(path),
                Value::Paths(paths) => paths.iter_mut().for_each(|path| *path = absolute(path)),
                Value::Command(words) if command::is_path(&words[0]) => {
                    // Rebuilt from its components to drop a leading `.`.
                    let program: PathBuf = absolute(Path::new(&words[0])).components().collect();
                    words[0] = program.to_string_lossy().into_owned();
                }
                _ => {}
            }
        }
    }

    /// Moves a bare file name into this folder.
    pub(in crate::settings) fn set_folder(
        &mut self,
        setting: Setting,
        folder: impl FnOnce() -> Option<PathBuf>,
    ) {
        if let Some(Entry { value: Value::Path(path), .. }) = self.0.get_mut(&setting)
            && path.components().count() == 1
            && path.file_name().is_some()
            && !path.starts_with("~")
            && let Some(folder) = folder()
        {
            *path = folder.join(&*path);
        }
    }

    /// Sets the default of a path that depends on the machine.
    pub(in crate::settings) fn set_default_path(
        &mut self,
        setting: Setting,
        path: impl FnOnce() -> Option<PathBuf>,
    ) {
        let entry = self.0.get_mut(&setting);
        if let Some(entry) = entry.filter(|entry| matches!(entry.value, Value::Unset))
            && let Some(path) = path()
        {
            entry.value = Value::Path(path);
        }
    }

    /// All entries in the order of the table.
    pub(in crate::settings) fn entries(&self) -> impl Iterator<Item = (Setting, &Entry)> {
        self.0.iter().map(|(setting, entry)| (*setting, entry))
    }

    /// A setting's value and origin.
    pub(in crate::settings) fn entry(&self, setting: Setting) -> &Entry {
        self.0.get(&setting).expect("a layer that began with the defaults has every setting")
    }
}

/// Typed access. Each method works for all settings of its kind; a test that loads the defaults ensures that the right
/// one is used.
impl Layer {
    pub(in crate::settings) fn whole<T: TryFrom<u64>>(&self, setting: Setting) -> T {
        self.whole_if_set(setting).unwrap_or_else(|| mistyped(setting))
    }

    pub(in crate::settings) fn whole_if_set<T: TryFrom<u64>>(&self, setting: Setting) -> Option<T> {
        match self.entry(setting).value {
            Value::Whole(number) => Some(T::try_from(number).unwrap_or_else(|_| mistyped(setting))),
            Value::Unset => None,
            _ => mistyped(setting),
        }
    }

    pub(in crate::settings) fn decimal(&self, setting: Setting) -> f64 {
        let Value::Decimal(number) = self.entry(setting).value else { mistyped(setting) };
        number
    }

    pub(in crate::settings) fn usd(&self, setting: Setting) -> PicoUsd {
        self.usd_if_set(setting).unwrap_or_else(|| mistyped(setting))
    }

    pub(in crate::settings) fn usd_if_set(&self, setting: Setting) -> Option<PicoUsd> {
        match self.entry(setting).value {
            Value::Usd(amount) => Some(amount),
            Value::Unset => None,
            _ => mistyped(setting),
        }
    }

    /// A program and its arguments, if set.
    pub(in crate::settings) fn command_if_set(&self, setting: Setting) -> Option<Vec<String>> {
        match &self.entry(setting).value {
            Value::Command(words) => Some(words.clone()),
            Value::Unset => None,
            _ => mistyped(setting),
        }
    }

    /// A list; empty if not set.
    pub(in crate::settings) fn list(&self, setting: Setting) -> Vec<String> {
        match &self.entry(setting).value {
            Value::List(entries) => entries.clone(),
            Value::Unset => Vec::new(),
            _ => mistyped(setting),
        }
    }

    pub(in crate::settings) fn word(&self, setting: Setting) -> String {
        self.word_if_set(setting).unwrap_or_else(|| mistyped(setting))
    }

    pub(in crate::settings) fn word_if_set(&self, setting: Setting) -> Option<String> {
        match &self.entry(setting).value {
            Value::Word(word) => Some(word.clone()),
            Value::Unset | Value::Off => None,
            _ => mistyped(setting),
        }
    }

    pub(in crate::settings) fn wait(&self, setting: Setting) -> Wait {
        let Value::Wait(rule, _) = self.entry(setting).value else { mistyped(setting) };
        rule
    }

    pub(in crate::settings) fn store(&self, setting: Setting) -> StoreMode {
        let Value::Store(mode) = self.entry(setting).value else { mistyped(setting) };
        mode
    }

    pub(in crate::settings) fn switch(&self, setting: Setting) -> bool {
        self.switch_if_set(setting).unwrap_or_else(|| mistyped(setting))
    }

    pub(in crate::settings) fn switch_if_set(&self, setting: Setting) -> Option<bool> {
        match self.entry(setting).value {
            Value::Switch(on) => Some(on),
            Value::Unset => None,
            _ => mistyped(setting),
        }
    }

    /// Paths; empty if not set.
    pub(in crate::settings) fn paths(&self, setting: Setting) -> Vec<PathBuf> {
        match &self.entry(setting).value {
            Value::Paths(paths) => paths.clone(),
            Value::Unset => Vec::new(),
            _ => mistyped(setting),
        }
    }

    /// The address of a database server; `None` if it is off or not set.
    pub(in crate::settings) fn server(&self, setting: Setting) -> Option<DatabaseUrl> {
        match &self.entry(setting).value {
            Value::Server(url) => Some(url.clone()),
            Value::Unset | Value::Off => None,
            _ => mistyped(setting),
        }
    }

    pub(in crate::settings) fn path(&self, setting: Setting) -> Option<PathBuf> {
        match &self.entry(setting).value {
            Value::Path(path) => Some(path.clone()),
            Value::Unset => None,
            _ => mistyped(setting),
        }
    }
}

fn mistyped(setting: Setting) -> ! {
    unreachable!("the table says that `{}` is {}", setting.name(), setting.kind())
}
