//! A folder that is pinned, so that a link or another folder put in its place later receives nothing.
//!
//! The folder for files may be in a place where others can write. Invariants: a file is complete or absent, new, readable
//! only by its owner, and in the folder that was opened first. Listing, reading and deleting use the open folder as well.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// Bytes of a file written at once.
const WRITE_BYTES: usize = 64 * 1024;

/// A folder's path and identity.
#[derive(Clone, Debug)]
pub struct PinnedFolder {
    path: PathBuf,
    identity: Identity,
}

/// Device and inode of a folder; nothing on systems without them.
#[cfg(unix)]
type Identity = (u64, u64);
#[cfg(not(unix))]
type Identity = ();

impl PinnedFolder {
    /// Pins the folder at this path. Fails for a link.
    pub fn of(path: &Path) -> io::Result<Self> {
        Ok(Self { path: path.to_owned(), identity: OpenFolder::open(path)?.identity()? })
    }

    /// Writes a file whole or not at all: a temporary file is flushed and renamed. An existing file is replaced, not
    /// written to.
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

    /// Removes the file of this name, if it exists and is a regular file.
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
        Err(io::Error::new(io::ErrorKind::NotFound, "another folder is in its place"))
    }
}

/// The temporary name of a file being written.
pub fn temporary(name: &str) -> String {
    format!(".{name}.new")
}

/// What an entry of a folder is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryKind {
    /// A regular file.
    File,
    /// A folder.
    Folder,
    /// A link, a pipe or a device.
    Other,
}

/// Opens the regular file at this path for reading, also through links. A pipe or a device is not opened at all, unless it
/// takes the place of a file in the same moment; even then nothing waits for its other end.
pub fn open_file(path: &Path) -> io::Result<File> {
    if path.metadata()?.is_file() { checked(open_at_once(path, true)?) } else { Err(not_a_file()) }
}

/// As [`open_file`], but fails for a link.
pub fn open_file_itself(path: &Path) -> io::Result<File> {
    if path.symlink_metadata()?.is_file() { checked(open_at_once(path, false)?) } else { Err(not_a_file()) }
}

fn checked(file: File) -> io::Result<File> {
    if file.metadata()?.is_file() { Ok(file) } else { Err(not_a_file()) }
}

fn not_a_file() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, "it is a link, a folder, a pipe or a device")
}

#[cfg(unix)]
pub use beneath::OpenFolder;
#[cfg(unix)]
use beneath::open_at_once;
#[cfg(not(unix))]
pub use by_name::OpenFolder;
#[cfg(not(unix))]
use by_name::open_at_once;

