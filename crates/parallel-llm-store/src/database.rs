//! The interface between the store and its database.
//!
//! [`Database`] opens it and reads from it: a read is a function of a [`Reader`], sees one consistent state, and runs on a
//! thread that may wait. [`WriteConnection`] belongs to the writer's thread and gives one [`Transaction`] at a time. Readers
//! and transactions are synchronous: their callers have a thread that may wait. A reader returns plain rows (`row/`), and a
//! transaction writes them. The code above gives rows their meaning: who may write a run, what a day may cost, how a text is
//! found, what is damaged.
//!
//! There are two databases: SQLite in a file (`sqlite/`), and PostgreSQL on a server that processes share (`postgres/`).
//! Each folder has these types and its own statements. The lists below are all that the code above knows of either.
//!
//! In SQLite a write transaction excludes every other. In PostgreSQL it does not: whoever reads a run in order to write it
//! locks it first ([`Transaction::lock_run`]), and a transaction that admits runs says so when it begins.
//!
//! Statements fail with a [`DatabaseError`](crate::error::DatabaseError); callers use only its kind.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use parallel_llm_engine::port::Lease;
use parallel_llm_engine::run::event::Attempt;
use parallel_llm_engine::value::next::Next;
use parallel_llm_engine::{BatchId, Failure, PicoUsd, RunId};
use tokio::sync::Notify;

use crate::backup::Backup;
use crate::batch::{Batch, BatchJob, BatchState, JobsPage, NewBatch};
use crate::changes::Changes;
use crate::costs::{CostLine, CostQuery};
use crate::error::{self, DatabaseResult as Result};
use crate::figures::{CallFact, HourSpend};
use crate::inspection::{CheckDepth, DatabaseState, Integrity};
use crate::ledger::LedgerRows;
use crate::postgres;
use crate::purge::ReclaimStep;
use crate::row::Purpose;
use crate::row::append_rows::AppendRows;
use crate::row::call_row::DaySpend;
use crate::row::call_row::ProviderSpend;
use crate::row::counted_run::CountChanges;
use crate::row::event_row::{EventRow, PieceRow};
use crate::row::filter::{CountFilter, PostingRange, RunPage, SameQuestion};
use crate::row::job_row::{BatchSums, ClaimOwner, JobEndRow, JobRow, NewJobRow};
use crate::row::new_run::NewRun;
use crate::row::ownership::{ExtendedLeases, Ownership, Stamp};
use crate::row::run_row::{KeyedRun, ListedRun, RunMoment, RunRecord, RunRow, SimilarRun, StoredRow};
use crate::row::seat_fact::{StoredFact, TimedFact};
use crate::row::table::{Table, Value};
use crate::row::text_row::{IndexScope, IndexedText, Passage, TextRow, WordMatching};
use crate::sessions::{NewSession, SessionLimits, StoredSession};
use crate::spill::Spills;
use crate::sqlite;
use crate::tokens::StoredToken;

pub use crate::postgres::ServerUrl;
pub use crate::sqlite::backup::restore;

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

