//! The store's public face: opening, reading, closing. What is written comes through the engine's journal.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use parallel_llm_engine::port::Lease;
use parallel_llm_engine::{Failure, RunId};
use sqlx::sqlite::SqlitePool;

use crate::runs::{RunFilter, RunSummary, StoredRun};
use crate::sqlite::{self, read};
use crate::writer::{Work, Writer};

/// How long a write waits for those of other processes. Theirs take milliseconds; a backup may take a while, and
/// an answer that was paid for is worth the wait.
const WAIT: Duration = Duration::from_secs(60);

/// Which database, and how it is used.
#[derive(Clone, Debug)]
pub struct StoreConfig {
    /// The database file. Its folder is made where it is missing.
    pub path: PathBuf,
    /// How long a write waits for those of other processes before it fails.
    pub wait: Duration,
}

impl StoreConfig {
    /// The database of this path, used as is best for most.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into(), wait: WAIT }
    }
}

/// What is remembered of runs. Cheap to clone; all clones are the same store.
#[derive(Clone, Debug)]
pub struct Store {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    db: Db,
    writer: Writer,
}

/// The connections that read.
#[derive(Debug)]
enum Db {
    Sqlite(SqlitePool),
}

impl Store {
    /// Opens the database, made or brought up to date where that is needed. Its writer runs as a task of the
    /// runtime this is called on.
    ///
    /// A file that is not ours, that a newer version of this program wrote, or that may not be written is refused
    /// and left as it is.
    pub async fn open(config: StoreConfig) -> Result<Self, Failure> {
        let opened = sqlite::open(&config.path, config.wait).await?;
        let writer = Writer::start(opened.options, opened.connection);
        Ok(Self { shared: Arc::new(Shared { db: Db::Sqlite(opened.readers), writer }) })
    }

    /// Runs, newest first.
    pub async fn list(&self, filter: RunFilter) -> Result<Vec<RunSummary>, Failure> {
        match &self.shared.db {
            Db::Sqlite(readers) => read::list(readers, filter).await,
        }
    }

    /// A whole run, texts included as far as they are kept; `None` where there is no such run.
    pub async fn load(&self, run_id: RunId) -> Result<Option<StoredRun>, Failure> {
        match &self.shared.db {
            Db::Sqlite(readers) => read::load(readers, run_id).await,
        }
    }

    /// The one run whose id begins like this, in either case; `@` is the newest. Fails with `run_not_found` where
    /// there is none and with `usage` where there are several.
    pub async fn find_prefix(&self, prefix: &str) -> Result<RunId, Failure> {
        match &self.shared.db {
            Db::Sqlite(readers) => read::find(readers, prefix).await,
        }
    }

    /// Takes the right to write on in a run: whoever had it before is refused from now on. Fails with `busy`
    /// where another process is still at the run.
    pub async fn take_over(&self, run_id: RunId) -> Result<Lease, Failure> {
        self.shared.writer.ask(Work::TakeOver(run_id)).await
    }

    /// Transactions this store has committed since it was opened.
    pub fn commits(&self) -> u64 {
        self.shared.writer.commits()
    }

    /// Writes what is still queued, brings the write-ahead log home and lets the database go. Whatever is asked of
    /// the store afterwards fails.
    pub async fn close(&self) {
        match &self.shared.db {
            // The readers go first: only the last one out, if it may write, can clear the log away.
            Db::Sqlite(readers) => readers.close().await,
        }
        self.shared.writer.close().await;
    }

    pub(crate) fn writer(&self) -> &Writer {
        &self.shared.writer
    }
}
