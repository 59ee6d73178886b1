//! Taking the files of a run away, and nothing else.
//!
//! What always holds: only a folder that bears the run's id is looked into, and only regular files that this program
//! names so are removed. No link is followed, also when somebody swaps one in meanwhile: on Unix every step is taken from
//! the open folder.

use std::path::{Path, PathBuf};

use parallel_llm_engine::run::Run;
use parallel_llm_engine::{Code, Failure};

use super::names;

/// What became of the folder of a run.
#[derive(Clone, Debug, Default)]
pub(crate) struct Erased {
    /// Files removed.
    pub(crate) files: u64,
    /// What is left, because this program did not make it. Its folder is left, too.
    pub(crate) left: Vec<PathBuf>,
}

/// Removes the files of a run from its folder inside `base`, and the folder where nothing else is in it.
pub(crate) fn erase(base: &Path, run: &Run) -> Result<Erased, Failure> {
    let dir = base.join(run.plan.run_id.to_string());
    match dir.symlink_metadata() {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Erased::default()),
        Ok(found) if !found.is_dir() => return Ok(Erased { files: 0, left: vec![dir] }),
        _ => {}
    }
    erase_in(&dir, run).map_err(|error| {
        let message = format!("the files in `{}` cannot be removed: {error}", dir.display());
        let next = "mend its permissions and purge again; the run is still in the database";
        Failure::new(Code::OutputUnwritable, message).with_next(next)
    })
}

fn erase_in(dir: &Path, run: &Run) -> std::io::Result<Erased> {
    let (ours, mut erased) = (names(run), Erased::default());
    let folder = Held::open(dir)?;
    for name in folder.names()? {
        if name.to_str().is_some_and(|name| ours.contains(name)) && folder.is_file(&name)? {
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

/// A folder held open, so that its name may come to mean another.
#[cfg(unix)]
struct Held(std::os::fd::OwnedFd);

#[cfg(unix)]
impl Held {
    fn open(dir: &Path) -> std::io::Result<Self> {
        use rustix::fs::{Mode, OFlags};
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        Ok(Self(rustix::fs::open(dir, flags, Mode::empty())?))
    }

    fn names(&self) -> std::io::Result<Vec<std::ffi::OsString>> {
        use std::os::unix::ffi::OsStrExt;
        let mut names = Vec::new();
        for entry in rustix::fs::Dir::read_from(&self.0)? {
            let entry = entry?;
            let name = std::ffi::OsStr::from_bytes(entry.file_name().to_bytes());
            if name != "." && name != ".." {
                names.push(name.to_owned());
            }
        }
        Ok(names)
    }

    fn is_file(&self, name: &std::ffi::OsStr) -> std::io::Result<bool> {
        use rustix::fs::{AtFlags, FileType};
        let found = rustix::fs::statat(&self.0, name, AtFlags::SYMLINK_NOFOLLOW)?;
        Ok(FileType::from_raw_mode(found.st_mode) == FileType::RegularFile)
    }

    fn remove(&self, name: &std::ffi::OsStr) -> std::io::Result<()> {
        Ok(rustix::fs::unlinkat(&self.0, name, rustix::fs::AtFlags::empty())?)
    }
}

/// A folder by its name: only Unix holds folders open.
#[cfg(not(unix))]
struct Held(PathBuf);

#[cfg(not(unix))]
impl Held {
    fn open(dir: &Path) -> std::io::Result<Self> {
        Ok(Self(dir.to_owned()))
    }

    fn names(&self) -> std::io::Result<Vec<std::ffi::OsString>> {
        std::fs::read_dir(&self.0)?.map(|entry| entry.map(|entry| entry.file_name())).collect()
    }

    fn is_file(&self, name: &std::ffi::OsStr) -> std::io::Result<bool> {
        Ok(self.0.join(name).symlink_metadata()?.is_file())
    }

    fn remove(&self, name: &std::ffi::OsStr) -> std::io::Result<()> {
        std::fs::remove_file(self.0.join(name))
    }
}
