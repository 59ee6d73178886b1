//! One opening at a time, and one purge: lock files beside the database, held while it is opened and brought up to date,
//! or while runs are purged.
//!
//! Every MCP client starts its own process, and SQLite's own locks do not cover the change to write-ahead
//! logging: without a lock 12 of 60 first openings at once failed. The system gives the lock back when the
//! process ends, however it ends, so the file may stay.

use std::fs::{File, TryLockError};
use std::path::Path;
use std::time::Duration;

use parallel_llm_engine::value::next::{Advice, MachineStep, Next};
use parallel_llm_engine::{Code, Failure};

use crate::fault;
use crate::file;

/// How long to wait for the others. An opening takes milliseconds, so even a crowd of hundreds is through.
const WAIT: Duration = Duration::from_secs(20);
/// Between two looks at the lock: short beside the opening it waits for.
const PAUSE: Duration = Duration::from_millis(2);

/// The right to open the database; given back when dropped.
#[derive(Debug)]
pub(crate) struct OpenLock {
    /// Held for its lock.
    _file: File,
}

impl OpenLock {
    /// Waits for the right to open the database whose lock file this is.
    pub(crate) async fn acquire(path: &Path) -> Result<Self, Failure> {
        let file = file::open_private(path).map_err(|cause| fault::file(path, &cause))?;
        try_lock_of_range(&file).map_err(|cause| fault::lockless(path, &cause))?;
        tokio::time::timeout(WAIT, hold(file, path)).await.unwrap_or_else(|_| Err(taken(path)))
    }
}

/// The right to purge; given back when dropped. One process at a time: words that one marks while another writes the index
/// anew would be taken for written over.
#[derive(Debug)]
pub(crate) struct PurgeLock {
    /// Held for its lock.
    _file: File,
}

impl PurgeLock {
    /// Takes the right whose lock file this is. Fails with `busy` where another process has it.
    pub(crate) fn acquire(path: &Path) -> Result<Self, Failure> {
        let file = file::open_private(path).map_err(|cause| fault::file(path, &cause))?;
        match file.try_lock() {
            Ok(()) => Ok(Self { _file: file }),
            Err(TryLockError::WouldBlock) => Err(Failure::new(Code::Busy, "another process is purging runs")
                .with_next(Advice::SayAgainAfterIt)),
            Err(TryLockError::Error(cause)) => Err(fault::lockless(path, &cause)),
        }
    }
}

async fn hold(file: File, path: &Path) -> Result<OpenLock, Failure> {
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(OpenLock { _file: file }),
            Err(TryLockError::WouldBlock) => tokio::time::sleep(PAUSE).await,
            Err(TryLockError::Error(cause)) => return Err(fault::lockless(path, &cause)),
        }
    }
}

/// Tries the kind of lock that SQLite takes. It takes a file system that refuses such locks for another process that holds
/// them, and would wait for that until its time is over.
#[cfg(unix)]
fn try_lock_of_range(file: &File) -> std::io::Result<()> {
    use rustix::fs::FlockOperation::{NonBlockingLockExclusive, NonBlockingUnlock};
    match rustix::fs::fcntl_lock(file, NonBlockingLockExclusive) {
        Ok(()) => Ok(rustix::fs::fcntl_lock(file, NonBlockingUnlock)?),
        // Somebody holds it, so there are locks.
        Err(rustix::io::Errno::AGAIN | rustix::io::Errno::ACCESS) => Ok(()),
        Err(cause) => Err(cause.into()),
    }
}

#[cfg(not(unix))]
#[expect(clippy::unnecessary_wraps, reason = "the same shape as where there are such locks")]
fn try_lock_of_range(_: &File) -> std::io::Result<()> {
    Ok(())
}

fn taken(path: &Path) -> Failure {
    let message = format!("another process has been opening the run database for {} s", WAIT.as_secs());
    let holder = MachineStep::EndHolder(path.display().to_string().into());
    Failure::new(Code::Storage, message).with_next([holder.into(), Next::Do(Advice::TryAgain)])
}
