//! The reading connections: a bounded number, each opened when it is first needed and then kept.

use std::sync::Arc;
use std::time::Duration;

use parallel_llm_engine::Failure;
use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::connection::Connection;
use super::wire::Wire;
use super::write_connection::{BEGIN_ANSWER_MAX, begin_reading, time};
use crate::database::blocking::blocking;
use crate::database::reply::{Read, Reply};
use crate::database::sql::parts::session::Reader;
use crate::system::error::{self, DatabaseError, DatabaseErrorKind};

/// How long a read waits for a connection.
const READ_WAIT: Duration = Duration::from_secs(10);
/// How long it waits for one to be opened: with the silence of a kept one, less than ten seconds.
const OPEN_WAIT: Duration = Duration::from_secs(5);
/// Longest wait for the answer to a read. The largest take some seconds, and a connection that leads nowhere must not keep its
/// place for long.
const READ_ANSWER_MAX: Duration = Duration::from_secs(20);
/// Reading connections. The server has a process for each, and other replicas have theirs.
const READERS_MAX: u32 = 4;

/// The reading connections of a database.
#[derive(Debug)]
pub(super) struct Readers {
    wire: Arc<Wire>,
    /// A permit for each connection.
    permits: Arc<Semaphore>,
    /// Opened connections that are not in use.
    idle: Mutex<Vec<Connection>>,
}

impl Readers {
    pub(super) fn of(wire: Arc<Wire>) -> Self {
        let permits = Arc::new(Semaphore::new(READERS_MAX as usize));
        Self { wire, permits, idle: Mutex::default() }
    }

    /// Reads one consistent view of the database on a thread that may wait.
    pub(super) async fn read(self: &Arc<Self>, read: Read) -> Result<Reply, Failure> {
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

    fn read_blocking(&self, read: Read) -> Result<Reply, Failure> {
        let (session, now_ms) = self.begin()?;
        let found = read(&Reader { session: &session, now_ms });
        // A connection that does not end its view is dropped; what was read stays.
        if session.command("COMMIT").is_ok() {
            self.idle.lock().push(session);
        }
        found
    }

    /// Begins a view on a kept connection or a new one. A kept one may have been ended meanwhile.
    fn begin(&self) -> Result<(Connection, i64), DatabaseError> {
        for _ in 0..READERS_MAX {
            let Some(session) = self.idle.lock().pop() else { break };
            session.limit_answers(BEGIN_ANSWER_MAX);
            match session.command(&begin_reading()) {
                Ok(now) => return begun(session, now),
                Err(cause) if cause.kind == DatabaseErrorKind::Silent => {
                    // The others would be as silent, one after the other.
                    self.idle.lock().clear();
                }
                Err(cause) if cause.kind != DatabaseErrorKind::Away => return Err(cause),
                Err(_) => {}
            }
        }
        let session = Connection::open(&self.wire, OPEN_WAIT)?;
        let now = session.command(&begin_reading())?;
        begun(session, now)
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

/// A view that has begun at this time.
fn begun(session: Connection, now: Option<String>) -> Result<(Connection, i64), DatabaseError> {
    session.limit_answers(READ_ANSWER_MAX);
    Ok((session, time(now)?))
}
