//! The user's own check of answers, as it is run.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

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
    /// Whether its program is there: at its path, or by its name in a folder of `PATH`. It is looked for before anything is
    /// paid, and may be gone by the time it is run.
    pub fn is_found(&self) -> bool {
        let program = Path::new(&self.words[0]);
        if program.components().count() > 1 {
            return is_program(program);
        }
        let folders = self.environment.iter().find(|(name, _)| *name == "PATH").map(|(_, folders)| folders);
        // Windows adds endings of its own to a name, and without `PATH` the system has its own folders.
        let Some(folders) = folders.filter(|_| cfg!(unix)) else { return true };
        std::env::split_paths(folders).any(|folder| is_program(&folder.join(program)))
    }

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

#[cfg(unix)]
fn is_program(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    path.metadata().is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
}

#[cfg(not(unix))]
fn is_program(path: &Path) -> bool {
    path.is_file() || path.with_extension("exe").is_file()
}
