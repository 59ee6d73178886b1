//! Files and folders that only their owner may read: the one place that sets their modes.

use std::fs::{DirBuilder, OpenOptions};
use std::path::Path;

/// Whether something can be made in this folder or, where it is not there, in the nearest above that is. Nothing is made.
pub fn check_writable(folder: &Path) -> std::io::Result<()> {
    let nearest = folder.ancestors().find(|path| path.symlink_metadata().is_ok()).unwrap_or(folder);
    let metadata = nearest.metadata()?;
    if !metadata.is_dir() {
        return Err(std::io::ErrorKind::NotADirectory.into());
    }
    #[cfg(unix)]
    rustix::fs::access(nearest, rustix::fs::Access::WRITE_OK | rustix::fs::Access::EXEC_OK)?;
    Ok(())
}

/// Makes folders that nobody else may look into.
pub fn folder_builder() -> DirBuilder {
    let mut builder = DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder
}

/// Makes files that nobody else may read, and none where there is one.
pub fn file_options() -> OpenOptions {
    let mut options = private(OpenOptions::new());
    options.write(true).create_new(true);
    options
}

/// The same options, and what they make is its owner's alone.
pub fn private(mut options: OpenOptions) -> OpenOptions {
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

/// Takes a folder away from everybody but its owner.
pub fn make_private(folder: &Path) -> std::io::Result<()> {
    #[cfg(unix)]
    std::fs::set_permissions(folder, std::os::unix::fs::PermissionsExt::from_mode(0o700))?;
    Ok(())
}
