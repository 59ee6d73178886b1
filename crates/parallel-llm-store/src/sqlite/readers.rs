//! The reading connections: a bounded number, each opened when it is first needed and then kept.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use parallel_llm_engine::Failure;
use parking_lot::Mutex;
use rusqlite::Connection;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::connection::{Reader, open_for_reading};
use crate::blocking::blocking;
use crate::error::{self, DatabaseError};

/// How long a read waits for a connection, and for a lock, which is rare with write-ahead logging.
pub(super) const READ_WAIT: Duration = Duration::from_secs(10);
/// Reading connections. Each is a thread while it reads, and a read takes well under a millisecond.
const READERS_MAX: u32 = 4;

/// The reading connections of a database.
#[derive(Debug)]
pub(super) struct Readers {
    path: PathBuf,
    /// A permit for each connection.
    permits: Arc<Semaphore>,
    /// Opened connections that are not in use.
    idle: Mutex<Vec<Connection>>,
}

impl Readers {
    pub(super) fn of(path: PathBuf) -> Self {
        let permits = Arc::new(Semaphore::new(READERS_MAX as usize));
        Self { path, permits, idle: Mutex::default() }
    }

    /// Reads one consistent view of the database on a thread that may wait.
    pub(super) async fn read<T: Send + 'static>(
        self: &Arc<Self>,
        read: impl FnOnce(Reader<'_>) -> Result<T, Failure> + Send + 'static,
    ) -> Result<T, Failure> {
        let permit = self.permit().await?;
        let readers = Arc::clone(self);
        blocking(move || {
            let found = readers.read_blocking(read);
            // Only now, since the connection is in use even if the caller has left.
            drop(permit);
            found
        })
        .await
    }

    async fn permit(&self) -> Result<OwnedSemaphorePermit, Failure> {
        let permit = Arc::clone(&self.permits).acquire_owned();
        match tokio::time::timeout(READ_WAIT, permit).await {
            Ok(permit) => permit.map_err(|_| error::closed()),
            Err(_) => Err(DatabaseError::crowded(READ_WAIT).into()),
        }
    }

    fn read_blocking<T>(&self, read: impl FnOnce(Reader<'_>) -> Result<T, Failure>) -> Result<T, Failure> {
        let idle = self.idle.lock().pop();
        let mut connection = match idle {
            Some(connection) => connection,
            None => open_for_reading(&self.path, READ_WAIT).map_err(DatabaseError::from)?,
        };
        // Rolled back when dropped, which ends the view.
        let view = connection.transaction().map_err(DatabaseError::from)?;
        let found = read(Reader { connection: &view });
        drop(view);
        self.idle.lock().push(connection);
        found
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
