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

use crate::error;
use crate::file;

/// How long to wait for the others. An opening takes milliseconds, so even a crowd of hundreds is through.
const WAIT: Duration = Duration::from_secs(20);
/// Between two looks at the lock: short beside the opening it waits for.
const PAUSE: Duration = Duration::from_millis(2);

/// An exclusive lock on a file beside the database, released on drop.
#[derive(Debug)]
pub(crate) struct FileLock {
    /// Held for its lock.
    _file: File,
}

impl FileLock {
    /// Waits for the exclusive right to open the database of this lock file.
    pub(crate) async fn wait_to_open(path: &Path) -> Result<Self, Failure> {
        let file = file::open_private(path).map_err(|cause| error::file(path, &cause))?;
        try_lock_of_range(&file).map_err(|cause| error::lockless(path, &cause))?;
        let wait = async {
            loop {
                match file.try_lock() {
                    Ok(()) => return Ok(()),
                    Err(TryLockError::WouldBlock) => tokio::time::sleep(PAUSE).await,
                    Err(TryLockError::Error(cause)) => return Err(error::lockless(path, &cause)),
                }
            }
        };
        tokio::time::timeout(WAIT, wait).await.unwrap_or_else(|_| Err(taken(path)))?;
        Ok(Self { _file: file })
    }

    /// Takes the exclusive right to purge. Fails with `busy` if another process has it: it would take words that one
    /// process marks while another rewrites the index for overwritten ones.
    pub(crate) fn purge(path: &Path) -> Result<Self, Failure> {
        let file = file::open_private(path).map_err(|cause| error::file(path, &cause))?;
        match file.try_lock() {
            Ok(()) => Ok(Self { _file: file }),
            Err(TryLockError::WouldBlock) => Err(Failure::new(Code::Busy, "another process is purging runs")
                .with_next(Advice::SayAgainAfterIt)),
            Err(TryLockError::Error(cause)) => Err(error::lockless(path, &cause)),
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
