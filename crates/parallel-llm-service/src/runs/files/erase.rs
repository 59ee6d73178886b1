//! Removes the files of a run, and nothing else.
//!
//! Invariants: only a folder named by the run's id is read, and only regular files with this program's names are
//! removed. No link is followed, even if one is swapped in meanwhile, because every step starts from the open folder.

use std::path::{Path, PathBuf};

use parallel_llm_engine::run::Run;
use parallel_llm_engine::value::next::Advice;
use parallel_llm_engine::{Code, Failure};

use super::{is_among, names};
use parallel_llm_settings::pinned_folder::OpenFolder;

/// The result of removing a run's files.
#[derive(Clone, Debug, Default)]
pub struct Erased {
    /// The number of files removed.
    pub files: u64,
    /// Files left, because this program did not write them. Their folder is left, too.
    pub left: Vec<PathBuf>,
}

/// Removes the files of a run from its folder inside `base`, and the folder if it is then empty.
pub fn erase(base: &Path, run: &Run) -> Result<Erased, Failure> {
    let dir = base.join(run.plan.run_id.to_string());
    match dir.symlink_metadata() {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Erased::default()),
        Ok(found) if !found.is_dir() => return Ok(Erased { files: 0, left: vec![dir] }),
        _ => {}
    }
    erase_in(&dir, run).map_err(|error| {
        let message = format!("the files in `{}` cannot be removed: {error}", dir.display());
        let next = Advice::PurgeAgain;
        Failure::new(Code::OutputUnwritable, message).with_next(next)
    })
}

fn erase_in(dir: &Path, run: &Run) -> std::io::Result<Erased> {
    let (ours, mut erased) = (names(run), Erased::default());
    let folder = OpenFolder::open(dir)?;
    for name in folder.names()? {
        if is_among(&ours, &folder, &name)? {
            folder.remove(&name)?;
            erased.files += 1;
        } else {
            erased.left.push(dir.join(name));
        }
    }
    if erased.left.is_empty() {
        // An error means that a foreign file was added in the meantime.
        let _ = std::fs::remove_dir(dir);
    }
    erased.left.sort();
    Ok(erased)
}
