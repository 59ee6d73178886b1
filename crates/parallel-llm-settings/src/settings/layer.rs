//! What one source says of the settings, and how sources are laid over each other.
//!
//! What always holds: a [`Layer`] that began as [`Layer::defaults`] has a value for every setting, of the type
//! that the table gives it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use parallel_llm_engine::Failure;
use parallel_llm_engine::PicoUsd;
use parallel_llm_engine::request::StoreMode;
use parallel_llm_engine::request::wait::Wait;

use super::kind::Value;
use super::origin::{self, Origin};
use super::table::Setting;
use super::{command, invalid};

/// One value and who set it.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub(super) value: Value,
    pub(super) origin: Origin,
}

/// Some settings' values.
#[derive(Clone, Debug, Default)]
pub(super) struct Layer(BTreeMap<Setting, Entry>);

impl Layer {
    /// A value for every setting, as the table has it.
    pub(super) fn defaults() -> Self {
        let entry = |setting: &Setting| {
            let value = match setting.default() {
                "" => Value::Unset,
                text => setting.kind().read(setting.name(), text).expect("a test reads every default"),
            };
            (*setting, Entry { value, origin: Origin::Default })
        };
        Self(Setting::ALL.iter().map(entry).collect())
    }

    /// What the flags of one command say: names of settings and their text.
    pub(super) fn of_flags(overrides: &[(&str, String)]) -> Result<Self, Failure> {
        let mut layer = Self::default();
        for (name, text) in overrides {
            let setting =
                Setting::by_name(name).ok_or_else(|| invalid(format!("`{name}` cannot be set by a flag")))?;
            let value = setting.kind().read(name, text);
            let value =
                value.map_err(|failure| super::at(&format!("flag {}", origin::flag(name)), failure))?;
            layer.set(setting, Entry { value, origin: Origin::Flag(setting.name()) });
        }
        Ok(layer)
    }

    pub(super) fn set(&mut self, setting: Setting, entry: Entry) {
        self.0.insert(setting, entry);
    }

    /// Lays another one on top: what it says holds.
    #[must_use]
    pub(super) fn under(mut self, upper: &Self) -> Self {
        self.0.extend(upper.0.iter().map(|(setting, entry)| (*setting, entry.clone())));
        self
    }

    /// Makes every path absolute, that of a program too: one in the user file counts from the file, any other from where the program
    /// runs, and `~/` from the user's home, because no shell has looked at it.
    pub(super) fn make_paths_absolute(&mut self, current_dir: &Path, home: Option<&Path>) {
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
                Value::Command(words) if command::is_path(&words[0]) => {
                    // Taken together from its parts, without the `.` that says where it is.
                    let program: PathBuf = absolute(Path::new(&words[0])).components().collect();
                    words[0] = program.to_string_lossy().into_owned();
                }
                _ => {}
            }
        }
    }

    /// Puts a path that is a name without a folder into this one.
    pub(super) fn set_folder(&mut self, setting: Setting, folder: impl FnOnce() -> Option<PathBuf>) {
        if let Some(Entry { value: Value::Path(path), .. }) = self.0.get_mut(&setting)
            && path.components().count() == 1
            && path.file_name().is_some()
            && !path.starts_with("~")
            && let Some(folder) = folder()
        {
            *path = folder.join(&*path);
        }
    }

    /// Fills in a path that has no default of its own.
    pub(super) fn set_default_path(&mut self, setting: Setting, path: impl FnOnce() -> Option<PathBuf>) {
        let entry = self.0.get_mut(&setting);
        if let Some(entry) = entry.filter(|entry| matches!(entry.value, Value::Unset))
            && let Some(path) = path()
        {
            entry.value = Value::Path(path);
        }
    }

    /// All entries, in the table's order.
    pub(super) fn entries(&self) -> impl Iterator<Item = (Setting, &Entry)> {
        self.0.iter().map(|(setting, entry)| (*setting, entry))
    }

    /// A setting's value and origin.
    pub(super) fn entry(&self, setting: Setting) -> &Entry {
        self.0.get(&setting).expect("a layer that began with the defaults has every setting")
    }
}

/// Reading a value as the type that the table gives it. Each of these is total over the settings of its kind;
/// that the right one is asked is held by the test that loads the defaults.
impl Layer {
    pub(super) fn whole<T: TryFrom<u64>>(&self, setting: Setting) -> T {
        self.whole_if_set(setting).unwrap_or_else(|| mistyped(setting))
    }

    pub(super) fn whole_if_set<T: TryFrom<u64>>(&self, setting: Setting) -> Option<T> {
        match self.entry(setting).value {
            Value::Whole(number) => Some(T::try_from(number).unwrap_or_else(|_| mistyped(setting))),
            Value::Unset => None,
            _ => mistyped(setting),
        }
    }

    pub(super) fn decimal(&self, setting: Setting) -> f64 {
        let Value::Decimal(number) = self.entry(setting).value else { mistyped(setting) };
        number
    }

    pub(super) fn usd(&self, setting: Setting) -> PicoUsd {
        self.usd_if_set(setting).unwrap_or_else(|| mistyped(setting))
    }

    pub(super) fn usd_if_set(&self, setting: Setting) -> Option<PicoUsd> {
        match self.entry(setting).value {
            Value::Usd(amount) => Some(amount),
            Value::Unset => None,
            _ => mistyped(setting),
        }
    }

    /// A program and its arguments, where one is set.
    pub(super) fn command_if_set(&self, setting: Setting) -> Option<Vec<String>> {
        match &self.entry(setting).value {
            Value::Command(words) => Some(words.clone()),
            Value::Unset => None,
            _ => mistyped(setting),
        }
    }

    /// A list; empty where there is none.
    pub(super) fn list(&self, setting: Setting) -> Vec<String> {
        match &self.entry(setting).value {
            Value::List(entries) => entries.clone(),
            Value::Unset => Vec::new(),
            _ => mistyped(setting),
        }
    }

    pub(super) fn word(&self, setting: Setting) -> String {
        self.word_if_set(setting).unwrap_or_else(|| mistyped(setting))
    }

    pub(super) fn word_if_set(&self, setting: Setting) -> Option<String> {
        match &self.entry(setting).value {
            Value::Word(word) => Some(word.clone()),
            Value::Unset | Value::Off => None,
            _ => mistyped(setting),
        }
    }

    pub(super) fn wait(&self, setting: Setting) -> Wait {
        let Value::Wait(rule, _) = self.entry(setting).value else { mistyped(setting) };
        rule
    }

    pub(super) fn store(&self, setting: Setting) -> StoreMode {
        let Value::Store(mode) = self.entry(setting).value else { mistyped(setting) };
        mode
    }

    pub(super) fn switch(&self, setting: Setting) -> bool {
        self.switch_if_set(setting).unwrap_or_else(|| mistyped(setting))
    }

    pub(super) fn switch_if_set(&self, setting: Setting) -> Option<bool> {
        match self.entry(setting).value {
            Value::Switch(on) => Some(on),
            Value::Unset => None,
            _ => mistyped(setting),
        }
    }

    pub(super) fn path(&self, setting: Setting) -> Option<PathBuf> {
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
