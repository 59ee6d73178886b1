//! Lock files beside the database, for opening it and for purging.
//!
//! Every MCP client starts its own process, and SQLite's locks do not cover the switch to write-ahead logging: without
//! a lock, 12 of 60 simultaneous first openings failed. The system releases a lock when its process ends, so the file
//! may stay.

use std::fs::{File, TryLockError};
use std::path::Path;
use std::time::Duration;

use parallel_llm_engine::value::next::{Advice, MachineStep, Next};
use parallel_llm_engine::{Code, Failure};

use crate::system::{error, file};

/// Longest wait for other processes. Opening takes milliseconds, so this suffices for hundreds of them.
const WAIT: Duration = Duration::from_secs(20);
/// Pause between two attempts, short compared to an opening.
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

    /// Takes the exclusive right to purge. Fails with `busy` if another process has it: two purges at once would
    /// mistake words that are only marked as deleted for overwritten ones.
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

/// Tests whether the file system supports SQLite's kind of lock. SQLite takes a refusal for another process's lock, and
/// would wait for it until the deadline.
#[cfg(unix)]
fn try_lock_of_range(file: &File) -> std::io::Result<()> {
    use rustix::fs::FlockOperation::{NonBlockingLockExclusive, NonBlockingUnlock};
    match rustix::fs::fcntl_lock(file, NonBlockingLockExclusive) {
        Ok(()) => Ok(rustix::fs::fcntl_lock(file, NonBlockingUnlock)?),
        // Another process holds the lock, so the file system supports it.
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
