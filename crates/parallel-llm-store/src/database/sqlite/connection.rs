//! Opens connections for reading and for writing; reads within a consistent view, and transactions.

use std::path::Path;
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{CachedStatement, Connection, OpenFlags, params_from_iter};

use super::dialect::SQLITE;
use crate::database::sql::parts::dialect::Dialect;
use crate::database::sql::parts::session::{Reader, Row, Session, Take};
use crate::database::sql::parts::value::Value;
use crate::system::clock;
use crate::system::error::DatabaseError;

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

/// Reads what this connection sees.
pub(super) fn reader(connection: &Connection) -> Reader<'_> {
    Reader { session: connection, now_ms: clock::now_ms() }
}

impl Session for Connection {
    fn dialect(&self) -> &'static Dialect {
        &SQLITE
    }

    fn each(&self, sql: &str, values: &[Value<'_>], take: Take<'_>) -> Result<(), DatabaseError> {
        let mut statement = prepared(self, sql)?;
        let mut rows = statement.query(params_from_iter(values))?;
        while let Some(row) = rows.next()? {
            if !take(&Row { columns: row, dialect: &SQLITE })? {
                break;
            }
        }
        Ok(())
    }

    fn scan(&self, sql: &str, values: &[Value<'_>], take: Take<'_>) -> Result<(), DatabaseError> {
        self.each(sql, values, take)
    }

    fn execute(&self, sql: &str, values: &[Value<'_>]) -> Result<u64, DatabaseError> {
        Ok(prepared(self, sql)?.execute(params_from_iter(values))? as u64)
    }

    fn execute_all(&self, sql: &str, all: &[&[Value<'_>]]) -> Result<(), DatabaseError> {
        let mut statement = prepared(self, sql)?;
        for values in all {
            statement.execute(params_from_iter(*values))?;
        }
        Ok(())
    }
}

/// A statement, which is kept for the next time.
fn prepared<'c>(connection: &'c Connection, sql: &str) -> rusqlite::Result<CachedStatement<'c>> {
    let statement = connection.prepare_cached(sql)?;
    // SQLite numbers them in this order, whatever their names say.
    debug_assert!(
        (1..=statement.parameter_count())
            .all(|number| statement.parameter_name(number) == Some(&format!("${number}"))),
        "the parameters of a statement first appear in the order of their numbers: {sql}"
    );
    Ok(statement)
}

/// A write transaction, exclusive until it ends. Dropping it rolls back.
#[derive(Debug)]
pub(crate) struct Transaction {
    // Owned, so that a connection that failed is dropped with it.
    pub(super) connection: Connection,
}

impl Transaction {
    /// What its statements are executed on.
    pub(crate) fn session(&self) -> &(dyn Session + 'static) {
        &self.connection
    }

    /// Reads the database including this transaction's own writes.
    pub(crate) fn reader(&self) -> Reader<'_> {
        reader(&self.connection)
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
