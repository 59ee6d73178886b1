//! Connections: several for reading, each with a consistent view, and one for writing.

use std::path::Path;
use std::time::Duration;

use parallel_llm_engine::Failure;
use sqlx::pool::PoolConnection;
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
use sqlx::{AssertSqlSafe, ConnectOptions as _, Connection as _, Row as _, Sqlite};

use crate::error::{self, DatabaseError};
use crate::file::{self, Identity};

/// Reads within a connection, snapshot or transaction.
#[derive(Debug)]
pub(crate) struct Reader<'c> {
    pub(super) connection: &'c mut SqliteConnection,
}

/// A connection for independent reads.
#[derive(Debug)]
pub(crate) struct ReadConnection(pub(super) PoolConnection<Sqlite>);

impl ReadConnection {
    pub(crate) fn reader(&mut self) -> Reader<'_> {
        Reader { connection: &mut self.0 }
    }
}

/// A consistent view of the database, which blocks no writer.
#[derive(Debug)]
pub(crate) struct Snapshot(pub(super) sqlx::Transaction<'static, Sqlite>);

impl Snapshot {
    pub(crate) fn reader(&mut self) -> Reader<'_> {
        Reader { connection: &mut self.0 }
    }
}

/// A write transaction, exclusive until it ends. Dropping it rolls back.
#[derive(Debug)]
pub(crate) struct Transaction {
    // Owned, so that a connection that failed is dropped with it.
    pub(super) connection: SqliteConnection,
}

impl Transaction {
    /// Reads the database including this transaction's own writes.
    pub(crate) fn reader(&mut self) -> Reader<'_> {
        Reader { connection: &mut self.connection }
    }
}

/// The writing connection, reopened after every error, since its state is then unknown.
#[derive(Debug)]
pub(crate) struct WriteConnection {
    options: SqliteConnectOptions,
    connection: Option<SqliteConnection>,
    /// The current wait for locks.
    wait: Duration,
    /// The identity of the database file when it was opened.
    identity: Option<Identity>,
}

impl WriteConnection {
    pub(super) fn new(options: SqliteConnectOptions, connection: SqliteConnection, wait: Duration) -> Self {
        let identity = file::identity(options.get_filename()).ok();
        Self { options, connection: Some(connection), wait, identity }
    }

    /// Begins a transaction, waiting at most this long for locks.
    pub(crate) async fn begin(&mut self, wait: Duration) -> Result<Transaction, DatabaseError> {
        let mut connection = self.take(wait).await?;
        // A deferred transaction that reads first would fail at once if another process has written in between.
        sqlx::query("BEGIN IMMEDIATE").execute(&mut connection).await?;
        Ok(Transaction { connection })
    }

    /// Reads outside a transaction, which blocks no writer.
    pub(crate) async fn reader(&mut self, wait: Duration) -> Result<Reader<'_>, DatabaseError> {
        let connection = self.take(wait).await?;
        Ok(Reader { connection: self.connection.insert(connection) })
    }

    /// Makes a transaction durable.
    pub(crate) async fn commit(&mut self, transaction: Transaction) -> Result<(), DatabaseError> {
        let mut connection = transaction.connection;
        sqlx::query("COMMIT").execute(&mut connection).await?;
        self.put_back(connection);
        Ok(())
    }

    /// Moves the write-ahead log into the database as far as readers allow. Called between transactions, so that no
    /// commit waits for it.
    pub(crate) async fn checkpoint_wal(&mut self, wait: Duration) {
        let Ok(mut connection) = self.take(wait).await else { return };
        // Whatever stays in the log is durable there too.
        if sqlx::query("PRAGMA wal_checkpoint(PASSIVE)").execute(&mut connection).await.is_ok() {
            self.put_back(connection);
        }
    }

    /// Truncates the write-ahead log; `false` if a reader prevents it. Never waits, since everybody would wait with it.
    pub(crate) async fn truncate_wal(&mut self) -> bool {
        let Ok(mut connection) = self.take(Duration::ZERO).await else { return false };
        let emptied = sqlx::query("PRAGMA wal_checkpoint(TRUNCATE)").fetch_one(&mut connection).await;
        self.put_back(connection);
        emptied.is_ok_and(|row| row.try_get(0).is_ok_and(|is_busy: bool| !is_busy))
    }

    /// Fails if the database file was removed or replaced: writes to it would be lost when this process ends.
    pub(crate) fn check_in_place(&self) -> Result<(), Failure> {
        let path: &Path = self.options.get_filename();
        match file::identity(path) {
            Ok(now) if self.identity.is_none_or(|then| then == now) => Ok(()),
            // If the file cannot be examined, let the database report its own error.
            Err(cause) if cause.kind() != std::io::ErrorKind::NotFound => Ok(()),
            _ => Err(error::replaced(path)),
        }
    }

    pub(crate) async fn close(mut self) {
        if let Some(connection) = self.connection.take() {
            // All acknowledged writes are on disk, so a failed close loses nothing.
            drop(connection.close().await);
        }
    }

    /// Takes the connection; the caller puts it back unless an error occurred.
    pub(super) async fn take(&mut self, wait: Duration) -> Result<SqliteConnection, DatabaseError> {
        let mut connection = if let Some(connection) = self.connection.take() {
            connection
        } else {
            self.wait = wait;
            self.options.clone().busy_timeout(wait).connect().await?
        };
        if self.wait != wait {
            let sql = format!("PRAGMA busy_timeout = {}", wait.as_millis());
            sqlx::query(AssertSqlSafe(sql)).execute(&mut connection).await?;
            self.wait = wait;
        }
        Ok(connection)
    }

    pub(super) fn put_back(&mut self, connection: SqliteConnection) {
        self.connection = Some(connection);
    }
}
