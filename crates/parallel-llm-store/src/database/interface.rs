//! The interface between the store and its database.
//!
//! [`Database`] opens it and reads from it: a read is a function of a [`Reader`], sees one consistent state, and runs on a
//! thread that may wait. [`WriteConnection`] belongs to the writer's thread and gives one [`Transaction`] at a time. Readers
//! and transactions are synchronous: their callers have a thread that may wait. A reader returns plain rows (`row/`), and a
//! transaction writes them. The code above gives rows their meaning: who may write a run, what a day may cost, how a text is
//! found, what is damaged.
//!
//! There are two databases: SQLite in a file (`sqlite/`), and PostgreSQL on a server that processes share (`postgres/`).
//! Each folder has these types, and what its database alone can do; the statements are in `sql/`.
//!
//! In SQLite a write transaction excludes every other. In PostgreSQL it does not: whoever reads a run in order to write it
//! locks it first ([`Transaction::lock_run`]), and a transaction that admits runs says so when it begins.
//!
//! Statements fail with a [`DatabaseError`](crate::system::error::DatabaseError); callers use only its kind.

use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use parallel_llm_engine::Failure;
use parallel_llm_engine::port::Lease;
use parallel_llm_engine::value::next::Next;
use tokio::sync::Notify;

use super::reply::{Reply, reading};
use super::sql::parts::session::Session;
use super::{postgres, sqlite};
use crate::history::changes::Changes;
use crate::ledger::LedgerRows;
use crate::row::Purpose;
use crate::row::append_rows::AppendRows;
use crate::row::event_row::PieceRow;
use crate::row::ownership::ExtendedLeases;
use crate::row::text_row::IndexedText;
use crate::spill::Spills;
use crate::system::error::{self, DatabaseResult as Result};
use crate::upkeep::backup::Backup;
use crate::upkeep::inspection::{CheckDepth, DatabaseState, Integrity};
use crate::upkeep::purge::ReclaimStep;

pub use super::postgres::ServerUrl;
pub(crate) use super::sql::parts::session::Reader;
pub use super::sqlite::backup::restore;

/// Where the runs are.
#[derive(Clone, Debug)]
pub enum Location {
    /// In this file. A missing folder is created.
    File(PathBuf),
    /// On a server.
    Server {
        /// Its address, with the user, the password and the database.
        url: ServerUrl,
        /// A folder of this machine for answers that the server does not accept at the moment.
        folder: PathBuf,
    },
}

/// The database, for reading.
#[derive(Clone, Debug)]
pub(crate) enum Database {
    Sqlite(sqlite::Database),
    Postgres(postgres::Database),
}

/// A write transaction. Dropping it rolls back.
#[derive(Debug)]
pub(crate) enum Transaction {
    Sqlite(sqlite::Transaction),
    Postgres(postgres::Transaction),
}

/// The writing connection, reopened after every error, since its state is then unknown.
#[derive(Debug)]
pub(crate) enum WriteConnection {
    Sqlite(sqlite::WriteConnection),
    Postgres(postgres::WriteConnection),
}

/// The right to purge, released on drop.
#[derive(Debug)]
pub(crate) enum PurgeLock {
    Sqlite { _lock: sqlite::FileLock },
    Postgres { _lock: Box<postgres::PurgeLock> },
}

/// An opened database.
#[derive(Debug)]
pub(crate) struct Opened {
    pub(crate) database: Database,
    pub(crate) connection: WriteConnection,
}

impl Database {
    /// Opens the database; creates it if it is missing. `wait` is how long opening waits for other processes.
    pub(crate) async fn open(location: &Location, wait: Duration) -> Result<Opened, Failure> {
        match location {
            Location::File(path) => {
                let (database, connection) = sqlite::Database::open(path, wait).await?;
                let connection = WriteConnection::Sqlite(connection);
                Ok(Opened { database: Self::Sqlite(database), connection })
            }
            Location::Server { url, .. } => {
                let (database, connection) = postgres::Database::open(url, wait).await?;
                let connection = WriteConnection::Postgres(connection);
                Ok(Opened { database: Self::Postgres(database), connection })
            }
        }
    }

