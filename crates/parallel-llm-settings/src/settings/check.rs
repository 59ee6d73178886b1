//! The settings of the user's check command for answers.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use parallel_llm_engine::value::next::Advice;
use parallel_llm_engine::{Code, Failure};

use super::sources::environment::Environment;
use super::sources::layer::Layer;
use super::table::Setting;
use super::value::origin::Origin;

/// A program that decides whether an answer is correct.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckSettings {
    /// The program, by full path or by name, and its arguments. Never empty.
    pub words: Vec<String>,
    /// Time limit of one check, in milliseconds.
    pub timeout_ms: u64,
    /// All variables it receives; none holds a key.
    pub environment: Vec<(&'static str, OsString)>,
    /// Where its working folders are created.
    pub folder: PathBuf,
    /// Whether a flag of this command named it.
    pub is_asked_for: bool,
}

impl CheckSettings {
    /// Fails if the command cannot run, before anything is paid: the program is missing at its path or in `PATH`, or an
    /// argument names a file that only exists in the current folder. Both may still change before it runs.
    pub fn check(&self) -> Result<(), Failure> {
        let refused = |why: String| Err(Failure::new(Code::CheckUnavailable, why));
        if !self.is_found() {
            return refused(format!("the check command `{}` is not there, or is no program", self.words[0]));
        }
        let is_here = |word: &&String| Path::new(word).is_relative() && Path::new(word).is_file();
        match self.words[1..].iter().find(is_here) {
            Some(word) => {
                let why =
                    format!("the check command runs in an empty folder, where there is no file `{word}`");
                refused(why).map_err(|failure| failure.with_next(Advice::WriteWholePath))
            }
            None => Ok(()),
        }
    }

    fn is_found(&self) -> bool {
        let program = Path::new(&self.words[0]);
        if program.components().count() > 1 {
            return is_program(program);
        }
        let folders = self.environment.iter().find(|(name, _)| *name == "PATH").map(|(_, folders)| folders);
        // Windows adds extensions to names, and has default folders without `PATH`.
        let Some(folders) = folders.filter(|_| cfg!(unix)) else { return true };
        std::env::split_paths(folders).any(|folder| is_program(&folder.join(program)))
    }

    /// Distinguishes this check from others.
    pub(super) fn fingerprint(&self) -> String {
        let mut hasher = blake3::Hasher::new();
        for word in &self.words {
            hasher.update(&word.len().to_le_bytes()).update(word.as_bytes());
        }
        hasher.finalize().to_hex().to_string()
    }
}

/// The check command, if one is set.
pub(super) fn read(layer: &Layer, environment: &Environment) -> Option<CheckSettings> {
    Some(CheckSettings {
        words: layer.command_if_set(Setting::CheckCommand)?,
        timeout_ms: layer.whole(Setting::CheckTimeoutMs),
        environment: environment.check_variables(),
        folder: environment.temporary(),
        is_asked_for: matches!(layer.entry(Setting::CheckCommand).origin, Origin::Flag(_)),
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
