//! Sets, lists, removes and fetches keys.
//!
//! [`crate::settings`] decides which key of a provider is used; this module writes the file of stored keys and reports
//! the sources. Invariants: no part of a key is ever shown. The file is private, and written whole or not at all.

mod command;
mod doubt;
mod lock;

use std::io::Write;
use std::path::{Path, PathBuf};

use parallel_llm_engine::value::next::{Advice, MachineStep, Next, Operation};
use parallel_llm_engine::{Code, Failure};
use parallel_llm_provider::{ApiKey, Known};
use secrecy::{ExposeSecret, SecretString};
use serde::Serialize;

pub use command::fetch;
pub use doubt::is_key;
use lock::Lock;

use crate::private_files;
use crate::settings::{self, KeptKeys, Origin, ProviderKey, ProviderSettings, Settings};

/// Longest key text in bytes, including white space: a dozen times a typical key, and below the 4096 bytes at which
/// terminals cut a line.
pub const KEY_BYTES_MAX: usize = 4_095;

/// Shortest key in bytes. Providers' keys have at least 30 characters, but keys of home servers are short.
const KEY_BYTES_MIN: usize = 4;

/// A key that was stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptKey {
    /// The file that holds it.
    pub path: PathBuf,
    /// Whether it replaced another key.
    pub replaced: bool,
    /// The variable or program that takes precedence over it, if any.
    pub overruled_by: Option<String>,
}

/// The source of one provider's key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct KeyLine {
    /// The provider's id.
    pub provider: String,
    /// Its display name.
    pub name: String,
    /// The source of the key.
    pub source: KeySource,
    /// The variable that may hold the key, if any.
    pub variable: Option<String>,
    /// The program that prints the key, if any.
    pub program: Option<String>,
    /// Whether calls need a key.
    pub needed: bool,
    /// Whether the provider is configured. A stored key outlives its provider's table.
    pub configured: bool,
    /// The next steps to get a key; not part of the JSON output.
    #[serde(skip)]
    pub advice: Vec<Next>,
}

/// The source of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum KeySource {
    /// A variable of the environment.
    Variable,
    /// A program.
    Command,
    /// The file of stored keys.
    Kept,
    /// No source.
    None,
}

/// Whether a provider is known by this name without any settings.
pub fn is_known_provider(name: &str) -> bool {
    Known::by_id(name).is_some()
}

/// Stores a provider's key, replacing an earlier one. What is hardly a key of this provider is refused, unless the user
/// `insists`.
pub async fn set(settings: &Settings, name: &str, text: &str, insists: bool) -> Result<KeptKey, Failure> {
    let provider = settings.provider(name)?;
    let name = &*provider.id.0;
    if text.len() > KEY_BYTES_MAX {
        let failure = Failure::new(Code::Usage, format!("the key is longer than {KEY_BYTES_MAX} bytes"));
        return Err(failure.with_next(Advice::GiveKeyAlone));
    }
    if ApiKey::parse(text)?.is_none() {
        let failure = Failure::new(Code::Usage, "no key was given");
        return Err(failure.with_next(Next::Type(format!("keys set {name} < FILE").into())));
    }
    if let Some(why) = not_a_key(text.trim()) {
        let failure = Failure::new(Code::Usage, format!("what was given is no key: {why}"));
        return Err(failure.with_next(Advice::CopyKeyAlone));
    }
    if let Some(failure) = doubt::refusal(name, text.trim()).filter(|_| !insists) {
        return Err(failure);
    }
    let path = keys_file(settings)?;
    let _lock = lock(path).await?;
    let mut keys = settings::read_kept(path)?;
    let replaced = keys.insert(name.to_owned(), SecretString::from(text.trim())).is_some();
    write(path, &keys)?;
    let overruled_by = match &provider.key {
        ProviderKey::Set { origin: Origin::Environment(variable), .. } => Some(variable.clone()),
        ProviderKey::Command(words) => words.first().cloned(),
        _ => None,
    };
    Ok(KeptKey { path: path.to_owned(), replaced, overruled_by })
}

/// Why a text of visible ASCII cannot be a key, without repeating any of it.
fn not_a_key(text: &str) -> Option<&'static str> {
    let is_assignment = || {
        text.split_once('=').is_some_and(|(name, value)| {
            !value.trim_matches('=').is_empty()
                && name.contains('_')
                && name.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_')
        })
    };
    match text {
        _ if text.len() < KEY_BYTES_MIN => Some("it is too short"),
        _ if text.contains(['"', '\'', '`']) => Some("it has quotes in it"),
        _ if text.contains("://") => Some("it is an address"),
        _ if text.starts_with(['/', '~', '.', '@']) => Some("it is the name of a file"),
        _ if text.starts_with('$') => Some("it is the name of a variable"),
        _ if is_assignment() => Some("it begins with the name of a variable"),
        _ if text.starts_with("Bearer") => Some("it begins with the word `Bearer`"),
        _ if Path::new(text).exists() => Some("it is the name of a file"),
        _ => None,
    }
}

