//! Creates files and folders that only their owner may read; the only module that sets modes.

use std::fs::{DirBuilder, OpenOptions};
use std::path::Path;

/// Whether files can be created in this folder or, if it is missing, in its nearest existing parent. Creates nothing.
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

/// Options for private folders.
pub fn folder_builder() -> DirBuilder {
    let mut builder = DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder
}

/// Options for new private files; opening fails if the file exists.
pub fn file_options() -> OpenOptions {
    let mut options = private(OpenOptions::new());
    options.write(true).create_new(true);
    options
}

/// Adds a private mode to these options.
pub fn private(mut options: OpenOptions) -> OpenOptions {
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

/// Makes a folder accessible only to its owner.
pub fn make_private(folder: &Path) -> std::io::Result<()> {
    #[cfg(unix)]
    std::fs::set_permissions(folder, std::os::unix::fs::PermissionsExt::from_mode(0o700))?;
    Ok(())
}
