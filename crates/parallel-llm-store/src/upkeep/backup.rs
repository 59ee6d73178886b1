//! The results of making and restoring a backup.

use std::path::PathBuf;

/// A finished backup.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Backup {
    /// The absolute path of the file.
    pub path: PathBuf,
    /// The number of runs in it.
    pub runs: u64,
    /// Its size in bytes.
    pub bytes: u64,
}

/// A backup that has replaced the database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Restored {
    /// The absolute path of the database.
    pub path: PathBuf,
    /// The number of runs in it.
    pub runs: u64,
    /// The number of access tokens in it that are not revoked: they admit their holders from now on.
    pub tokens: u64,
    /// The new path of the previous database, if there was one.
    pub before: Option<PathBuf>,
    /// Spill files that the previous database had not imported. They are imported into this one if it has their runs,
    /// and set aside otherwise.
    pub waiting: usize,
}