/// Implementation with a folder handle, so that nothing can be swapped between two steps.
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

    use super::EntryKind;

    /// Without blocking: opening a pipe waits for a writer.
    const AT_ONCE: OFlags =
        OFlags::RDONLY.union(OFlags::NONBLOCK).union(OFlags::NOCTTY).union(OFlags::CLOEXEC);

    pub(super) fn open_at_once(path: &Path, through_links: bool) -> io::Result<File> {
        let flags = if through_links { AT_ONCE } else { AT_ONCE | OFlags::NOFOLLOW };
        Ok(open_path(path, flags, Mode::empty())?.into())
    }

    /// An open folder, independent of what happens to its path.
    pub struct OpenFolder(File);

    impl OpenFolder {
        /// Opens the folder at this path. Fails for a link.
        pub fn open(path: &Path) -> io::Result<Self> {
            let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            Ok(Self(open_path(path, flags, Mode::empty())?.into()))
        }

        /// The names in the folder.
        pub fn names(&self) -> io::Result<Vec<OsString>> {
            self.first_names(usize::MAX)
        }

        /// At most so many names in the folder.
        pub fn first_names(&self, most: usize) -> io::Result<Vec<OsString>> {
            let mut names = Vec::new();
            for entry in Dir::read_from(&self.0)? {
                let entry = entry?;
                let name = OsStr::from_bytes(entry.file_name().to_bytes());
                if name == "." || name == ".." {
                    continue;
                }
                if names.len() == most {
                    break;
                }
                names.push(name.to_owned());
            }
            Ok(names)
        }

        /// What this entry is.
        pub fn kind(&self, name: &OsStr) -> io::Result<EntryKind> {
            let found = statat(&self.0, name, AtFlags::SYMLINK_NOFOLLOW)?;
            Ok(match FileType::from_raw_mode(found.st_mode) {
                FileType::RegularFile => EntryKind::File,
                FileType::Directory => EntryKind::Folder,
                _ => EntryKind::Other,
            })
        }

        /// Whether this is a regular file and not a link.
        pub fn is_file(&self, name: &OsStr) -> io::Result<bool> {
            Ok(self.kind(name)? == EntryKind::File)
        }

        /// Opens a folder in it. Fails for a link.
        pub fn folder(&self, name: &OsStr) -> io::Result<Self> {
            let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            Ok(Self(openat(&self.0, name, flags, Mode::empty())?.into()))
        }

        /// Opens a regular file in it for reading. Fails for a link, and for a pipe or a device, which is not opened at all
        /// unless it takes the place of a file in the same moment.
        pub fn file(&self, name: &OsStr) -> io::Result<File> {
            if !self.is_file(name)? {
                return Err(super::not_a_file());
            }
            super::checked(openat(&self.0, name, AT_ONCE | OFlags::NOFOLLOW, Mode::empty())?.into())
        }

        /// Removes a file.
        pub fn remove(&self, name: &OsStr) -> io::Result<()> {
            Ok(unlinkat(&self.0, name, AtFlags::empty())?)
        }

        pub(super) fn identity(&self) -> io::Result<super::Identity> {
            self.0.metadata().map(|metadata| (metadata.dev(), metadata.ino()))
        }

        pub(super) fn create(&self, name: &str) -> io::Result<File> {
            // A file left behind by a process that was killed during a write.
            let _ = self.remove(name.as_ref());
            let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
            Ok(openat(&self.0, name, flags, Mode::RUSR | Mode::WUSR)?.into())
        }

        pub(super) fn rename(&self, from: &str, to: &str) -> io::Result<()> {
            Ok(renameat(&self.0, from, &self.0, to)?)
        }
    }
}

/// Implementation by path, for systems without folder handles.
#[cfg(not(unix))]
mod by_name {
    use std::ffi::{OsStr, OsString};
    use std::fs::{self, File};
    use std::io;
    use std::path::{Path, PathBuf};

    use super::EntryKind;

    pub(super) fn open_at_once(path: &Path, _through_links: bool) -> io::Result<File> {
        File::open(path)
    }

    /// A folder by its path.
    pub struct OpenFolder(PathBuf);

    impl OpenFolder {
        /// Opens the folder at this path. Fails for a link.
        pub fn open(path: &Path) -> io::Result<Self> {
            if path.symlink_metadata()?.is_dir() {
                Ok(Self(path.to_owned()))
            } else {
                Err(io::ErrorKind::NotADirectory.into())
            }
        }

        /// The names in the folder.
        pub fn names(&self) -> io::Result<Vec<OsString>> {
            self.first_names(usize::MAX)
        }

        /// At most so many names in the folder.
        pub fn first_names(&self, most: usize) -> io::Result<Vec<OsString>> {
            fs::read_dir(&self.0)?.take(most).map(|entry| entry.map(|entry| entry.file_name())).collect()
        }

        /// What this entry is.
        pub fn kind(&self, name: &OsStr) -> io::Result<EntryKind> {
            let kind = self.0.join(name).symlink_metadata()?.file_type();
            Ok(match (kind.is_file(), kind.is_dir()) {
                (true, _) => EntryKind::File,
                (_, true) => EntryKind::Folder,
                _ => EntryKind::Other,
            })
        }

        /// Whether this is a regular file and not a link.
        pub fn is_file(&self, name: &OsStr) -> io::Result<bool> {
            Ok(self.kind(name)? == EntryKind::File)
        }

        /// Opens a folder in it. Fails for a link.
        pub fn folder(&self, name: &OsStr) -> io::Result<Self> {
            Self::open(&self.0.join(name))
        }

        /// Opens a regular file in it for reading. Fails for a link.
        pub fn file(&self, name: &OsStr) -> io::Result<File> {
            if self.is_file(name)? { File::open(self.0.join(name)) } else { Err(super::not_a_file()) }
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
            // A file left behind by a process that was killed during a write.
            let _ = fs::remove_file(self.0.join(name));
            File::create_new(self.0.join(name))
        }

        pub(super) fn rename(&self, from: &str, to: &str) -> io::Result<()> {
            fs::rename(self.0.join(from), self.0.join(to))
        }
    }
}
