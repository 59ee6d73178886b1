//! The user's own check of answers, as it is run.

use std::ffi::OsString;
use std::path::PathBuf;

use super::environment::Environment;
use super::layer::Layer;
use super::table::Setting;

/// A program that says whether an answer is right.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckSettings {
    /// The program, by its whole path or by its name alone, and its arguments. Never empty.
    pub words: Vec<String>,
    /// How long the check of one answer may take, in milliseconds.
    pub timeout_ms: u64,
    /// All it is told of the environment: no key is among it.
    pub environment: Vec<(&'static str, OsString)>,
    /// Where its folders are made.
    pub folder: PathBuf,
}

impl CheckSettings {
    /// What tells this check from another.
    pub(super) fn fingerprint(&self) -> String {
        let mut hasher = blake3::Hasher::new();
        for word in &self.words {
            hasher.update(&word.len().to_le_bytes()).update(word.as_bytes());
        }
        hasher.finalize().to_hex().to_string()
    }
}

/// The check, where one is set.
pub(super) fn read(layer: &Layer, environment: &Environment) -> Option<CheckSettings> {
    Some(CheckSettings {
        words: layer.command_if_set(Setting::CheckCommand)?,
        timeout_ms: layer.whole(Setting::CheckTimeoutMs),
        environment: environment.handed_on(),
        folder: environment.temporary(),
    })
}