/// Reads within a consistent view or a transaction.
#[derive(Debug)]
pub(crate) enum Reader<'c> {
    Sqlite(sqlite::Reader<'c>),
    Postgres(postgres::Reader<'c>),
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

/// Passes each of these functions on to the database that there is.
macro_rules! of_either {
    ($( $(#[$note:meta])* fn $name:ident(&$this:ident $(, $value:ident: $type:ty)*) -> $result:ty; )*) => {
        $( $(#[$note])* pub(crate) fn $name(&$this $(, $value: $type)*) -> $result {
            match $this {
                Self::Sqlite(it) => it.$name($($value),*),
                Self::Postgres(it) => it.$name($($value),*),
            }
        } )*
    };
    ($( $(#[$note:meta])* fn $name:ident(&mut $this:ident $(, $value:ident: $type:ty)*) -> $result:ty; )*) => {
        $( $(#[$note])* pub(crate) fn $name(&mut $this $(, $value: $type)*) -> $result {
            match $this {
                Self::Sqlite(it) => it.$name($($value),*),
                Self::Postgres(it) => it.$name($($value),*),
            }
        } )*
    };
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
        match self {
            Self::Sqlite(it) => it.read(|reader| read(&Reader::Sqlite(reader))).await,
            Self::Postgres(it) => it.read(|reader| read(&Reader::Postgres(reader))).await,
        }
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

impl Reader<'_> {
    of_either! {
        /// The time of the database's clock, in milliseconds since 1970.
        fn now_ms(&self) -> i64;
        fn run_page(&self, page: &RunPage<'_>) -> Result<Vec<ListedRun>>;
        fn run_before_newest(&self, back: u32, asked_by: Option<&str>) -> Result<Option<RunId>>;
        fn runs_beginning(&self, prefix: &str, asked_by: Option<&str>, limit: usize) -> Result<Vec<RunId>>;
        fn run(&self, run_id: RunId) -> Result<Option<RunRecord>>;
        fn run_row(&self, run_id: RunId) -> Result<Option<StoredRow>>;
        fn ownership(&self, run_id: RunId) -> Result<Option<Ownership>>;
        fn epoch(&self, run_id: RunId) -> Result<Option<u64>>;
        fn epochs(&self, ids: &[RunId]) -> Result<BTreeMap<RunId, (u64, bool)>>;
        fn decided_runs(&self, limit: usize) -> Result<Vec<RunId>>;
        fn requested_cancels(&self, owner: &str) -> Result<Vec<RunId>>;
        fn owners_since_cancel(&self, run_id: RunId) -> Result<Option<u64>>;
        fn run_of_key(&self, asked_by: Option<&str>, key: &str) -> Result<Option<KeyedRun>>;
        fn unfinished_runs(&self, question: &SameQuestion<'_>, except: RunId) -> Result<Vec<SimilarRun>>;
        fn answered_runs(&self, question: &SameQuestion<'_>) -> Result<Vec<RunId>>;
        fn runs_over_before(&self, before: RunId, now_ms: i64) -> Result<Vec<RunId>>;
        fn events(&self, run_id: RunId, after_seq: u64) -> Result<Vec<EventRow>>;
        fn texts(&self, run_id: RunId, lengths: &BTreeMap<String, u64>) -> Result<BTreeMap<String, Arc<str>>>;
        fn text(&self, run_id: RunId, hash: &str, bytes: Option<u64>) -> Result<Option<Arc<str>>>;
        fn pieces(&self, run_id: RunId) -> Result<Vec<PieceRow>>;
        fn piece_end(&self, run_id: RunId, attempt: Attempt) -> Result<Option<i64>>;
        fn spent(&self, asked_by: Option<&str>, since_ms: i64) -> Result<Vec<ProviderSpend>>;
        fn day_spend(&self, asked_by: Option<&str>, since_ms: i64, except: RunId) -> Result<DaySpend>;
        fn costs(&self, asked_by: Option<&str>, query: CostQuery) -> Result<Vec<CostLine>>;
        fn call_facts(&self, asked_by: Option<&str>, since_ms: i64, calls_max: usize) -> Result<Vec<CallFact>>;
        fn spent_by_hour(&self, asked_by: Option<&str>, since_ms: i64) -> Result<Vec<HourSpend>>;
        fn seat_facts(&self, asked_by: Option<&str>, since_ms: i64, facts_max: usize) -> Result<Vec<StoredFact>>;
        fn facts_of(&self, runs: &[RunId]) -> Result<Vec<TimedFact>>;
        fn uncounted_runs(
            &self,
            asked_by: Option<&str>,
            before: Option<RunId>,
            limit: usize
        ) -> Result<Vec<ListedRun>>;
        fn has_uncounted_run(&self) -> Result<bool>;
        fn runs_to_count(&self, limit: usize) -> Result<Vec<StoredRow>>;
        fn plan_json(&self, run_id: &str) -> Result<Option<String>>;
        fn counted_runs(&self, filter: &CountFilter<'_>, range: PostingRange, limit: usize) -> Result<Vec<RunId>>;
        fn listed_runs(&self, runs: &[RunId]) -> Result<Vec<ListedRun>>;
        fn status_counts(&self, filter: &CountFilter<'_>) -> Result<Vec<(String, u64)>>;
        fn strategy_counts(&self, filter: &CountFilter<'_>) -> Result<Vec<(String, u64)>>;
        fn model_counts(&self, filter: &CountFilter<'_>) -> Result<Vec<(String, u64)>>;
        fn day_counts(&self, filter: &CountFilter<'_>, until: &str, limit: usize) -> Result<Vec<(String, u64)>>;
        fn unindexed_run(&self, behind: IndexScope) -> Result<Option<String>>;
        fn count_unindexed(&self, asked_by: Option<&str>) -> Result<u64>;
        fn unindexed_texts(&self, run_id: &str) -> Result<Vec<i64>>;
        fn indexed_texts(&self, run_id: &str) -> Result<Vec<i64>>;
        fn text_of_id(&self, text_id: i64, bytes_max: Option<usize>) -> Result<TextRow>;
        fn passages(
            &self,
            phrases: &[Vec<String>],
            matching: WordMatching,
            take: impl FnMut(Passage) -> bool
        ) -> Result<()>;
        fn tokens(&self) -> Result<Vec<StoredToken>>;
        fn token(&self, hash: [u8; 32]) -> Result<Option<StoredToken>>;
        fn count_tokens(&self) -> Result<i64>;
        fn session(&self, hash: [u8; 32]) -> Result<Option<StoredSession>>;
        fn form_key(&self) -> Result<Vec<u8>>;
        fn batches(&self, limit: usize) -> Result<Vec<Batch>>;
        fn open_batches(&self, limit: usize) -> Result<Vec<Batch>>;
        fn batch(&self, batch_id: BatchId) -> Result<Option<Batch>>;
        fn batch_jobs(&self, page: &JobsPage) -> Result<Vec<BatchJob>>;
        fn job(&self, batch_id: BatchId, line: i64) -> Result<Option<JobRow>>;
        fn claim_owners(&self) -> Result<Vec<ClaimOwner>>;
        fn table_rows(
            &self,
            table: &Table,
            take: &mut dyn FnMut(Vec<Value>) -> Result<(), Failure>
        ) -> Result<(), Failure>;
        fn open_ownerships(&self) -> Result<Vec<Ownership>>;
        fn first_filled_table(&self) -> Result<Option<&'static str>>;
    }
}

impl Transaction {
    /// Reads the database including this transaction's own writes.
    pub(crate) fn reader(&self) -> Reader<'_> {
        match self {
            Self::Sqlite(it) => Reader::Sqlite(it.reader()),
            Self::Postgres(it) => Reader::Postgres(it.reader()),
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

    of_either! {
        fn insert_run(&mut self, new: &NewRun, epoch: u64, stamp: &Stamp) -> Result<bool>;
        fn advance_run(&mut self, row: &RunRow, from: RunMoment, stamp: &Stamp) -> Result<bool>;
        fn take_over(&mut self, row: &RunRow, stamp: &Stamp) -> Result<u64>;
        fn index_again(&mut self, run_id: &str) -> Result<()>;
        fn release_run(&mut self, stored: &StoredRow, epoch: u64) -> Result<()>;
        fn request_cancel(&mut self, run_id: RunId) -> Result<()>;
        fn insert_piece(&mut self, lease: Lease, piece: &PieceRow) -> Result<bool>;
        fn apply(&mut self, changes: &AppendRows<'_>, money: &LedgerRows) -> Result<()>;
        fn insert_counted(&mut self, stored: &StoredRow, changes: &mut CountChanges) -> Result<()>;
        fn uncount(&mut self, run_id: &str) -> Result<()>;
        fn change_counts(&mut self, changes: &CountChanges) -> Result<()>;
        fn put_words(&mut self, text: &IndexedText) -> Result<()>;
        fn note_indexed(&mut self, run_id: &str, newest: Option<i64>, is_whole: bool) -> Result<()>;
        fn delete_run(&mut self, run_id: &str) -> Result<()>;
        fn insert_token(&mut self, new: &StoredToken) -> Result<Option<StoredToken>>;
        fn revoke_token(&mut self, token_id: i64, now_ms: i64) -> Result<Option<StoredToken>>;
        fn note_token_use(&mut self, token_id: i64, now_ms: i64, stands_ms: i64) -> Result<()>;
        fn insert_session(&mut self, new: &NewSession, now_ms: i64) -> Result<()>;
        fn make_room_for_session(
            &mut self,
            holder: Option<[u8; 32]>,
            limits: &SessionLimits,
            now_ms: i64
        ) -> Result<()>;
        fn delete_session(&mut self, hash: [u8; 32]) -> Result<()>;
        fn note_session_use(&mut self, hash: [u8; 32], now_ms: i64) -> Result<()>;
        fn insert_batch(&mut self, new: &NewBatch, now_ms: i64) -> Result<bool>;
        fn set_batch(
            &mut self,
            batch_id: BatchId,
            state: BatchState,
            pause: Option<&str>,
            budget: PicoUsd
        ) -> Result<()>;
        fn add_to_batch(&mut self, batch_id: BatchId, sums: &BatchSums, settled_at_ms: Option<i64>) -> Result<()>;
        fn delete_batch(&mut self, batch_id: BatchId) -> Result<bool>;
        fn insert_job(&mut self, batch_id: BatchId, job: &NewJobRow) -> Result<bool>;
        fn waiting_jobs(
            &mut self,
            batch_id: BatchId,
            now_ms: i64,
            room: PicoUsd,
            limit: usize
        ) -> Result<Vec<JobRow>>;
        fn claim_jobs(&mut self, batch_id: BatchId, lines: &[i64], stamp: &Stamp) -> Result<()>;
        fn end_job(&mut self, batch_id: BatchId, line: i64, end: &JobEndRow<'_>) -> Result<()>;
        fn retry_failed(&mut self, batch_id: BatchId, resend: bool) -> Result<u64>;
        fn release_jobs(&mut self, lost: &ClaimOwner) -> Result<()>;
        fn give_back_jobs(&mut self, batch_id: BatchId, owner: &str, but: &[i64]) -> Result<()>;
        fn insert_rows(&mut self, table: &Table, rows: &[Vec<Value>]) -> Result<()>;
        fn finish_copy(&mut self) -> Result<()>;
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
            Self::Sqlite(it) => it.read(wait, |reader| read(&Reader::Sqlite(reader))),
            Self::Postgres(it) => it.read(wait, |reader| read(&Reader::Postgres(reader))),
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