    /// Reads one consistent view of the database on a thread that may wait.
    pub(crate) async fn read<T: Send + 'static>(
        &self,
        read: impl FnOnce(&Reader<'_>) -> Result<T, Failure> + Send + 'static,
    ) -> Result<T, Failure> {
        let read = reading(read);
        let reply = match self {
            Self::Sqlite(it) => it.read(read).await,
            Self::Postgres(it) => it.read(read).await,
        };
        reply.map(Reply::take)
    }

    /// Takes the right to purge. Fails with `busy` if another process has it.
    pub(crate) async fn lock_purge(&self) -> Result<PurgeLock, Failure> {
        match self {
            Self::Sqlite(it) => Ok(PurgeLock::Sqlite { _lock: it.lock_purge()? }),
            Self::Postgres(it) => Ok(PurgeLock::Postgres { _lock: Box::new(it.lock_purge().await?) }),
        }
    }

    /// Frees the space of deleted rows, if that is not done in the steps of [`Transaction::reclaim`].
    pub(crate) async fn vacuum(&self) -> Result<(), Failure> {
        match self {
            Self::Sqlite(_) => Ok(()),
            Self::Postgres(it) => it.vacuum().await,
        }
    }

    /// The folders for answers that the database does not accept at the moment.
    pub(crate) fn spills(&self, location: &Location, others: &[PathBuf]) -> Spills {
        match (self, location) {
            (Self::Postgres(it), Location::Server { folder, .. }) => {
                let folders: Vec<PathBuf> = std::iter::once(folder).chain(others).cloned().collect();
                Spills::of_id(it.id(), &folders)
            }
            (Self::Sqlite(it), _) => Spills::of(it.path(), others),
            _ => unreachable!("only a server has this database"),
        }
    }

    /// The changes of runs from now on, as far as the database tells them.
    pub(crate) fn changes(&self) -> Changes {
        Changes::told(match self {
            Self::Sqlite(_) => None,
            Self::Postgres(it) => Some(it.changes()),
        })
    }

    /// Whether it is on a server.
    pub(crate) const fn is_on_server(&self) -> bool {
        matches!(self, Self::Postgres(_))
    }

    /// The version, size and contents of the database.
    pub(crate) async fn state(&self) -> Result<DatabaseState, Failure> {
        match self {
            Self::Sqlite(it) => it.state().await,
            Self::Postgres(it) => it.state().await,
        }
    }

    /// Checks the integrity within this time.
    pub(crate) async fn check(&self, depth: CheckDepth, within: Duration) -> Result<Integrity, Failure> {
        match self {
            Self::Sqlite(it) => it.check(depth, within).await,
            Self::Postgres(it) => it.check(depth, within).await,
        }
    }

    /// Writes a backup to this new file, without blocking writers. A server has its own program for it.
    pub(crate) async fn back_up(&self, to: &Path) -> Result<Backup, Failure> {
        match self {
            Self::Sqlite(it) => it.back_up(to).await,
            Self::Postgres(_) => {
                let message = "a run database on a server is backed up with the server's own program";
                Err(error::refused(message).with_next(Next::Type("pg_dump".into())))
            }
        }
    }

    /// Closes the reading connections. Must happen before the writer's.
    pub(crate) async fn close(&self) {
        match self {
            Self::Sqlite(it) => it.close().await,
            Self::Postgres(it) => it.close().await,
        }
    }
}

