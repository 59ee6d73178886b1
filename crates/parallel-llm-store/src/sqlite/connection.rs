//! The connections: many that read, each seeing the database as it was at one moment, and the one that writes.

use std::path::Path;
use std::time::Duration;

use parallel_llm_engine::Failure;
use sqlx::pool::PoolConnection;
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
use sqlx::{AssertSqlSafe, ConnectOptions as _, Connection as _, Row as _, Sqlite};

use crate::error::{self, DatabaseError};
use crate::file::{self, Identity};

/// Reads within a snapshot or a transaction.
#[derive(Debug)]
pub(crate) struct Reader<'c> {
    pub(super) connection: &'c mut SqliteConnection,
}

/// A connection for single reads, each of what stands there then.
#[derive(Debug)]
pub(crate) struct ReadConnection(pub(super) PoolConnection<Sqlite>);

impl ReadConnection {
    pub(crate) fn reader(&mut self) -> Reader<'_> {
        Reader { connection: &mut self.0 }
    }
}

/// The database as it was at one moment. It keeps nobody from writing.
#[derive(Debug)]
pub(crate) struct Snapshot(pub(super) sqlx::Transaction<'static, Sqlite>);

impl Snapshot {
    pub(crate) fn reader(&mut self) -> Reader<'_> {
        Reader { connection: &mut self.0 }
    }
}

/// A transaction that writes: nobody else does until it has ended. Dropped, it has changed nothing.
#[derive(Debug)]
pub(crate) struct Transaction {
    // Its own, so that a connection that has failed is dropped with it.
    pub(super) connection: SqliteConnection,
}

impl Transaction {
    /// Reads what stands in the database, and what this transaction has written.
    pub(crate) fn reader(&mut self) -> Reader<'_> {
        Reader { connection: &mut self.connection }
    }
}

/// The one connection that writes. After a failure it is made anew, because nothing is believed of the old one.
#[derive(Debug)]
pub(crate) struct WriteConnection {
    options: SqliteConnectOptions,
    connection: Option<SqliteConnection>,
    /// How long it waits for other processes now.
    wait: Duration,
    /// Which file the database was when it was opened.
    identity: Option<Identity>,
}

impl WriteConnection {
    pub(super) fn new(options: SqliteConnectOptions, connection: SqliteConnection, wait: Duration) -> Self {
        let identity = file::identity(options.get_filename()).ok();
        Self { options, connection: Some(connection), wait, identity }
    }

    /// Begins a transaction, waiting no longer than this for those of other processes.
    pub(crate) async fn begin(&mut self, wait: Duration) -> Result<Transaction, DatabaseError> {
        let mut connection = self.take(wait).await?;
        // A transaction that begins with reading and then writes fails at once where another has written in between.
        sqlx::query("BEGIN IMMEDIATE").execute(&mut connection).await?;
        Ok(Transaction { connection })
    }

    /// Reads outside a transaction, which keeps nobody from writing.
    pub(crate) async fn reader(&mut self, wait: Duration) -> Result<Reader<'_>, DatabaseError> {
        let connection = self.take(wait).await?;
        Ok(Reader { connection: self.connection.insert(connection) })
    }

    /// Makes what a transaction has written durable.
    pub(crate) async fn commit(&mut self, transaction: Transaction) -> Result<(), DatabaseError> {
        let mut connection = transaction.connection;
        sqlx::query("COMMIT").execute(&mut connection).await?;
        self.put_back(connection);
        Ok(())
    }

    /// Moves what is in the write-ahead log into the database, as far as no reader is in the way. To be done between
    /// transactions, so that nobody's commit waits for it.
    pub(crate) async fn checkpoint_wal(&mut self, wait: Duration) {
        let Ok(mut connection) = self.take(wait).await else { return };
        // What stays in the log is as safe there.
        if sqlx::query("PRAGMA wal_checkpoint(PASSIVE)").execute(&mut connection).await.is_ok() {
            self.put_back(connection);
        }
    }

    /// Empties the write-ahead log; `false` where a reader is in the way. It waits for nobody, because everybody would wait
    /// for it.
    pub(crate) async fn truncate_wal(&mut self) -> bool {
        let Ok(mut connection) = self.take(Duration::ZERO).await else { return false };
        let emptied = sqlx::query("PRAGMA wal_checkpoint(TRUNCATE)").fetch_one(&mut connection).await;
        self.put_back(connection);
        emptied.is_ok_and(|row| row.try_get(0).is_ok_and(|is_busy: bool| !is_busy))
    }

    /// Refuses to write to a database that is not at its place any more: what is written to a file that nobody finds is
    /// lost when this process ends.
    pub(crate) fn check_in_place(&self) -> Result<(), Failure> {
        let path: &Path = self.options.get_filename();
        match file::identity(path) {
            Ok(now) if self.identity.is_none_or(|then| then == now) => Ok(()),
            // Where nothing can be said of the file, the database itself says what is wrong.
            Err(cause) if cause.kind() != std::io::ErrorKind::NotFound => Ok(()),
            _ => Err(error::replaced(path)),
        }
    }

    pub(crate) async fn close(mut self) {
        if let Some(connection) = self.connection.take() {
            // Everything acknowledged is on the disk already; a failure to say goodbye loses nothing.
            drop(connection.close().await);
        }
    }

    /// The connection, to be put back by whoever had no trouble with it.
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
