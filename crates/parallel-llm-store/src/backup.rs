//! Backups: what was written, and what was put in the place of the database.

use std::path::PathBuf;

/// A backup that was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Backup {
    /// The file, in full.
    pub path: PathBuf,
    /// How many runs are in it.
    pub runs: u64,
    /// Its size in bytes.
    pub bytes: u64,
}

/// A backup that stands in the place of the database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Restored {
    /// The database, in full.
    pub path: PathBuf,
    /// How many runs are in it.
    pub runs: u64,
    /// Where the database is that stood there before, where there was one.
    pub before: Option<PathBuf>,
    /// Files with answers that the earlier database had not taken in. They are taken into this one where it has their runs,
    /// else set aside.
    pub waiting: usize,
}
