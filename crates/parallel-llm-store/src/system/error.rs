//! Errors of the disk and the database, in plain words with next steps.
//!
//! Callers branch on codes, never on text; the original message is appended.

use std::borrow::Cow;
use std::fmt;
use std::io;
use std::path::Path;
use std::time::Duration;

use parallel_llm_engine::value::next::{Advice, Next};
use parallel_llm_engine::{Code, Failure};

/// The setting with the address of the server.
pub(crate) const URL_SETTING: &str = "database_url";

/// The kinds of database and disk errors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DatabaseErrorKind {
    /// Another connection holds a lock: worth waiting for.
    Locked,
    Full,
    ReadOnly,
    Unreachable,
    Damaged,
    Foreign,
    Disk,
    Lockless,
    /// The process or the system has too many open files.
    Descriptors,
    /// The files of the write-ahead log were removed or replaced: worth waiting for, until it can be opened again.
    Logless,
    Crowded,
    /// The server cannot be reached, is starting or stopping, or has cut the connection: worth waiting for, too.
    Away,
    /// The server does not answer, and nobody can say why: worth waiting for as well.
    Silent,
    /// The server does not let this user do it.
    Denied,
    Other,
}

/// The text for a kind of error.
struct Description {
    words: &'static str,
    /// What to do about it.
    next: &'static [Next],
    /// Whether a later attempt may succeed.
    passes: bool,
}

impl DatabaseErrorKind {
    const fn description(self) -> Description {
        const SET_FOLDER: Next = Next::Do(Advice::SetDataFolder);
        const AGAIN: Next = Next::Do(Advice::TryAgain);
        let (words, next, passes): (_, &'static [Next], _) = match self {
            Self::Locked => {
                ("another process keeps it locked", &[Next::Do(Advice::CloseOtherPrograms)], true)
            }
            Self::Full => ("the disk is full", &[Next::Do(Advice::FreeSpace)], true),
            Self::ReadOnly => {
                ("it may not be written", &[Next::Do(Advice::CorrectFolderPermissions), SET_FOLDER], false)
            }
            Self::Unreachable => {
                ("it cannot be reached", &[Next::Do(Advice::CheckFolderIsWritable), SET_FOLDER], false)
            }
            Self::Damaged => ("it is damaged", &[Next::Do(Advice::RestoreOrMove)], false),
            Self::Foreign => (
                "it is not a database, and was not changed",
                &[Next::Do(Advice::MoveDatabaseAway), SET_FOLDER],
                false,
            ),
            Self::Disk => ("the disk refuses", &[Next::Do(Advice::CheckDisk)], true),
            Self::Lockless => {
                ("its file system refuses locks", &[Next::Do(Advice::UseLocalDisk), SET_FOLDER], false)
            }
            Self::Descriptors => {
                ("no more files may be open at once", &[Next::Do(Advice::AllowOpenFiles)], true)
            }
            Self::Logless => (
                "its write-ahead log was removed or replaced while this program had it open",
                &[AGAIN, Next::Do(Advice::RestartProgram)],
                true,
            ),
            Self::Crowded => ("too many readers at once", &[AGAIN], true),
            Self::Away => {
                ("its server cannot be reached", &[AGAIN, Next::Do(Advice::CheckNetworkAndAddress)], true)
            }
            Self::Silent => {
                ("its server does not answer", &[AGAIN, Next::Do(Advice::CheckNetworkAndAddress)], true)
            }
            Self::Denied => ("its server does not allow it", &[Next::Set(Cow::Borrowed(URL_SETTING))], false),
            Self::Other => ("the database refuses", Code::Storage.next(), true),
        };
        Description { words, next, passes }
    }

    fn failure(self, subject: &str, cause: &dyn fmt::Display) -> Failure {
        let Description { words, next, passes } = self.description();
        let message = format!("{subject}: {words}: {cause}");
        Failure::new(Code::Storage, message).with_next(next.to_vec()).with_retryable(passes)
    }

    /// The kind of a file system error.
    pub(crate) fn of_io(cause: &io::Error) -> Self {
        match cause.kind() {
            _ if is_of_descriptors(cause) => Self::Descriptors,
            io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => Self::ReadOnly,
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Self::Full,
            io::ErrorKind::NotADirectory
            | io::ErrorKind::AlreadyExists
            | io::ErrorKind::NotFound
            | io::ErrorKind::InvalidData
            | io::ErrorKind::InvalidFilename => Self::Unreachable,
            _ => Self::Disk,
        }
    }
}

/// Whether the process or the system has too many open files.
#[cfg(unix)]
fn is_of_descriptors(cause: &io::Error) -> bool {
    use rustix::io::Errno;
    let short = [Errno::MFILE, Errno::NFILE];
    cause.raw_os_error().is_some_and(|code| short.iter().any(|errno| errno.raw_os_error() == code))
}

/// Other systems have no such limit.
#[cfg(not(unix))]
const fn is_of_descriptors(_: &io::Error) -> bool {
    false
}

