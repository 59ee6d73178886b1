//! Files and folders of our own, which nobody else may look into.

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
pub fn folder_builder() -> std::fs::DirBuilder {
    let mut builder = std::fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder
}

/// Makes files that nobody else may read, and none where there is one.
pub fn file_options() -> std::fs::OpenOptions {
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}
