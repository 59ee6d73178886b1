//! Keys as their owner handles them: set, listed, removed, and fetched from a program of the user's.
//!
//! [`crate::settings`] decides which of a provider's keys holds; this module changes the file of kept ones and tells
//! where each comes from. What always holds: no key is ever told, in whole or in part, and a file of keys is written
//! whole or not at all, for its owner alone.

mod command;
mod lock;

use std::io::Write;
use std::path::{Path, PathBuf};

use parallel_llm_engine::value::next::{Advice, MachineStep, Next, Operation};
use parallel_llm_engine::{Code, Failure};
use parallel_llm_provider::ApiKey;
use secrecy::{ExposeSecret, SecretString};
use serde::Serialize;

pub use command::fetch;
use lock::Lock;

use crate::private_files;
use crate::settings::{self, KeptKeys, Origin, ProviderKey, ProviderSettings, Settings};

/// The longest text of a key in bytes, the white space around it included: a dozen times a usual key, and short of the
/// 4096 at which terminals cut a line.
pub const KEY_BYTES_MAX: usize = 4_095;

/// The shortest text that is taken for a key. Those of providers have 30 characters and more; servers at home are given
/// short ones.
const KEY_BYTES_MIN: usize = 4;

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
    pub advice: Vec<Next>,
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
pub async fn set(settings: &Settings, name: &str, text: &str) -> Result<KeptKey, Failure> {
    let provider = settings.provider(name)?;
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

/// Why a text of visible ASCII cannot be a key; nothing of it is repeated.
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
        _ if is_assignment() => Some("the name of a variable stands before it"),
        _ if text.starts_with("Bearer") => Some("the word `Bearer` stands before it"),
        _ if Path::new(text).exists() => Some("it is the name of a file"),
        _ => None,
    }
}

/// Whether a key of a provider is kept, be it in force or not.
pub fn is_kept(settings: &Settings, name: &str) -> Result<bool, Failure> {
    let kept = settings.keys_file.as_deref().map(settings::read_kept).transpose()?;
    Ok(kept.is_some_and(|keys| keys.contains_key(name)))
}

/// Takes a provider's kept key away. The provider need not be configured any more.
pub async fn remove(settings: &Settings, name: &str) -> Result<PathBuf, Failure> {
    let path = keys_file(settings)?;
    // Nothing is made where there is nothing to take away.
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

/// The right to change the kept keys, and a folder for them that is nobody else's.
async fn lock(path: &Path) -> Result<Lock, Failure> {
    make_folder(path).map_err(|error| unwritable(path, &error))?;
    Lock::acquire(path).await
}

fn make_folder(path: &Path) -> std::io::Result<()> {
    let folder = path.parent().ok_or(std::io::ErrorKind::NotFound)?;
    private_files::folder_builder().recursive(true).create(folder)?;
    // It may have been made by hand, for the settings; it is ours alone either way.
    private_files::make_private(folder)
}

fn write(path: &Path, keys: &KeptKeys) -> Result<(), Failure> {
    let text = settings::kept_text(keys)?;
    let temporary = lock::temporary(path);
    let written = write_whole(path, &temporary, text.expose_secret());
    written.map_err(|error| {
        // Nothing of a key stays behind; what is wrong with that is no news beside the failure.
        let _ = std::fs::remove_file(&temporary);
        unwritable(path, &error)
    })
}

fn unwritable(path: &Path, error: &std::io::Error) -> Failure {
    let message = format!("the keys cannot be kept in `{}`: {error}", path.display());
    Failure::new(Code::OutputUnwritable, message).with_next(Advice::CorrectPermissions)
}

/// Writes a temporary file, flushes it to the disk and renames it.
fn write_whole(path: &Path, temporary: &Path, text: &str) -> std::io::Result<()> {
    // One that was left behind by a process of the same number that was killed while writing it.
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
    fn what_cannot_be_a_key_is_told_apart() {
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
            ("OPENROUTER_API_KEY=sk-or-v1-00", Some("the name of a variable stands before it")),
            ("Bearer:sk-or", Some("the word `Bearer` stands before it")),
            ("sk-or-v1-0000", None),
            ("AIzaSy_-0000", None),
            ("a/b+c==", None),
            ("0000-0000", None),
        ] {
            assert_eq!(not_a_key(text), why, "{text}");
        }
    }
}