/// A failed database operation. The caller adds what it was doing.
#[derive(Debug)]
pub(crate) struct DatabaseError {
    pub(crate) kind: DatabaseErrorKind,
    /// The original error.
    pub(crate) cause: Box<dyn std::error::Error + Send + Sync>,
}

impl DatabaseError {
    /// No reading connection was free for this long.
    pub(crate) fn crowded(wait: Duration) -> Self {
        let cause = format!("none of its connections was free for {} s", wait.as_secs());
        Self { kind: DatabaseErrorKind::Crowded, cause: cause.into() }
    }

    /// The files of the write-ahead log are not those that were opened, and cannot be opened again for this reason.
    pub(crate) fn logless(cause: &str) -> Self {
        Self { kind: DatabaseErrorKind::Logless, cause: cause.into() }
    }

    /// Whether waiting may help: another connection holds a lock, or the server is away.
    pub(crate) fn is_passing(&self) -> bool {
        use DatabaseErrorKind::{Away, Locked, Logless, Silent};
        matches!(self.kind, Locked | Away | Silent | Logless)
    }

    /// The failure whose message begins with `subject`.
    pub(crate) fn failure(&self, subject: &str) -> Failure {
        self.kind.failure(subject, &self.cause)
    }

    /// The failure of a write.
    pub(crate) fn unwritten(&self) -> Failure {
        self.failure("cannot write to the run database")
    }
}

/// The result of a database operation.
pub(crate) type DatabaseResult<T, E = DatabaseError> = Result<T, E>;

/// Outside of writes, the failed operation is a read.
impl From<DatabaseError> for Failure {
    fn from(error: DatabaseError) -> Self {
        error.failure("cannot read the run database")
    }
}

/// Another process has held the lock for too long.
pub(crate) fn locked() -> Failure {
    DatabaseErrorKind::Locked.failure("cannot write to the run database", &"it has been locked for a while")
}

/// Earlier events of the run wait in a file and have to be imported first.
pub(crate) fn held_back() -> Failure {
    DatabaseErrorKind::Other
        .failure("cannot write to the run database", &"earlier events of the run are not in it yet")
}

/// The database file was removed or replaced after it was opened.
pub(crate) fn replaced(path: &Path) -> Failure {
    let message = format!(
        "`{}` was removed or replaced while this program had it open: what is written now would be lost",
        path.display()
    );
    refused(message).with_next([Next::Do(Advice::RestartProgram), Next::Do(Advice::RestoreFileFirst)])
}

/// A file or folder of the store cannot be created or opened.
pub(crate) fn file(path: &Path, cause: &io::Error) -> Failure {
    DatabaseErrorKind::of_io(cause).failure(&format!("the run database needs `{}`", path.display()), cause)
}

/// A file of the store cannot be locked.
pub(crate) fn lockless(path: &Path, cause: &io::Error) -> Failure {
    DatabaseErrorKind::Lockless.failure(&format!("the run database cannot use `{}`", path.display()), cause)
}

/// Stored data cannot be parsed; `what` names it.
pub(crate) fn unreadable(what: &str, cause: &dyn std::fmt::Display) -> Failure {
    DatabaseErrorKind::Damaged.failure(&format!("the run database holds {what} that cannot be read"), cause)
}

/// This file cannot replace the database.
pub(crate) fn no_backup(from: &Path, why: &str) -> Failure {
    let message =
        format!("`{}` is no backup that can be restored, and nothing was changed: {why}", from.display());
    Failure::new(Code::Usage, message).with_next(Advice::NameBackup)
}

/// The store refuses a request, and a retry would not help.
pub(crate) fn refused(message: impl AsRef<str>) -> Failure {
    Failure::new(Code::Storage, message).with_retryable(false)
}

/// The writer's thread cannot be started.
pub(crate) fn threadless(cause: &io::Error) -> Failure {
    DatabaseErrorKind::Other.failure("cannot open the run database: no thread can be started for it", cause)
}

/// The store is closed.
pub(crate) fn closed() -> Failure {
    refused("the run database has been closed").with_next(Advice::RestartProgram)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_system_without_locks_is_no_other_process() {
        let failure = lockless(Path::new("/data/runs.db.lock"), &io::Error::from_raw_os_error(37));
        assert!(failure.message.contains("its file system refuses locks"), "{failure}");
        assert_eq!(
            (failure.retryable, failure.next_steps()),
            (false, DatabaseErrorKind::Lockless.description().next)
        );
    }

    #[test]
    fn a_failure_keeps_its_cause() {
        let full = io::Error::from(io::ErrorKind::StorageFull);
        let failure = file(Path::new("/data/runs.db"), &full);
        assert_eq!(
            failure.message,
            "the run database needs `/data/runs.db`: the disk is full: no storage space"
        );
        assert_eq!((failure.code, failure.retryable), (Code::Storage, true));
        assert_eq!(failure.next_steps(), DatabaseErrorKind::Full.description().next);
    }
}
