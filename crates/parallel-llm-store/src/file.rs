//! Files and folders of the store, for their owner's eyes only: folders 0700, files 0600, whatever the umask.
//!
//! What is there already keeps the mode its owner gave it. A link or a pipe in the place of a file is refused: what it
//! leads to is not ours to change, and a pipe that nobody reads would hold its opener for ever.

use std::ffi::OsString;
use std::fs::{DirBuilder, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

/// Makes the folder of this path where it is missing.
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

/// Makes an empty file where there is none. One that is there is not even opened: closing it would take away the
/// locks that this process holds on it.
pub(crate) fn make_private(path: &Path) -> io::Result<()> {
    match private(OpenOptions::new().write(true).create_new(true)).open(path) {
        Ok(_) => set_mode(path, 0o600),
        Err(cause) if cause.kind() == io::ErrorKind::AlreadyExists => check_plain(path),
        Err(cause) => Err(cause),
    }
}

/// Opens a file for writing, made where there is none.
pub(crate) fn open_private(path: &Path) -> io::Result<File> {
    check_plain(path)?;
    private(OpenOptions::new().write(true).create(true).truncate(false)).open(path)
}

/// Which file it is, whatever it is called: its device and its number there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Identity(u64, u64);

/// Which file stands at this path.
#[cfg(unix)]
pub(crate) fn identity(path: &Path) -> io::Result<Identity> {
    use std::os::unix::fs::MetadataExt as _;
    std::fs::metadata(path).map(|metadata| Identity(metadata.dev(), metadata.ino()))
}

/// Where files have no numbers, one that is open cannot be replaced either.
#[cfg(not(unix))]
pub(crate) fn identity(path: &Path) -> io::Result<Identity> {
    std::fs::metadata(path).map(|_| Identity(0, 0))
}

/// Makes a new file for writing, in place of one that a process left which is gone.
pub(crate) fn create_private(path: &Path) -> io::Result<File> {
    // Opening what is there could follow a link; taking it away follows none.
    match std::fs::remove_file(path) {
        Err(cause) if cause.kind() != io::ErrorKind::NotFound => return Err(cause),
        _ => {}
    }
    private(OpenOptions::new().write(true).create_new(true)).open(path)
}

/// Gives a finished file its name, in place of none: fails with `AlreadyExists` where there is something of that name.
pub(crate) fn place_new(part: &Path, path: &Path) -> io::Result<()> {
    match std::fs::hard_link(part, path) {
        Ok(()) => std::fs::remove_file(part)?,
        Err(cause) if cause.kind() == io::ErrorKind::AlreadyExists => return Err(cause),
        // Where a file has one name only, nobody keeps another from taking the name between these two.
        Err(_) if path.symlink_metadata().is_ok() => return Err(io::ErrorKind::AlreadyExists.into()),
        Err(_) => std::fs::rename(part, path)?,
    }
    sync_folder_of(path)
}

/// Makes the names in the folder of this path durable.
pub(crate) fn sync_folder_of(path: &Path) -> io::Result<()> {
    File::open(path.parent().unwrap_or(Path::new("/")))?.sync_all()
}

/// Refuses a file on which another process holds a lock. This process must not have it open, because closing the file here
/// would take its own locks away.
#[cfg(unix)]
pub(crate) fn check_unused(path: &Path) -> io::Result<()> {
    let file = OpenOptions::new().read(true).write(true).open(path)?;
    rustix::fs::fcntl_lock(&file, rustix::fs::FlockOperation::NonBlockingLockExclusive)?;
    Ok(())
}

/// Where files that are open cannot be replaced, trying to do so says it.
#[cfg(not(unix))]
#[expect(clippy::unnecessary_wraps, reason = "the same shape as where there are such locks")]
pub(crate) fn check_unused(_: &Path) -> io::Result<()> {
    Ok(())
}

/// Refuses what is there and is no plain file.
fn check_plain(path: &Path) -> io::Result<()> {
    match path.symlink_metadata() {
        Ok(metadata) if !metadata.is_file() => {
            Err(io::Error::new(io::ErrorKind::AlreadyExists, "something else than a plain file stands there"))
        }
        _ => Ok(()),
    }
}

/// The file beside a database whose name ends in this.
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