/// Whether a key of this provider is stored, whether used or not.
pub fn is_kept(settings: &Settings, name: &str) -> Result<bool, Failure> {
    let kept = settings.keys_file.as_deref().map(settings::read_kept).transpose()?;
    Ok(kept.is_some_and(|keys| keys.contains_key(name)))
}

/// Removes a provider's stored key, even if the provider is no longer configured.
pub async fn remove(settings: &Settings, name: &str) -> Result<PathBuf, Failure> {
    let path = keys_file(settings)?;
    // Nothing is created if there is nothing to remove.
    if !settings::read_kept(path)?.contains_key(name) {
        settings.provider(name)?;
        let failure = Failure::new(Code::Usage, format!("no key of `{name}` is kept"));
        return Err(failure.with_next(Operation::ListKeys));
    }
    let _lock = lock(path).await?;
    let mut keys = settings::read_kept(path)?;
    keys.remove(name);
    write(path, &keys)?;
    Ok(path.to_owned())
}

/// The source of every provider's key, then stored keys without a provider.
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
        advice: Next::Type(format!("keys remove {name}").into()).into(),
        provider: name,
    }));
    Ok(lines)
}

fn line(provider: &ProviderSettings) -> KeyLine {
    let (source, program) = match &provider.key {
        ProviderKey::Missing => (KeySource::None, None),
        ProviderKey::Set { origin: Origin::Kept(_), .. } => (KeySource::Kept, None),
        ProviderKey::Set { .. } => (KeySource::Variable, None),
        ProviderKey::Command(words) => (KeySource::Command, words.first().cloned()),
    };
    KeyLine {
        provider: provider.id.0.clone(),
        name: provider.name.clone(),
        source,
        variable: provider.key_variable.clone(),
        program,
        needed: provider.needs_key(),
        configured: true,
        advice: provider.key_advice(),
    }
}

fn keys_file(settings: &Settings) -> Result<&Path, Failure> {
    settings.keys_file.as_deref().ok_or_else(|| {
        let failure = Failure::new(Code::SettingsInvalid, "there is no home folder to keep keys in");
        failure.with_next([
            Next::Machine(MachineStep::SetVariable("HOME".into())),
            Next::Do(Advice::GiveKeyInVariable),
        ])
    })
}

/// Creates the private folder of the keys and takes the lock.
async fn lock(path: &Path) -> Result<Lock, Failure> {
    make_folder(path).map_err(|error| unwritable(path, &error))?;
    Lock::acquire(path).await
}

fn make_folder(path: &Path) -> std::io::Result<()> {
    let folder = path.parent().ok_or(std::io::ErrorKind::NotFound)?;
    private_files::folder_builder().recursive(true).create(folder)?;
    // It may have been created by hand for the settings; make it private in any case.
    private_files::make_private(folder)
}

fn write(path: &Path, keys: &KeptKeys) -> Result<(), Failure> {
    let text = settings::kept_text(keys)?;
    let temporary = lock::temporary(path);
    let written = write_whole(path, &temporary, text.expose_secret());
    written.map_err(|error| {
        // No part of a key must remain. A failure of this adds nothing to the first one.
        let _ = std::fs::remove_file(&temporary);
        unwritable(path, &error)
    })
}

fn unwritable(path: &Path, error: &std::io::Error) -> Failure {
    let message = format!("the keys cannot be kept in `{}`: {error}", path.display());
    Failure::new(Code::OutputUnwritable, message).with_next(Advice::CorrectPermissions)
}

/// Writes a temporary file, flushes it and renames it.
fn write_whole(path: &Path, temporary: &Path, text: &str) -> std::io::Result<()> {
    // Left behind by a process with the same id that was killed during a write.
    let _ = std::fs::remove_file(temporary);
    let mut file = private_files::file_options().open(temporary)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    std::fs::rename(temporary, path)?;
    let folder = path.parent().ok_or(std::io::ErrorKind::NotFound)?;
    std::fs::File::open(folder)?.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_text_that_cannot_be_a_key_has_its_own_reason() {
        for (text, why) in [
            ("sk", Some("it is too short")),
            ("\"sk-or-v1-00\"", Some("it has quotes in it")),
            ("'sk-or-v1-00'", Some("it has quotes in it")),
            ("https://openrouter.ai/keys", Some("it is an address")),
            ("/run/secrets/openrouter", Some("it is the name of a file")),
            ("~/key.txt", Some("it is the name of a file")),
            ("./key.txt", Some("it is the name of a file")),
            ("Cargo.toml", Some("it is the name of a file")),
            ("$OPENROUTER_API_KEY", Some("it is the name of a variable")),
            ("OPENROUTER_API_KEY=sk-or-v1-00", Some("it begins with the name of a variable")),
            ("Bearer:sk-or", Some("it begins with the word `Bearer`")),
            ("sk-or-v1-0000", None),
            ("AIzaSy_-0000", None),
            ("a/b+c==", None),
            ("0000-0000", None),
        ] {
            assert_eq!(not_a_key(text), why, "{text}");
        }
    }
}
