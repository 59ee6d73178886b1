//! The files that SQLite has open beside the database: the write-ahead log and its index.
//!
//! SQLite finds them by name once, when it opens the database. If somebody removes or replaces them afterwards, commits
//! go to a file without a name and are gone with the process. So their identity is compared before each read and write,
//! and after a change the database is opened again ([`super::write_connection::WriteConnection`]).

use std::path::{Path, PathBuf};

use crate::system::file::{self, Identity};

/// The identity of both files as they were opened; `None` for one that was not there.
#[derive(Clone, Debug)]
pub(super) struct LogFiles {
    log: (PathBuf, Option<Identity>),
    index: (PathBuf, Option<Identity>),
}

impl LogFiles {
    /// The files that are beside this database now.
    pub(super) fn of(database: &Path) -> Self {
        let named = |ending| {
            let path = file::beside(database, ending);
            let identity = file::identity(&path).ok();
            (path, identity)
        };
        Self { log: named("-wal"), index: named("-shm") }
    }

    /// Whether both still have their names.
    pub(super) fn are_in_place(&self) -> bool {
        is_in_place(&self.log) && is_in_place(&self.index)
    }

    /// Whether the log still has its name.
    pub(super) fn is_log_in_place(&self) -> bool {
        is_in_place(&self.log)
    }

    /// Whether nobody else can have written to a log: there is none, or an empty one.
    pub(super) fn is_log_unwritten(&self) -> bool {
        self.log.0.metadata().map_or(true, |log| log.len() == 0)
    }

    /// Whether other processes that open the database use the same index.
    pub(super) fn is_index_shared(&self) -> bool {
        is_in_place(&self.index)
    }
}

fn is_in_place((path, then): &(PathBuf, Option<Identity>)) -> bool {
    match file::identity(path) {
        Ok(now) => then.is_none_or(|then| then == now),
        // If a file cannot be examined, let the database report its own error.
        Err(cause) => then.is_none() || cause.kind() != std::io::ErrorKind::NotFound,
    }
}
