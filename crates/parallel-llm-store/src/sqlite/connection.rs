//! Opens connections for reading and for writing; reads within a consistent view, and transactions.

use std::path::Path;
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::types::FromSql;
use rusqlite::{Connection, OpenFlags, OptionalExtension as _, Params, Row};

use crate::clock;
use crate::error::DatabaseError;

/// Statements that a connection keeps prepared: more than there are, so that none is parsed twice.
const STATEMENTS_MAX: usize = 128;
/// The settings of a connection that writes.
const WRITING: &str = "
    PRAGMA synchronous = FULL;
    PRAGMA foreign_keys = ON;
    -- Overwrites deleted data, so that a purge leaves nothing of earlier contents either.
    PRAGMA secure_delete = ON;
    -- Pages in the write-ahead log at which SQLite checkpoints within a commit. Eight times its default, since the
    -- writer checkpoints earlier, when no one waits.
    PRAGMA wal_autocheckpoint = 8000;
";

/// Opens an existing file for reading; `wait` is how long a read waits for locks.
pub(super) fn open_for_reading(path: &Path, wait: Duration) -> rusqlite::Result<Connection> {
    open(path, OpenFlags::SQLITE_OPEN_READ_ONLY, wait)
}

/// Opens an existing file for writing; `wait` is how long a statement waits for locks.
pub(super) fn open_for_writing(path: &Path, wait: Duration) -> rusqlite::Result<Connection> {
    let connection = open(path, OpenFlags::SQLITE_OPEN_READ_WRITE, wait)?;
    connection.execute_batch(WRITING)?;
    Ok(connection)
}

fn open(path: &Path, access: OpenFlags, wait: Duration) -> rusqlite::Result<Connection> {
    // One thread at a time uses a connection, so it needs no lock of its own.
    let connection = Connection::open_with_flags(path, access | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
    connection.busy_timeout(wait)?;
    connection.set_prepared_statement_cache_capacity(STATEMENTS_MAX);
    // A plan does not depend on bound values; otherwise SQLite parses a kept statement anew for other values, if they
    // could decide whether one of our partial indexes helps.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    Ok(connection)
}

/// Reads within a consistent view or a transaction.
#[derive(Debug)]
pub(crate) struct Reader<'c> {
    pub(super) connection: &'c Connection,
}

impl Reader<'_> {
    /// The time of the machine.
    #[expect(clippy::unused_self, reason = "another database has a clock of its own")]
    pub(crate) fn now_ms(&self) -> i64 {
        clock::now_ms()
    }

    /// All rows of a query.
    pub(super) fn rows<T>(
        &self,
        sql: &str,
        parameters: impl Params,
        read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>, DatabaseError> {
        let mut statement = self.connection.prepare_cached(sql)?;
        let rows = statement.query_map(parameters, read)?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// The first row of a query; `None` without rows.
    pub(super) fn first<T>(
        &self,
        sql: &str,
        parameters: impl Params,
        read: impl FnOnce(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Option<T>, DatabaseError> {
        let mut statement = self.connection.prepare_cached(sql)?;
        Ok(statement.query_row(parameters, read).optional()?)
    }

    /// The first column of a query's only row.
    pub(super) fn value<T: FromSql>(&self, sql: &str, parameters: impl Params) -> Result<T, DatabaseError> {
        let mut statement = self.connection.prepare_cached(sql)?;
        Ok(statement.query_row(parameters, |row| row.get(0))?)
    }
}

/// A write transaction, exclusive until it ends. Dropping it rolls back.
#[derive(Debug)]
pub(crate) struct Transaction {
    // Owned, so that a connection that failed is dropped with it.
    pub(super) connection: Connection,
}

impl Transaction {
    /// Reads the database including this transaction's own writes.
    pub(crate) fn reader(&self) -> Reader<'_> {
        Reader { connection: &self.connection }
    }

    /// Executes a statement that returns no rows, and returns how many rows it changed.
    pub(super) fn execute(&mut self, sql: &str, parameters: impl Params) -> Result<usize, DatabaseError> {
        Ok(self.connection.prepare_cached(sql)?.execute(parameters)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_that_writes_has_the_settings_that_keep_the_promises() {
        let file = tempfile::NamedTempFile::new().expect("a file is made");
        let connection = open_for_writing(file.path(), Duration::from_millis(7)).expect("it opens");
        // SQLite ignores a setting that it does not know.
        for (setting, expected) in [
            ("synchronous", 2),
            ("foreign_keys", 1),
            ("secure_delete", 1),
            ("wal_autocheckpoint", 8_000),
            ("busy_timeout", 7),
        ] {
            let found: i64 = connection
                .query_row(&format!("PRAGMA {setting}"), (), |row| row.get(0))
                .expect("it is a setting");
            assert_eq!(found, expected, "{setting}");
        }
    }
}
