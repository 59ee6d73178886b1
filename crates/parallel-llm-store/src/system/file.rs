//! The store's files and folders, readable only by their owner: folders 0700, files 0600, at any umask.
//!
//! Existing files keep their mode. A link or a pipe in place of a file is refused: the target of a link is not ours to
//! change, and opening a pipe without a reader would block forever.

use std::ffi::OsString;
use std::fs::{DirBuilder, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

/// Creates the folder of this path if it is missing.
pub(crate) fn make_folder_of(path: &Path) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("/"));
    if folder.is_dir() {
        return Ok(());
    }
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)?;
    set_mode(folder, 0o700)
}

/// Creates an empty file if it is missing. An existing file is not even opened: closing it would release the locks that
/// this process holds on it.
pub(crate) fn make_private(path: &Path) -> io::Result<()> {
    match private(OpenOptions::new().write(true).create_new(true)).open(path) {
        Ok(_) => set_mode(path, 0o600),
        Err(cause) if cause.kind() == io::ErrorKind::AlreadyExists => check_plain(path),
        Err(cause) => Err(cause),
    }
}

/// Opens a file for writing; creates it if it is missing.
pub(crate) fn open_private(path: &Path) -> io::Result<File> {
    check_plain(path)?;
    private(OpenOptions::new().write(true).create(true).truncate(false)).open(path)
}

/// The identity of a file whatever its name: device and inode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Identity(u64, u64);

/// The identity of the file at this path.
#[cfg(unix)]
pub(crate) fn identity(path: &Path) -> io::Result<Identity> {
    use std::os::unix::fs::MetadataExt as _;
    std::fs::metadata(path).map(|metadata| Identity(metadata.dev(), metadata.ino()))
}

/// Without inodes, an open file cannot be replaced either.
#[cfg(not(unix))]
pub(crate) fn identity(path: &Path) -> io::Result<Identity> {
    std::fs::metadata(path).map(|_| Identity(0, 0))
}

/// Creates a new file for writing; replaces one left behind by a process that ended.
pub(crate) fn create_private(path: &Path) -> io::Result<File> {
    // Opening an existing file could follow a link; removing it cannot.
    match std::fs::remove_file(path) {
        Err(cause) if cause.kind() != io::ErrorKind::NotFound => return Err(cause),
        _ => {}
    }
    private(OpenOptions::new().write(true).create_new(true)).open(path)
}

/// Gives a finished file its final name. Fails with `AlreadyExists` if that name is taken.
pub(crate) fn place_new(part: &Path, path: &Path) -> io::Result<()> {
    match std::fs::hard_link(part, path) {
        Ok(()) => std::fs::remove_file(part)?,
        Err(cause) if cause.kind() == io::ErrorKind::AlreadyExists => return Err(cause),
        // Without hard links, another process can take the name between this check and the rename.
        Err(_) if path.symlink_metadata().is_ok() => return Err(io::ErrorKind::AlreadyExists.into()),
        Err(_) => std::fs::rename(part, path)?,
    }
    sync_folder_of(path)
}

/// Makes the names in the folder of this path durable.
pub(crate) fn sync_folder_of(path: &Path) -> io::Result<()> {
    File::open(path.parent().unwrap_or(Path::new("/")))?.sync_all()
}

/// Fails if another process holds a lock on this file. This process must not have it open: closing the file here would
/// release its own locks.
#[cfg(unix)]
pub(crate) fn check_unused(path: &Path) -> io::Result<()> {
    let file = OpenOptions::new().read(true).write(true).open(path)?;
    rustix::fs::fcntl_lock(&file, rustix::fs::FlockOperation::NonBlockingLockExclusive)?;
    Ok(())
}

/// On systems where open files cannot be replaced, the attempt itself fails.
#[cfg(not(unix))]
#[expect(clippy::unnecessary_wraps, reason = "the same shape as where there are such locks")]
pub(crate) fn check_unused(_: &Path) -> io::Result<()> {
    Ok(())
}

/// Fails if something other than a plain file is there.
fn check_plain(path: &Path) -> io::Result<()> {
    match path.symlink_metadata() {
        Ok(metadata) if !metadata.is_file() => {
            Err(io::Error::new(io::ErrorKind::AlreadyExists, "there is something other than a regular file"))
        }
        _ => Ok(()),
    }
}

/// The path of the file beside a database whose name has this suffix.
pub(crate) fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(ending);
    name.into()
}

fn private(options: &mut OpenOptions) -> &mut OpenOptions {
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(options, 0o600);
    options
}

#[cfg(unix)]
fn set_mode(path: &Path, mode: u32) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode))
}

#[cfg(not(unix))]
#[expect(clippy::unnecessary_wraps, reason = "the same shape as where there are modes to set")]
fn set_mode(_: &Path, _: u32) -> io::Result<()> {
    Ok(())
}
