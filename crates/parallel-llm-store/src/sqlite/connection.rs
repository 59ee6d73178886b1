//! Connections: those that read, each within a consistent view, and the one that writes.

use std::path::{Path, PathBuf};
use std::time::Duration;

use parallel_llm_engine::Failure;
use rusqlite::config::DbConfig;
use rusqlite::types::FromSql;
use rusqlite::{Connection, OpenFlags, OptionalExtension as _, Params, Row};

use crate::clock;
use crate::error::{self, DatabaseError};
use crate::file::{self, Identity};

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

/// The writing connection, reopened after every error, since its state is then unknown.
#[derive(Debug)]
pub(crate) struct WriteConnection {
    path: PathBuf,
    connection: Option<Connection>,
    /// The identity of the database file when it was opened.
    identity: Option<Identity>,
}

impl WriteConnection {
    pub(super) fn new(path: PathBuf, connection: Connection) -> Self {
        let identity = file::identity(&path).ok();
        Self { path, connection: Some(connection), identity }
    }

    /// Begins a transaction, waiting at most this long for locks.
    pub(crate) fn begin(&mut self, wait: Duration) -> Result<Transaction, DatabaseError> {
        let mut transaction = Transaction { connection: self.take(wait)? };
        // A deferred transaction that reads first would fail at once if another process has written in between.
        transaction.execute("BEGIN IMMEDIATE", ())?;
        Ok(transaction)
    }

    /// Makes a transaction durable.
    pub(crate) fn commit(&mut self, mut transaction: Transaction) -> Result<(), DatabaseError> {
        transaction.execute("COMMIT", ())?;
        self.put_back(transaction.connection);
        Ok(())
    }

    /// Reads outside a transaction, which blocks no writer.
    pub(crate) fn read<T>(
        &mut self,
        wait: Duration,
        read: impl FnOnce(Reader<'_>) -> Result<T, DatabaseError>,
    ) -> Result<T, DatabaseError> {
        let connection = self.take(wait)?;
        let found = read(Reader { connection: &connection })?;
        self.put_back(connection);
        Ok(found)
    }

    /// Moves the write-ahead log into the database as far as readers allow. Called between transactions, so that no
    /// commit waits for it.
    pub(crate) fn checkpoint_wal(&mut self, wait: Duration) {
        let Ok(connection) = self.take(wait) else { return };
        // Whatever stays in the log is durable there too.
        if connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", (), |_| Ok(())).is_ok() {
            self.put_back(connection);
        }
    }

    /// Truncates the write-ahead log; `false` if a reader prevents it. Never waits, since everybody would wait with it.
    pub(crate) fn truncate_wal(&mut self) -> bool {
        let Ok(connection) = self.take(Duration::ZERO) else { return false };
        let is_busy = connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", (), |row| row.get(0));
        self.put_back(connection);
        is_busy.is_ok_and(|is_busy: bool| !is_busy)
    }

    /// Fails if the database file was removed or replaced: writes to it would be lost when this process ends.
    pub(crate) fn check_in_place(&self) -> Result<(), Failure> {
        match file::identity(&self.path) {
            Ok(now) if self.identity.is_none_or(|then| then == now) => Ok(()),
            // If the file cannot be examined, let the database report its own error.
            Err(cause) if cause.kind() != std::io::ErrorKind::NotFound => Ok(()),
            _ => Err(error::replaced(&self.path)),
        }
    }

    /// Takes the connection; the caller puts it back unless an error occurred.
    pub(super) fn take(&mut self, wait: Duration) -> Result<Connection, DatabaseError> {
        let Some(connection) = self.connection.take() else { return Ok(open_for_writing(&self.path, wait)?) };
        connection.busy_timeout(wait)?;
        Ok(connection)
    }

    pub(super) fn put_back(&mut self, connection: Connection) {
        self.connection = Some(connection);
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
