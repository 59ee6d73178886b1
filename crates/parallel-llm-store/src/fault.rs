//! What went wrong with the disk or the database, in plain words with what to do next.
//!
//! We branch on codes, never on text; the cause's own words are kept behind ours.

use std::io;
use std::path::Path;

use parallel_llm_engine::{Code, Failure};

/// What kind of trouble it is: in a few words, what to do, and whether the same may work later.
struct Trouble {
    what: &'static str,
    next: &'static str,
    passes: bool,
}

const LOCKED: Trouble = Trouble {
    what: "another process keeps it locked",
    next: "close other programs that have the run database open, then try again",
    passes: true,
};
const FULL: Trouble = Trouble {
    what: "the disk is full",
    next: "free some space on the disk of the data folder, then try again",
    passes: true,
};
const READ_ONLY: Trouble = Trouble {
    what: "it may not be written",
    next: "mend the permissions of the data folder, or choose another with `PARALLEL_LLM_DATA_DIR`",
    passes: false,
};
const UNREACHABLE: Trouble = Trouble {
    what: "it cannot be reached",
    next: "check that the data folder is a folder you may write to, or choose another with `PARALLEL_LLM_DATA_DIR`",
    passes: false,
};
const DAMAGED: Trouble = Trouble {
    what: "it is damaged",
    next: "make a copy of the data folder, then move the database away or restore it from a backup",
    passes: false,
};
const FOREIGN: Trouble = Trouble {
    what: "it is not a database",
    next: "nothing was changed: move the file away, or choose another folder with `PARALLEL_LLM_DATA_DIR`",
    passes: false,
};
const DISK: Trouble = Trouble {
    what: "the disk refuses",
    next: "check the free space and the health of the disk of the data folder",
    passes: true,
};
const LOCKLESS: Trouble = Trouble {
    what: "its file system refuses locks",
    next: "choose a data folder on a local disk with `PARALLEL_LLM_DATA_DIR`",
    passes: false,
};
const CROWDED: Trouble = Trouble { what: "too many readers at once", next: "try again", passes: true };
const OTHER: Trouble = Trouble { what: "the database refuses", next: Code::Storage.next(), passes: true };

impl Trouble {
    fn tell(&self, subject: &str, cause: &dyn std::fmt::Display) -> Failure {
        let message = format!("{subject}: {}: {cause}", self.what);
        Failure::new(Code::Storage, message).with_next(self.next).with_retryable(self.passes)
    }
}

/// The database did not do what it was asked. `subject` is the sentence's beginning.
pub(crate) fn database(subject: &str, cause: &sqlx::Error) -> Failure {
    let trouble = match cause {
        sqlx::Error::Io(cause) => of_io(cause),
        sqlx::Error::PoolTimedOut => &CROWDED,
        sqlx::Error::Database(cause) => {
            let code = cause.code().and_then(|code| code.parse().ok());
            code.map_or(&OTHER, of_sqlite)
        }
        _ => &OTHER,
    };
    trouble.tell(subject, cause)
}

/// Whether another connection has the database: the one trouble that is worth waiting for.
pub(crate) fn is_locked(cause: &sqlx::Error) -> bool {
    let code = cause.as_database_error().and_then(sqlx::error::DatabaseError::code);
    code.and_then(|code| code.parse().ok()).is_some_and(|code: i32| matches!(code & 0xff, 5 | 6))
}

/// The database did not take what was to be written.
pub(crate) fn unwritten(cause: &sqlx::Error) -> Failure {
    database("cannot write to the run database", cause)
}

/// Another process has had the database for a while.
pub(crate) fn locked() -> Failure {
    LOCKED.tell("cannot write to the run database", &"it has been locked for a while")
}

/// What follows something that waits in a file cannot be written before it.
pub(crate) fn held_back() -> Failure {
    OTHER.tell("cannot write to the run database", &"earlier events of the run are not in it yet")
}