impl Transaction {
    /// Reads the database including this transaction's own writes.
    pub(crate) fn reader(&self) -> Reader<'_> {
        match self {
            Self::Sqlite(it) => it.reader(),
            Self::Postgres(it) => it.reader(),
        }
    }

    /// Keeps other processes from changing this run until the transaction has ended. Whoever reads a run in order to write
    /// it calls this before it reads.
    pub(crate) fn lock_run(&mut self, run_id: &str) -> Result<()> {
        match self {
            Self::Sqlite(_) => Ok(()),
            Self::Postgres(it) => it.lock_run(run_id),
        }
    }

    /// Keeps other processes from changing these batches until the transaction has ended. Called once, before any other row
    /// is locked.
    pub(crate) fn lock_batches(&mut self, batch_ids: &[String]) -> Result<()> {
        match self {
            Self::Sqlite(_) => Ok(()),
            Self::Postgres(it) => it.lock_batches(batch_ids),
        }
    }

    /// Takes the right to fill the index of words and the counts of the list until the transaction has ended; `false` if
    /// another process has it and so does the work.
    pub(crate) fn may_fill(&mut self) -> Result<bool> {
        match self {
            Self::Sqlite(_) => Ok(true),
            Self::Postgres(it) => it.may_fill(),
        }
    }

    /// Whether the words of a text leave the index with their text. If not, they are removed first, and by the text.
    pub(crate) const fn words_go_with_texts(&self) -> bool {
        matches!(self, Self::Postgres(_))
    }

    /// Removes the words of these texts from the index.
    pub(crate) fn take_words_out(&mut self, texts: &[IndexedText]) -> Result<()> {
        match self {
            Self::Sqlite(it) => it.take_words_out(texts),
            Self::Postgres(_) => Ok(()),
        }
    }

    /// Records that the words of this text and of newer ones are removed, and must not be indexed again.
    pub(crate) fn note_taken_out(&mut self, run_id: &str, text_id: i64) -> Result<()> {
        match self {
            Self::Sqlite(it) => it.note_taken_out(run_id, text_id),
            Self::Postgres(_) => Ok(()),
        }
    }

    /// Adds a piece of a partial text; `false` if the lease's epoch is outdated, or the run is closed or stores no texts.
    pub(crate) fn insert_piece(&mut self, lease: Lease, piece: &PieceRow) -> Result<bool> {
        let is_written = self.write_piece(lease, piece)?;
        if let Self::Postgres(it) = self
            && is_written
        {
            it.changed.entry(lease.run_id.to_string()).or_default();
        }
        Ok(is_written)
    }

    /// Writes the rows of an append.
    pub(crate) fn apply(&mut self, changes: &AppendRows<'_>, money: &LedgerRows) -> Result<()> {
        if let (Self::Postgres(it), Some(newest)) = (&mut *self, changes.events.last()) {
            it.changed.insert(changes.run_id.clone(), Some(newest.seq));
        }
        self.write_append(changes, money)
    }

    /// Adds the words of a text to the index.
    pub(crate) fn put_words(&mut self, text: &IndexedText) -> Result<()> {
        match self {
            Self::Sqlite(it) => it.put_words(text),
            Self::Postgres(it) => it.put_words(text),
        }
    }

    /// Ends a copy: marks what is to be indexed, and lets further ids follow those that were copied.
    pub(crate) fn finish_copy(&mut self) -> Result<()> {
        self.execute("UPDATE runs SET is_indexed = (store_mode <> 'full')", &[])?;
        match self {
            Self::Sqlite(_) => Ok(()),
            Self::Postgres(it) => it.let_ids_follow(),
        }
    }

    /// Extends the leases of the runs that it changes as it commits. In a file, a transaction takes no time that matters.
    pub(crate) fn renew_leases(&mut self, owner: &str, lease: Duration) {
        match self {
            Self::Sqlite(_) => {}
            Self::Postgres(it) => it.renew_leases(owner, lease),
        }
    }

    /// Takes a step of overwriting purged data and freeing pages, and starts nothing new after `step_time`. `is_first`
    /// starts from the beginning. On a server, [`Database::vacuum`] does it at once.
    pub(crate) fn reclaim(&mut self, is_first: bool, step_time: Duration) -> Result<ReclaimStep> {
        match self {
            Self::Sqlite(it) => it.reclaim(is_first, step_time),
            Self::Postgres(_) => Ok(ReclaimStep::default()),
        }
    }
}

