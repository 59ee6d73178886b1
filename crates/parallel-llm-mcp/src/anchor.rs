//! A folder that is known again by more than its name: whatever comes to stand in its place, a link or another folder,
//! nothing is written there.
//!
//! A folder for files may lie where others may write too. What always holds: a file is whole or not there, it is new and
//! for its owner only, and it lies in the folder that was taken in the beginning.

use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// Bytes of a file written at once.
const WRITE_BYTES: usize = 64 * 1024;

/// A folder, and which one it is.
#[derive(Clone, Debug)]
pub(crate) struct Anchor {
    path: PathBuf,
    identity: Identity,
}

/// Device and number of a folder; nothing where the system has no such thing.
#[cfg(unix)]
type Identity = (u64, u64);
#[cfg(not(unix))]
type Identity = ();

impl Anchor {
    /// The folder of this path. Fails for a link, wherever it leads.
    pub(crate) fn of(path: &Path) -> io::Result<Self> {
        Ok(Self { path: path.to_owned(), identity: identity(&open(path)?)? })
    }

    /// Writes a whole file or none: a temporary name, flushed to disk, then renamed. What had the name gives way, and
    /// is not written to.
    pub(crate) fn write(
        &self,
        name: &str,
        content: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> io::Result<()> {
        let folder = open(&self.path)?;
        if identity(&folder)? != self.identity {
            return Err(io::Error::new(io::ErrorKind::NotFound, "another folder stands in its place"));
        }
        let temporary = temporary(name);
        let mut file = BufWriter::with_capacity(WRITE_BYTES, create(&folder, &temporary)?);
        content(&mut file)?;
        file.flush()?;
        file.get_ref().sync_all()?;
        rename(&folder, &temporary, name)
    }
}

/// The name a file has until it is whole.
pub(crate) fn temporary(name: &str) -> String {
    format!(".{name}.new")
}

#[cfg(unix)]
use beneath::{create, identity, open, rename};
#[cfg(not(unix))]
use by_name::{create, identity, open, rename};

/// By a handle on the folder, so that nothing can be slipped in between two steps.
#[cfg(unix)]
mod beneath {
    use std::fs::File;
    use std::io;
    use std::os::unix::fs::MetadataExt as _;
    use std::path::Path;

    use rustix::fs::{AtFlags, Mode, OFlags, open as open_path, openat, renameat, unlinkat};

    pub(super) fn open(path: &Path) -> io::Result<File> {
        let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        Ok(open_path(path, flags, Mode::empty())?.into())
    }

    pub(super) fn identity(folder: &File) -> io::Result<super::Identity> {
        folder.metadata().map(|metadata| (metadata.dev(), metadata.ino()))
    }

    pub(super) fn create(folder: &File, name: &str) -> io::Result<File> {
        // One that was left behind by a process that was killed while writing it.
        let _ = unlinkat(folder, name, AtFlags::empty());
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        Ok(openat(folder, name, flags, Mode::RUSR | Mode::WUSR)?.into())
    }

    pub(super) fn rename(folder: &File, from: &str, to: &str) -> io::Result<()> {
        Ok(renameat(folder, from, folder, to)?)
    }
}

/// Where the system gives no handle on a folder, by its name.
#[cfg(not(unix))]
mod by_name {
    use std::fs::{self, File};
    use std::io;
    use std::path::{Path, PathBuf};

    pub(super) fn open(path: &Path) -> io::Result<PathBuf> {
        if path.symlink_metadata()?.is_dir() {
            Ok(path.to_owned())
        } else {
            Err(io::ErrorKind::NotADirectory.into())
        }
    }

    #[expect(clippy::unnecessary_wraps, reason = "the same shape as where there is something to know")]
    pub(super) fn identity(_: &Path) -> io::Result<super::Identity> {
        Ok(())
    }

    pub(super) fn create(folder: &Path, name: &str) -> io::Result<File> {
        // One that was left behind by a process that was killed while writing it.
        let _ = fs::remove_file(folder.join(name));
        File::create_new(folder.join(name))
    }

    pub(super) fn rename(folder: &Path, from: &str, to: &str) -> io::Result<()> {
        fs::rename(folder.join(from), folder.join(to))
    }
}
