//! Keys as their owner handles them: set, listed, removed, and fetched from a program of the user's.
//!
//! [`crate::settings`] decides which of a provider's keys holds; this module changes the file of kept ones and tells
//! where each comes from. What always holds: no key is ever told, in whole or in part, and a file of keys is written
//! whole or not at all, for its owner alone.

mod command;

use std::io::Write;
use std::path::{Path, PathBuf};

use parallel_llm_engine::{Code, Failure};
use parallel_llm_provider::{ApiKey, Endpoint};
use secrecy::{ExposeSecret, SecretString};
use serde::Serialize;

pub(crate) use command::fetch;

use crate::files;
use crate::settings::{self, KeptKeys, KeyWish, Origin, ProviderSettings, Settings};

/// A key that was kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptKey {
    /// The file it is in.
    pub path: PathBuf,
    /// Whether it took the place of another.
    pub replaced: bool,
    /// What goes before it, where something does: a variable or a program.
    pub overruled_by: Option<String>,
}

/// Where one provider's key comes from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct KeyLine {
    /// The provider's id.
    pub provider: String,
    /// Its name for people.
    pub name: String,
    /// Who gives the key.
    pub source: KeySource,
    /// The variable that the key is looked for in, where there is one.
    pub variable: Option<String>,
    /// The program that prints it, where there is one.
    pub program: Option<String>,
    /// Whether calls need a key.
    pub needed: bool,
    /// Whether there is such a provider. A kept key outlives the table of its provider.
    pub configured: bool,
    /// What to do for a key; not told to programs.
    #[serde(skip)]
    pub advice: String,
}

/// Who gives a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum KeySource {
    /// A variable of the environment.
    Variable,
    /// A program of the user's.
    Command,
    /// The file of kept keys.
    Kept,
    /// Nobody.
    None,
}

/// Keeps a key for a provider, in place of the one kept before.
pub fn set(settings: &Settings, name: &str, text: &str) -> Result<KeptKey, Failure> {
    let provider = settings.provider(name)?;
    if ApiKey::parse(text)?.is_none() {
        let failure = Failure::new(Code::Usage, "no key was given");
        return Err(failure.with_next(format!("pipe the key in: `keys set {name} < FILE`")));
    }
    let path = keys_file(settings)?;
    let mut keys = settings::read_kept(path)?;
    let replaced = keys.insert(name.to_owned(), SecretString::from(text.trim())).is_some();
    write(path, &keys)?;
    let overruled_by = match &provider.key {
        KeyWish::Set { origin: Origin::Environment(variable), .. } => Some(variable.clone()),
        KeyWish::Command(words) => words.first().cloned(),
        _ => None,
    };
    Ok(KeptKey { path: path.to_owned(), replaced, overruled_by })
}

/// Takes a provider's kept key away. The provider need not be configured any more.
pub fn remove(settings: &Settings, name: &str) -> Result<PathBuf, Failure> {
    let path = keys_file(settings)?;
    let mut keys = settings::read_kept(path)?;
    if keys.remove(name).is_none() {
        settings.provider(name)?;
        let failure = Failure::new(Code::Usage, format!("no key of `{name}` is kept"));
        return Err(failure.with_next("see `keys list`"));
    }
    write(path, &keys)?;
    Ok(path.to_owned())
}

/// Where each provider's key comes from: the providers in their order, then kept keys of none.
pub fn list(settings: &Settings) -> Result<Vec<KeyLine>, Failure> {
    let mut lines: Vec<KeyLine> = settings.providers.iter().map(line).collect();
    let kept = settings.keys_file.as_deref().map(settings::read_kept).transpose()?.unwrap_or_default();
    let orphans = kept.into_keys().filter(|name| settings.provider(name).is_err());
    lines.extend(orphans.map(|name| KeyLine {
        name: name.clone(),
        source: KeySource::Kept,
        variable: None,
        program: None,
        needed: false,
        configured: false,
        advice: format!("take it away with `keys remove {name}`"),
        provider: name,
    }));
    Ok(lines)
}

fn line(provider: &ProviderSettings) -> KeyLine {
    let (source, program) = match &provider.key {
        KeyWish::Nothing => (KeySource::None, None),
        KeyWish::Set { origin: Origin::Kept(_), .. } => (KeySource::Kept, None),
        KeyWish::Set { .. } => (KeySource::Variable, None),
        KeyWish::Command(words) => (KeySource::Command, words.first().cloned()),
    };
    KeyLine {
        provider: provider.id.0.clone(),
        name: provider.name.clone(),
        source,
        variable: provider.key_variable.clone(),
        program,
        needed: needs_key(provider),
        configured: true,
        advice: provider.key_advice(),
    }
}

/// Whether calls need a key. One that cannot be called yet needs what it will need elsewhere than on this machine.
fn needs_key(provider: &ProviderSettings) -> bool {
    let base_url = provider.base_url.as_deref().unwrap_or_default();
    Endpoint::new(provider.id.clone(), base_url, None, provider.dialect)
        .map_or(true, |endpoint| endpoint.needs_key())
}

fn keys_file(settings: &Settings) -> Result<&Path, Failure> {
    settings.keys_file.as_deref().ok_or_else(|| {
        let failure = Failure::new(Code::SettingsInvalid, "there is no home folder to keep keys in");
        failure.with_next("set `HOME`, or give the key in a variable")
    })
}

fn write(path: &Path, keys: &KeptKeys) -> Result<(), Failure> {
    write_whole(path, settings::kept_text(keys).expose_secret()).map_err(|error| {
        let message = format!("the keys cannot be kept in `{}`: {error}", path.display());
        Failure::new(Code::OutputUnwritable, message).with_next("mend the permissions of its folder")
    })
}

/// Writes a temporary file, flushes it to the disk and renames it, in a folder that is nobody else's.
fn write_whole(path: &Path, text: &str) -> std::io::Result<()> {
    let folder = path.parent().ok_or(std::io::ErrorKind::NotFound)?;
    files::private_folder_builder().recursive(true).create(folder)?;
    // It may have been made by hand, for the settings; it is ours alone either way.
    #[cfg(unix)]
    std::fs::set_permissions(folder, std::os::unix::fs::PermissionsExt::from_mode(0o700))?;
    let temporary = path.with_extension("toml.new");
    // One that was left behind by a process that was killed while writing it.
    let _ = std::fs::remove_file(&temporary);
    let mut file = files::private_file_options().open(&temporary)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    std::fs::rename(&temporary, path)?;
    std::fs::File::open(folder)?.sync_all()
}