/// A transaction executes every statement that writes.
impl Deref for Transaction {
    type Target = dyn Session;

    fn deref(&self) -> &Self::Target {
        match self {
            Self::Sqlite(it) => it.session(),
            Self::Postgres(it) => &it.session,
        }
    }
}

impl WriteConnection {
    /// Another connection to the same database, opened when it is first needed.
    pub(crate) fn another(&self) -> Self {
        match self {
            Self::Sqlite(it) => Self::Sqlite(it.another()),
            Self::Postgres(it) => Self::Postgres(it.another()),
        }
    }

    /// Whether the database is on a server, which other machines share.
    pub(crate) const fn is_on_server(&self) -> bool {
        matches!(self, Self::Postgres(_))
    }

    /// Begins a transaction, waiting at most this long for other processes.
    pub(crate) fn begin(&mut self, purpose: Purpose, wait: Duration) -> Result<Transaction> {
        match self {
            Self::Sqlite(it) => it.begin(wait).map(Transaction::Sqlite),
            Self::Postgres(it) => it.begin(purpose, wait).map(Transaction::Postgres),
        }
    }

    /// Makes a transaction durable.
    pub(crate) fn commit(&mut self, transaction: Transaction) -> Result<()> {
        match (self, transaction) {
            (Self::Sqlite(it), Transaction::Sqlite(transaction)) => it.commit(transaction),
            (Self::Postgres(it), Transaction::Postgres(transaction)) => it.commit(transaction),
            _ => unreachable!("a connection begins transactions of its own database"),
        }
    }

    /// Reads outside a transaction, which blocks no writer.
    pub(crate) fn read<T>(
        &mut self,
        wait: Duration,
        read: impl FnOnce(&Reader<'_>) -> Result<T>,
    ) -> Result<T> {
        match self {
            Self::Sqlite(it) => it.read(wait, |reader| read(&reader)),
            Self::Postgres(it) => it.read(wait, |reader| read(&reader)),
        }
    }

    /// Extends the leases of this owner's open runs and claimed jobs by so long from now, and returns their number.
    pub(crate) fn extend_leases(
        &mut self,
        owner: &str,
        lease: Duration,
        wait: Duration,
    ) -> Result<ExtendedLeases> {
        match self {
            Self::Sqlite(it) => it.extend_leases(owner, lease, wait),
            Self::Postgres(it) => it.extend_leases(owner, lease, wait),
        }
    }

    /// Moves the write-ahead log into the database as far as readers allow. A server does it by itself.
    pub(crate) fn checkpoint_wal(&mut self, wait: Duration) {
        if let Self::Sqlite(it) = self {
            it.checkpoint_wal(wait);
        }
    }

    /// Truncates the write-ahead log; `false` if a reader prevents it. A server does it by itself.
    pub(crate) fn truncate_wal(&mut self) -> bool {
        match self {
            Self::Sqlite(it) => it.truncate_wal(),
            Self::Postgres(_) => true,
        }
    }

    /// Fails if the database file was removed or replaced: writes to it would be lost when this process ends. If only its
    /// write-ahead log was, opens the database again.
    pub(crate) fn check_in_place(&mut self) -> Result<(), Failure> {
        match self {
            Self::Sqlite(it) => it.check_in_place(),
            Self::Postgres(_) => Ok(()),
        }
    }

    /// Notified when a reader finds that [`Self::check_in_place`] has something to do. Nobody notifies a server's.
    pub(crate) fn log_alarm(&self) -> Arc<Notify> {
        match self {
            Self::Sqlite(it) => it.log_alarm(),
            Self::Postgres(_) => Arc::default(),
        }
    }
}
