//! Finding the settings files and reading their text, bounded.
//!
//! Leaves to [`super::document`] what the text means.

use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};

use parallel_llm_engine::Failure;
use parallel_llm_engine::value::next::{Advice, MachineStep, Next};

use super::environment::{CONFIG, Environment};
use super::{FOLDER, invalid};

/// What the user file is called, in our folder of the configuration.
const USER_FILE: &str = "config.toml";
/// What a project's file is called.
pub(super) const PROJECT_FILE: &str = ".parallel-llm.toml";
/// The largest file that is read: a thousand times what anyone writes by hand.
const FILE_BYTES_MAX: u64 = 1 << 20;
/// How many folders are looked through for the project's file. Deeper trees are not made by hand.
const FOLDERS_MAX: usize = 64;

/// A file and what it holds.
#[derive(Debug)]
pub(super) struct Source {
    pub(super) path: PathBuf,
    pub(super) text: String,
}

/// The user's own file: the one that the environment names, which must exist, or XDG's, which may.
pub(super) fn user(environment: &Environment, current_dir: &Path) -> Result<Option<Source>, Failure> {
    if let Some(named) = environment.text(CONFIG)? {
        let path = current_dir.join(named);
        let missing = || {
            invalid(format!("environment {CONFIG}: there is no file `{}`", path.display())).with_next([
                Next::Do(Advice::WriteThatFile),
                MachineStep::UnsetVariable(CONFIG.into()).into(),
            ])
        };
        return read(&path)?.ok_or_else(missing).map(Some);
    }
    match environment.folders() {
        Some(folders) => read(&folders.config.join(FOLDER).join(USER_FILE)),
        None => Ok(None),
    }
}

/// Where the user's own file is, whether it is there or not; `None` without a home.
pub(super) fn user_path(environment: &Environment, current_dir: &Path) -> Option<PathBuf> {
    if let Ok(Some(named)) = environment.text(CONFIG) {
        return Some(current_dir.join(named));
    }
    environment.folders().map(|folders| folders.config.join(FOLDER).join(USER_FILE))
}

/// The project's file: in the current folder or the nearest above it, as far up as the repository's root or the
/// user's home. Below neither, only in the current folder: what lies above may be anyone's.
pub(super) fn project(environment: &Environment, current_dir: &Path) -> Result<Option<Source>, Failure> {
    let home = environment.folders().map(|folders| folders.home.as_path());
    let folders: Vec<&Path> = current_dir.ancestors().take(FOLDERS_MAX).collect();
    let is_top = |folder: &&Path| Some(*folder) == home || folder.join(".git").exists();
    let top = folders.iter().position(is_top).unwrap_or(0);
    for folder in folders.iter().take(top + 1) {
        if let Some(source) = read(&folder.join(PROJECT_FILE))? {
            return Ok(Some(source));
        }
    }
    Ok(None)
}

/// A file's text; `None` where there is no file.
fn read(path: &Path) -> Result<Option<Source>, Failure> {
    let refused = |why: &str| {
        invalid(format!("cannot read `{}`: {why}", path.display()))
            .with_next([Next::Do(Advice::RepairFile), Next::Do(Advice::MoveOutOfTheWay)])
    };
    match path.metadata() {
        // Opening anything else, such as a pipe, could wait for ever.
        Ok(metadata) if !metadata.is_file() => return Err(refused("it is not a file")),
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            return Ok(None);
        }
        Ok(_) => {}
        Err(error) => return Err(refused(&error.to_string())),
    }
    let mut bytes = Vec::new();
    let file = File::open(path).and_then(|file| file.take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes));
    file.map_err(|error| refused(&error.to_string()))?;
    if bytes.len() as u64 > FILE_BYTES_MAX {
        return Err(refused(&format!("it is larger than {FILE_BYTES_MAX} bytes")));
    }
    let text = String::from_utf8(bytes).map_err(|error| {
        refused(&format!("it is not valid UTF-8 from byte {}", error.utf8_error().valid_up_to()))
    })?;
    Ok(Some(Source { path: path.to_owned(), text }))
}
