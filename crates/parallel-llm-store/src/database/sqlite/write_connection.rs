//! The connection that writes.
//!
//! Invariant: what it commits is in files that have their names. A database that was removed or replaced is refused; if
//! only its write-ahead log was, the database is opened again.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use parallel_llm_engine::Failure;
use rusqlite::Connection;
use tokio::sync::Notify;

use super::connection::{Transaction, open_for_writing, reader};
use super::readers::Readers;
use crate::database::sql::parts::session::{Reader, Row};
use crate::database::sql::parts::value::values;
use crate::row::ownership::ExtendedLeases;
use crate::row::{count, integer};
use crate::system::clock;
use crate::system::error::{self, DatabaseError, DatabaseErrorKind};
use crate::system::file::{self, Identity};

/// Pause between two attempts to get the lock of another process, each of which takes some microseconds.
const LOCK_PAUSE: Duration = Duration::from_millis(1);

/// The writing connection, reopened after every error, since its state is then unknown.
#[derive(Debug)]
pub(crate) struct WriteConnection {
    path: PathBuf,
    connection: Option<Connection>,
    /// The identity of the database file when it was opened.
    identity: Option<Identity>,
    /// The reading connections, which have to be closed before the files of the log can be opened again.
    readers: Arc<Readers>,
}

impl WriteConnection {
    pub(super) fn new(
        path: PathBuf,
        connection: Connection,
        readers: Arc<Readers>,
    ) -> rusqlite::Result<Self> {
        let identity = file::identity(&path).ok();
        readers.note_log(&connection)?;
        Ok(Self { path, connection: Some(connection), identity, readers })
    }

    /// Another connection to the same file, for [`WriteConnection::extend_leases`] alone.
    pub(crate) fn another(&self) -> Self {
        Self { path: self.path.clone(), connection: None, identity: None, readers: Arc::clone(&self.readers) }
    }

    /// Notified when a reader finds that the log was removed or replaced.
    pub(crate) fn log_alarm(&self) -> Arc<Notify> {
        self.readers.log_alarm()
    }

    /// Begins a transaction, waiting at most this long for locks.
    pub(crate) fn begin(&mut self, wait: Duration) -> Result<Transaction, DatabaseError> {
        // SQLite itself would look every hundred milliseconds, and miss the pauses of a purge in another process.
        let transaction = Transaction { connection: self.take(Duration::ZERO)? };
        let until = clock::shared_now() + wait;
        // A deferred transaction that reads first would fail at once if another process has written in between.
        while let Err(cause) =
            transaction.connection.execute("BEGIN IMMEDIATE", ()).map_err(DatabaseError::from)
        {
            if cause.kind != DatabaseErrorKind::Locked || clock::shared_now() >= until {
                return Err(cause);
            }
            pause(LOCK_PAUSE);
        }
        transaction.connection.busy_timeout(wait)?;
        Ok(transaction)
    }

    /// Makes a transaction durable.
    pub(crate) fn commit(&mut self, transaction: Transaction) -> Result<(), DatabaseError> {
        transaction.connection.execute("COMMIT", ())?;
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
        let found = read(reader(&connection))?;
        self.put_back(connection);
        Ok(found)
    }

    /// Extends the leases of this process's open runs and claimed jobs. Each statement is its own transaction, so no one waits
    /// for a process that is suspended in the middle.
    pub(crate) fn extend_leases(
        &mut self,
        owner: &str,
        lease: Duration,
        wait: Duration,
    ) -> Result<ExtendedLeases, DatabaseError> {
        let until_ms = clock::now_ms() + integer(lease.as_millis() as u64);
        let runs = "UPDATE runs SET lease_until_ms = $1 WHERE owner = $2 AND closed_at_ms IS NULL RETURNING run_id, epoch";
        let jobs = "UPDATE batch_jobs SET lease_until_ms = $1 WHERE owner = $2 AND state = 'running'";
        // Closed at once: a connection that stayed open would hold a log that was removed.
        let connection = open_for_writing(&self.path, wait)?;
        let read = |row: &Row<'_>| Ok((row.get(0)?, count(row.get(1)?)));
        let runs = reader(&connection).session.rows(runs, &values![until_ms, owner], read)?;
        let jobs = connection.execute(jobs, (until_ms, owner))?;
        Ok(ExtendedLeases { runs, jobs })
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

    /// Fails if the database file was removed or replaced: writes to it would be lost when this process ends. If only the
    /// files of its log were, opens the database again.
    pub(crate) fn check_in_place(&mut self) -> Result<(), Failure> {
        match file::identity(&self.path) {
            Ok(now) if self.identity.is_none_or(|then| then == now) => {}
            // If the file cannot be examined, let the database report its own error.
            Err(cause) if cause.kind() != std::io::ErrorKind::NotFound => {}
            _ => return Err(error::replaced(&self.path)),
        }
        self.check_log().map_err(|cause| cause.unwritten())
    }

    /// Takes the connection; the caller puts it back unless an error occurred.
    pub(super) fn take(&mut self, wait: Duration) -> Result<Connection, DatabaseError> {
        self.check_log()?;
        let Some(connection) = self.connection.take() else {
            let connection = open_for_writing(&self.path, wait)?;
            self.readers.note_log(&connection)?;
            return Ok(connection);
        };
        connection.busy_timeout(wait)?;
        Ok(connection)
    }

    /// Opens the database again if the files of its log were removed or replaced. The commits that only the removed log
    /// holds are moved into the database first.
    fn check_log(&mut self) -> Result<(), DatabaseError> {
        let files = self.readers.log_files();
        if files.are_in_place() {
            return Ok(());
        }
        // Nobody reads until the end of this function: a connection that stayed open would go on with the removed files.
        let _pause =
            self.readers.pause().ok_or_else(|| DatabaseError::logless("others are still reading"))?;
        if let Some(connection) = self.connection.as_ref().filter(|_| !files.is_log_in_place()) {
            if files.is_log_unwritten() {
                if !is_log_moved_in(connection, "PASSIVE")? {
                    return Err(DatabaseError::logless(
                        "another process is still reading from the removed one",
                    ));
                }
            } else if !files.is_index_shared() && !is_log_moved_in(connection, "NOOP")? {
                // Another process has begun a log without the commits in ours. Moving them in now would destroy its own.
                return Err(DatabaseError::logless(
                    "another process has begun a log without what is in the removed one",
                ));
            }
        }
        // Closed before the new one is opened: connections of a process share the index that they have open.
        self.connection = None;
        let connection = open_for_writing(&self.path, Duration::ZERO)?;
        self.readers.note_log(&connection)?;
        self.connection = Some(connection);
        Ok(())
    }

    pub(super) fn put_back(&mut self, connection: Connection) {
        self.connection = Some(connection);
    }
}

#[expect(clippy::disallowed_methods, reason = "the writer's thread waits for nothing else meanwhile")]
fn pause(duration: Duration) {
    std::thread::sleep(duration);
}

/// Makes a checkpoint of this kind, and returns whether the database then holds all that is in the log. `NOOP` moves
/// nothing.
fn is_log_moved_in(connection: &Connection, kind: &str) -> rusqlite::Result<bool> {
    let sql = format!("PRAGMA wal_checkpoint({kind})");
    let (pages, moved): (i64, i64) = connection.query_row(&sql, (), |row| Ok((row.get(1)?, row.get(2)?)))?;
    Ok(pages == moved)
}
