//! Finds the settings files and reads their text, up to a bound.
//!
//! [`crate::settings::document`] parses the text.

use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};

use parallel_llm_engine::Failure;
use parallel_llm_engine::value::next::{Advice, MachineStep, Next};

use super::environment::{CONFIG, Environment, FOLDER};
use crate::settings::value::failure::invalid;

/// The name of the user file in our configuration folder.
const USER_FILE: &str = "config.toml";
/// The name of a project file.
pub(in crate::settings) const PROJECT_FILE: &str = ".parallel-llm.toml";
/// Largest file in bytes: a thousand times as long as anyone writes by hand.
const FILE_BYTES_MAX: u64 = 1 << 20;
/// Most folders searched for a project file; deeper trees are not made by hand.
const FOLDERS_MAX: usize = 64;

/// A file and its text.
#[derive(Debug)]
pub(in crate::settings) struct Source {
    pub(in crate::settings) path: PathBuf,
    pub(in crate::settings) text: String,
}

/// The user's file: the one named by the environment, which must exist, or XDG's, which may be missing.
pub(in crate::settings) fn user(
    environment: &Environment,
    current_dir: &Path,
) -> Result<Option<Source>, Failure> {
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

/// The path of the user's file, which may not exist; `None` without a home folder.
pub(in crate::settings) fn user_path(environment: &Environment, current_dir: &Path) -> Option<PathBuf> {
    if let Ok(Some(named)) = environment.text(CONFIG) {
        return Some(current_dir.join(named));
    }
    environment.folders().map(|folders| folders.config.join(FOLDER).join(USER_FILE))
}

/// The project file: in the current folder or the nearest parent, up to the repository's root or the user's home.
/// Outside of both only in the current folder, since parents may belong to others.
pub(in crate::settings) fn project(
    environment: &Environment,
    current_dir: &Path,
) -> Result<Option<Source>, Failure> {
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

/// The text of a file; `None` if there is no file.
fn read(path: &Path) -> Result<Option<Source>, Failure> {
    let refused = |why: &str| {
        invalid(format!("cannot read `{}`: {why}", path.display()))
            .with_next([Next::Do(Advice::RepairFile), Next::Do(Advice::MoveOutOfTheWay)])
    };
    let Some(bytes) = contents(path, FILE_BYTES_MAX).map_err(|why| refused(&why))? else { return Ok(None) };
    let text = String::from_utf8(bytes).map_err(|error| {
        refused(&format!("it is not valid UTF-8 from byte {}", error.utf8_error().valid_up_to()))
    })?;
    Ok(Some(Source { path: path.to_owned(), text }))
}

/// The bytes of a file, at most so many; `None` if there is no file. Fails with the reason.
pub(in crate::settings) fn contents(path: &Path, bytes_max: u64) -> Result<Option<Vec<u8>>, String> {
    match path.metadata() {
        // Opening anything else, such as a pipe, could block forever.
        Ok(metadata) if !metadata.is_file() => return Err("it is not a file".to_owned()),
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            return Ok(None);
        }
        Ok(_) => {}
        Err(error) => return Err(error.to_string()),
    }
    let mut bytes = Vec::new();
    let file = File::open(path).and_then(|file| file.take(bytes_max + 1).read_to_end(&mut bytes));
    file.map_err(|error| error.to_string())?;
    if bytes.len() as u64 > bytes_max {
        return Err(format!("it is larger than {bytes_max} bytes"));
    }
    Ok(Some(bytes))
}
