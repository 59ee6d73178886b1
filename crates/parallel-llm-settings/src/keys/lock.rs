//! The lock file of the stored keys, held while they are read, changed and written.
//!
//! The system releases a lock when its process ends, so the file may stay. A link or a pipe in its place is refused:
//! the target of a link is not ours to lock, and opening a pipe without a reader would block forever.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::Duration;

use parallel_llm_engine::value::next::{Advice, MachineStep, Next};
use parallel_llm_engine::{Code, Failure};

use crate::private_files;

/// Longest wait for other processes. Each takes milliseconds, so a longer wait means that one is stuck.
const WAIT_MAX: Duration = Duration::from_secs(5);
/// Pause between two attempts, short compared to a write.
const PAUSE: Duration = Duration::from_millis(2);

/// The exclusive right to change the stored keys, released on drop.
#[derive(Debug)]
pub(super) struct Lock {
    /// Held for its lock.
    _file: File,
}

impl Lock {
    /// Waits for the lock of this file, whose folder exists.
    pub(super) async fn acquire(path: &Path) -> Result<Self, Failure> {
        Self::acquire_within(path, WAIT_MAX).await
    }

    async fn acquire_within(path: &Path, wait_max: Duration) -> Result<Self, Failure> {
        let path = path.with_extension("lock");
        let file = open_private(&path).map_err(|error| unusable(&path, &error))?;
        let taken = |_| Err(taken(&path, wait_max));
        tokio::time::timeout(wait_max, hold(file, &path)).await.unwrap_or_else(taken)
    }
}

async fn hold(file: File, path: &Path) -> Result<Lock, Failure> {
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(Lock { _file: file }),
            Err(TryLockError::WouldBlock) => tokio::time::sleep(PAUSE).await,
            Err(TryLockError::Error(error)) => return Err(unusable(path, &error)),
        }
    }
}

fn open_private(path: &Path) -> std::io::Result<File> {
    if path.symlink_metadata().is_ok_and(|found| !found.is_file()) {
        return Err(std::io::Error::new(ErrorKind::AlreadyExists, "it is a link or no plain file"));
    }
    let mut options = private_files::private(OpenOptions::new());
    options.write(true).create(true).truncate(false);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt as _;
        // A link or pipe created since the check is neither followed nor waited for.
        let at_once = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
        options.custom_flags(at_once.bits().cast_signed());
    }
    options.open(path)
}

fn unusable(path: &Path, error: &std::io::Error) -> Failure {
    let message = format!("the lock of the kept keys `{}` cannot be used: {error}", path.display());
    Failure::new(Code::OutputUnwritable, message)
        .with_next([Next::Do(Advice::MoveAway), Next::Do(Advice::CorrectPermissions)])
}

fn taken(path: &Path, waited: Duration) -> Failure {
    let message = format!("another process has been changing the kept keys for {} ms", waited.as_millis());
    let holder = MachineStep::EndHolder(path.display().to_string().into());
    Failure::new(Code::OutputUnwritable, message).with_next([holder.into(), Next::Do(Advice::TryAgain)])
}

/// A temporary file name that no other process uses.
pub(super) fn temporary(path: &Path) -> PathBuf {
    path.with_extension(format!("toml.{}.new", std::process::id()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_lock_is_waited_for_so_long_and_given_back() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("keys.toml");
        let held = Lock::acquire(&path).await.unwrap();
        let failure = Lock::acquire_within(&path, Duration::from_millis(20)).await.unwrap_err();
        assert_eq!(failure.code, Code::OutputUnwritable);
        assert_eq!(failure.message, "another process has been changing the kept keys for 20 ms");
        drop(held);
        Lock::acquire(&path).await.unwrap();
    }
}