/// Another file, or none, is where the database was when it was opened.
pub(crate) fn replaced(path: &Path) -> Failure {
    let message = format!(
        "`{}` was removed or replaced while this program had it open: what is written now would be lost",
        path.display()
    );
    refused(message).with_next("end this program and start it again; restore the file first if it is missing")
}

/// A file or folder of the store could not be made or opened.
pub(crate) fn file(path: &Path, cause: &io::Error) -> Failure {
    of_io(cause).tell(&format!("the run database needs `{}`", path.display()), cause)
}

/// No lock can be taken on a file of the store.
pub(crate) fn lockless(path: &Path, cause: &io::Error) -> Failure {
    LOCKLESS.tell(&format!("the run database cannot use `{}`", path.display()), cause)
}

/// What is stored cannot be understood; `what` says which part of it.
pub(crate) fn unreadable(what: &str, cause: &dyn std::fmt::Display) -> Failure {
    DAMAGED.tell(&format!("the run database holds {what} that cannot be read"), cause)
}

/// This file cannot be put in the place of the database.
pub(crate) fn no_backup(from: &Path, why: &str) -> Failure {
    let message = format!("`{}` is no backup that can be restored: {why}", from.display());
    Failure::new(Code::Usage, message).with_next("nothing was changed: name a file that `store backup` made")
}

/// The store will not do it, for a reason of its own.
pub(crate) fn refused(message: impl AsRef<str>) -> Failure {
    Failure::new(Code::Storage, message).with_retryable(false)
}

/// The store was closed before, or while, it was asked.
pub(crate) fn closed() -> Failure {
    refused("the run database has been closed").with_next("start the program again")
}

/// From SQLite's extended result code. The lower eight bits are the kind; see sqlite.org/rescode.html.
fn of_sqlite(code: i32) -> &'static Trouble {
    match code & 0xff {
        5 | 6 => &LOCKED,
        8 => &READ_ONLY,
        10 => &DISK,
        11 => &DAMAGED,
        13 => &FULL,
        14 => &UNREACHABLE,
        26 => &FOREIGN,
        _ => &OTHER,
    }
}

fn of_io(cause: &io::Error) -> &'static Trouble {
    match cause.kind() {
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => &READ_ONLY,
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => &FULL,
        io::ErrorKind::NotADirectory
        | io::ErrorKind::AlreadyExists
        | io::ErrorKind::NotFound
        | io::ErrorKind::InvalidData
        | io::ErrorKind::InvalidFilename => &UNREACHABLE,
        _ => &DISK,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_become_plain_words() {
        let told = [5, 261, 6, 8, 1032, 10, 778, 11, 13, 14, 26, 19].map(|code| of_sqlite(code).what);
        assert_eq!(
            told,
            [
                "another process keeps it locked",
                "another process keeps it locked",
                "another process keeps it locked",
                "it may not be written",
                "it may not be written",
                "the disk refuses",
                "the disk refuses",
                "it is damaged",
                "the disk is full",
                "it cannot be reached",
                "it is not a database",
                "the database refuses",
            ]
        );
    }

    #[test]
    fn a_file_system_without_locks_is_no_other_process() {
        let failure = lockless(Path::new("/data/runs.db.lock"), &io::Error::from_raw_os_error(37));
        assert!(failure.message.contains("its file system refuses locks"), "{failure}");
        assert_eq!((failure.retryable, failure.next_step()), (false, LOCKLESS.next));
    }

    #[test]
    fn a_cause_is_kept_behind_our_words() {
        let full = io::Error::from(io::ErrorKind::StorageFull);
        let failure = file(Path::new("/data/runs.db"), &full);
        assert_eq!(
            failure.message,
            "the run database needs `/data/runs.db`: the disk is full: no storage space"
        );
        assert_eq!((failure.code, failure.retryable), (Code::Storage, true));
        assert_eq!(failure.next_step(), FULL.next);
    }
}
