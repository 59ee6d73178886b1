//! A folder that is held open, so that a link or another folder put in its place later receives nothing.
//!
//! A folder for files may lie where others can write too. What always holds: a file is complete or absent, it is new
//! and readable by its owner only, and it lies in the folder that was opened first. Listing and deleting use the open
//! folder, too.

use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// Bytes of a file written at once.
const WRITE_BYTES: usize = 64 * 1024;

/// A folder, and which one it is.
#[derive(Clone, Debug)]
pub struct PinnedFolder {
    path: PathBuf,
    identity: Identity,
}

/// Device and number of a folder; nothing where the system has no such thing.
#[cfg(unix)]
type Identity = (u64, u64);
#[cfg(not(unix))]
type Identity = ();

impl PinnedFolder {
    /// The folder of this path. Fails for a link, wherever it leads.
    pub fn of(path: &Path) -> io::Result<Self> {
        Ok(Self { path: path.to_owned(), identity: OpenFolder::open(path)?.identity()? })
    }

    /// Writes a whole file or none: a temporary name, flushed to disk, then renamed. What had the name gives way, and
    /// is not written to.
    pub fn write(
        &self,
        name: &str,
        content: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> io::Result<()> {
        let folder = self.open()?;
        let temporary = temporary(name);
        let mut file = BufWriter::with_capacity(WRITE_BYTES, folder.create(&temporary)?);
        content(&mut file)?;
        file.flush()?;
        file.get_ref().sync_all()?;
        folder.rename(&temporary, name)
    }

    /// Takes a file away, where there is one of this name. What is no file stays.
    pub fn remove(&self, name: &str) -> io::Result<()> {
        let folder = self.open()?;
        match folder.is_file(name.as_ref()) {
            Ok(true) => folder.remove(name.as_ref()),
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    fn open(&self) -> io::Result<OpenFolder> {
        let folder = OpenFolder::open(&self.path)?;
        if folder.identity()? == self.identity {
            return Ok(folder);
        }
        Err(io::Error::new(io::ErrorKind::NotFound, "another folder stands in its place"))
    }
}

/// The name a file has until it is whole.
pub fn temporary(name: &str) -> String {
    format!(".{name}.new")
}

#[cfg(unix)]
pub use beneath::OpenFolder;
#[cfg(not(unix))]
pub use by_name::OpenFolder;

/// By a handle on the folder, so that nothing can be slipped in between two steps.
#[cfg(unix)]
mod beneath {
    use std::ffi::{OsStr, OsString};
    use std::fs::File;
    use std::io;
    use std::os::unix::ffi::OsStrExt as _;
    use std::os::unix::fs::MetadataExt as _;
    use std::path::Path;

    use rustix::fs::{
        AtFlags, Dir, FileType, Mode, OFlags, open as open_path, openat, renameat, statat, unlinkat,
    };

    /// A folder held open, so that its name may come to mean another.
    pub struct OpenFolder(File);

    impl OpenFolder {
        /// Opens the folder of this path. Fails for a link, wherever it leads.
        pub fn open(path: &Path) -> io::Result<Self> {
            let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            Ok(Self(open_path(path, flags, Mode::empty())?.into()))
        }

        /// The names of what is in it.
        pub fn names(&self) -> io::Result<Vec<OsString>> {
            let mut names = Vec::new();
            for entry in Dir::read_from(&self.0)? {
                let entry = entry?;
                let name = OsStr::from_bytes(entry.file_name().to_bytes());
                if name != "." && name != ".." {
                    names.push(name.to_owned());
                }
            }
            Ok(names)
        }

        /// Whether this is a regular file, and no link to one.
        pub fn is_file(&self, name: &OsStr) -> io::Result<bool> {
            let found = statat(&self.0, name, AtFlags::SYMLINK_NOFOLLOW)?;
            Ok(FileType::from_raw_mode(found.st_mode) == FileType::RegularFile)
        }

        /// Removes a file.
        pub fn remove(&self, name: &OsStr) -> io::Result<()> {
            Ok(unlinkat(&self.0, name, AtFlags::empty())?)
        }

        pub(super) fn identity(&self) -> io::Result<super::Identity> {
            self.0.metadata().map(|metadata| (metadata.dev(), metadata.ino()))
        }

        pub(super) fn create(&self, name: &str) -> io::Result<File> {
            // One that was left behind by a process that was killed while writing it.
            let _ = self.remove(name.as_ref());
            let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
            Ok(openat(&self.0, name, flags, Mode::RUSR | Mode::WUSR)?.into())
        }

        pub(super) fn rename(&self, from: &str, to: &str) -> io::Result<()> {
            Ok(renameat(&self.0, from, &self.0, to)?)
        }
    }
}

/// Where the system gives no handle on a folder, by its name.
#[cfg(not(unix))]
mod by_name {
    use std::ffi::{OsStr, OsString};
    use std::fs::{self, File};
    use std::io;
    use std::path::{Path, PathBuf};

    /// A folder by its name.
    pub struct OpenFolder(PathBuf);

    impl OpenFolder {
        /// The folder of this path. Fails for a link, wherever it leads.
        pub fn open(path: &Path) -> io::Result<Self> {
            if path.symlink_metadata()?.is_dir() {
                Ok(Self(path.to_owned()))
            } else {
                Err(io::ErrorKind::NotADirectory.into())
            }
        }

        /// The names of what is in it.
        pub fn names(&self) -> io::Result<Vec<OsString>> {
            fs::read_dir(&self.0)?.map(|entry| entry.map(|entry| entry.file_name())).collect()
        }

        /// Whether this is a regular file, and no link to one.
        pub fn is_file(&self, name: &OsStr) -> io::Result<bool> {
            Ok(self.0.join(name).symlink_metadata()?.is_file())
        }

        /// Removes a file.
        pub fn remove(&self, name: &OsStr) -> io::Result<()> {
            fs::remove_file(self.0.join(name))
        }

        #[expect(
            clippy::unused_self,
            clippy::unnecessary_wraps,
            reason = "the same shape as where there is something to know"
        )]
        pub(super) fn identity(&self) -> io::Result<super::Identity> {
            Ok(())
        }

        pub(super) fn create(&self, name: &str) -> io::Result<File> {
            // One that was left behind by a process that was killed while writing it.
            let _ = fs::remove_file(self.0.join(name));
            File::create_new(self.0.join(name))
        }

        pub(super) fn rename(&self, from: &str, to: &str) -> io::Result<()> {
            fs::rename(self.0.join(from), self.0.join(to))
        }
    }
}
