//! The reading connections: a bounded number, each opened when it is first needed and then kept.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use parallel_llm_engine::Failure;
use parking_lot::Mutex;
use rusqlite::Connection;
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore, TryAcquireError};

use super::connection::{open_for_reading, reader};
use super::log_files::LogFiles;
use crate::database::blocking::blocking;
use crate::database::reply::{Read, Reply};
use crate::system::error::{self, DatabaseError};

/// How long a read waits for a connection, and for a lock, which is rare with write-ahead logging.
pub(super) const READ_WAIT: Duration = Duration::from_secs(10);
/// Reading connections. Each is a thread while it reads, and a read takes well under a millisecond.
const READERS_MAX: u32 = 4;
/// How often a read looks whether the writer has opened the database again, which takes some milliseconds.
const REOPEN_PAUSE: Duration = Duration::from_millis(5);

/// The reading connections of a database.
#[derive(Debug)]
pub(super) struct Readers {
    path: PathBuf,
    /// A permit for each connection.
    permits: Arc<Semaphore>,
    /// Opened connections that are not in use.
    idle: Mutex<Vec<Connection>>,
    /// The files of the write-ahead log that this process has open.
    log: Mutex<LogFiles>,
    /// Whether they were found removed or replaced: reads wait until the writer has opened the database again.
    is_log_lost: AtomicBool,
    log_alarm: Arc<Notify>,
}

/// Keeps anybody from reading until it is dropped.
#[derive(Debug)]
pub(super) struct Pause {
    /// `None` after closing, when nobody reads any more.
    _permits: Option<OwnedSemaphorePermit>,
}

impl Readers {
    pub(super) fn of(path: PathBuf) -> Self {
        let permits = Arc::new(Semaphore::new(READERS_MAX as usize));
        let log = Mutex::new(LogFiles::of(&path));
        let is_log_lost = AtomicBool::new(false);
        Self { path, permits, idle: Mutex::default(), log, is_log_lost, log_alarm: Arc::default() }
    }

    /// Notes the files of the log that the writer's connection has open.
    pub(super) fn note_log(&self, writer: &Connection) -> rusqlite::Result<()> {
        // SQLite opens the files when it first reads.
        writer.query_row("SELECT COUNT(*) FROM sqlite_schema", (), |_| Ok(()))?;
        *self.log.lock() = LogFiles::of(&self.path);
        self.is_log_lost.store(false, Ordering::Release);
        Ok(())
    }

    /// The files of the log that this process has open.
    pub(super) fn log_files(&self) -> LogFiles {
        self.log.lock().clone()
    }

    /// Notified when the writer has to open the database again.
    pub(super) fn log_alarm(&self) -> Arc<Notify> {
        Arc::clone(&self.log_alarm)
    }

    /// Closes all connections; `None` while one is in use. New reads wait for [`Readers::note_log`].
    pub(super) fn pause(&self) -> Option<Pause> {
        self.is_log_lost.store(true, Ordering::Release);
        let permits = match Arc::clone(&self.permits).try_acquire_many_owned(READERS_MAX) {
            Ok(permits) => Some(permits),
            Err(TryAcquireError::Closed) => None,
            Err(TryAcquireError::NoPermits) => return None,
        };
        self.idle.lock().clear();
        Some(Pause { _permits: permits })
    }

    /// Reads one consistent view of the database on a thread that may wait.
    pub(super) async fn read(self: &Arc<Self>, read: Read) -> Result<Reply, Failure> {
        let mut read = read;
        loop {
            self.log_in_place().await?;
            let permit = self.permit().await?;
            let readers = Arc::clone(self);
            let attempt = blocking(move || {
                let attempt = readers.read_blocking(read);
                // Only now, since the connection is in use even if the caller has left.
                drop(permit);
                Ok(attempt)
            });
            match attempt.await? {
                Ok(found) => return found,
                Err(unread) => read = unread,
            }
        }
    }

    /// Waits until the writer has opened the database again, if the files of the log are known to be lost.
    async fn log_in_place(&self) -> Result<(), Failure> {
        let reopened = async {
            while self.is_log_lost.load(Ordering::Acquire) {
                self.log_alarm.notify_one();
                tokio::time::sleep(REOPEN_PAUSE).await;
            }
        };
        let in_time = tokio::time::timeout(READ_WAIT, reopened).await;
        in_time.map_err(|_| DatabaseError::logless("it could not be opened again").into())
    }

    async fn permit(&self) -> Result<OwnedSemaphorePermit, Failure> {
        let permit = Arc::clone(&self.permits).acquire_owned();
        match tokio::time::timeout(READ_WAIT, permit).await {
            Ok(permit) => permit.map_err(|_| error::closed()),
            Err(_) => Err(DatabaseError::crowded(READ_WAIT).into()),
        }
    }

    /// Gives `read` back if the files of the log were removed or replaced. A connection opened then would begin another
    /// log beside the index of the removed one.
    fn read_blocking(&self, read: Read) -> Result<Result<Reply, Failure>, Read> {
        if !self.log_files().are_in_place() {
            self.is_log_lost.store(true, Ordering::Release);
            return Err(read);
        }
        let idle = self.idle.lock().pop();
        let opened = idle.map_or_else(|| open_for_reading(&self.path, READ_WAIT), Ok);
        Ok(opened.map_err(|cause| DatabaseError::from(cause).into()).and_then(|mut connection| {
            // Rolled back when dropped, which ends the view.
            let view = connection.transaction().map_err(DatabaseError::from)?;
            let found = read(&reader(&view));
            drop(view);
            self.idle.lock().push(connection);
            found
        }))
    }

    /// Waits for the reads in progress and closes the connections. Later reads fail.
    pub(super) async fn close(&self) {
        // The permit of every connection is back once nobody reads. It fails only if this was called before.
        let all = self.permits.acquire_many(READERS_MAX).await;
        self.permits.close();
        drop(all);
        self.idle.lock().clear();
    }
}
