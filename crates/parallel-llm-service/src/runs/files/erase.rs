//! Taking the files of a run away, and nothing else.
//!
//! What always holds: only a folder that bears the run's id is looked into, and only regular files that this program
//! names so are removed. No link is followed, also when somebody swaps one in meanwhile, because every step is taken from
//! the folder held open.

use std::path::{Path, PathBuf};

use parallel_llm_engine::run::Run;
use parallel_llm_engine::value::next::Advice;
use parallel_llm_engine::{Code, Failure};

use super::{is_among, names};
use parallel_llm_settings::pinned_folder::OpenFolder;

/// What became of the folder of a run.
#[derive(Clone, Debug, Default)]
pub struct Erased {
    /// Files removed.
    pub files: u64,
    /// What is left, because this program did not make it. Its folder is left, too.
    pub left: Vec<PathBuf>,
}

/// Removes the files of a run from its folder inside `base`, and the folder where nothing else is in it.
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
        // An error means that something has come in meanwhile, which is not ours.
        let _ = std::fs::remove_dir(dir);
    }
    erased.left.sort();
    Ok(erased)
}
