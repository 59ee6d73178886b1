//! Backs up the database, and restores a backup.
//!
//! Invariants: no existing file is overwritten. A backup is complete or absent. A backup is verified before it replaces
//! the database, and the replaced database is kept.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use parallel_llm_engine::value::next::Advice;
use parallel_llm_engine::{Code, Failure};

use super::copy::Contents;
use super::lock::FileLock;
use super::{Database, copy};
use crate::database::blocking::blocking;
use crate::spill::Spills;
use crate::system::{clock, error, file};
use crate::upkeep::backup::{Backup, Restored};
use crate::upkeep::inspection::{DamageReport, Integrity};

/// Longest copy and longest verification: enough for some hundred gigabytes.
const TIME_MAX: Duration = Duration::from_secs(3_600);
/// Names tried for the replaced database, one per second.
const NAMES_MAX: u32 = 100;

impl Database {
    /// Writes a backup to this new file, without blocking writers.
    pub(crate) async fn back_up(&self, to: &Path) -> Result<Backup, Failure> {
        let path = std::path::absolute(to).map_err(|cause| unwritable(to, &cause))?;
        if path.symlink_metadata().is_ok() {
            return Err(taken(&path));
        }
        let database = self.path.clone();
        blocking(move || {
            let part = file::beside(&path, &format!(".{}.part", std::process::id()));
            let written = write(&database, &part, &path);
            if written.is_err() {
                // If it cannot be removed either, the first error already explains the folder's problem.
                let _ = fs::remove_file(&part);
            }
            written
        })
        .await
    }
}

fn write(database: &Path, part: &Path, path: &Path) -> Result<Backup, Failure> {
    file::create_private(part).map_err(|cause| unwritable(path, &cause))?;
    copy::write(database, part, TIME_MAX)?;
    let runs = copy::count_contents(part)?.runs;
    let place = || -> io::Result<u64> {
        let file = File::open(part)?;
        file.sync_all()?;
        file::place_new(part, path)?;
        Ok(file.metadata()?.len())
    };
    let bytes = place().map_err(|cause| match cause.kind() {
        io::ErrorKind::AlreadyExists => taken(path),
        _ => unwritable(path, &cause),
    })?;
    Ok(Backup { path: path.to_owned(), runs, bytes })
}

/// Replaces the database at `path` with a backup. No process may have the database open, this one included. The backup
/// is copied, migrated and verified first; the original stays unchanged. `spill_folders` as in
/// [`StoreConfig`](crate::StoreConfig).
///
/// Fails without any change with `usage` if `from` is not a backup, with `damaged` if it does not match its checksums,
/// and with `busy` while another process has the database open.
pub async fn restore(path: &Path, spill_folders: &[PathBuf], from: &Path) -> Result<Restored, Failure> {
    let path = std::path::absolute(path).map_err(|cause| error::file(path, &cause))?;
    check_source(&path, from)?;
    file::make_folder_of(&path).map_err(|cause| error::file(&path, &cause))?;
    let copied = file::beside(&path, &format!(".{}.restoring", std::process::id()));
    let restored = put_in_place(&path, from, &copied).await;
    for ending in ["", "-wal", "-shm", "-journal"] {
        // After success, the copy has been renamed, and there is nothing to remove.
        let _ = fs::remove_file(file::beside(&copied, ending));
    }
    let (Contents { runs, tokens }, before) = restored?;
    let waiting = Spills::of(&path, spill_folders).state().waiting.len();
    Ok(Restored { path, runs, tokens, before, waiting })
}

/// Refuses a source that is not a plain file, is the database itself, or lacks its write-ahead log.
fn check_source(path: &Path, from: &Path) -> Result<(), Failure> {
    let why = match fs::metadata(from) {
        Err(cause) => format!("it cannot be read: {cause}"),
        Ok(metadata) if !metadata.is_file() => "it is no plain file".to_owned(),
        Ok(_) if file::identity(from).ok().is_some_and(|it| file::identity(path).ok() == Some(it)) => {
            "it is the run database itself".to_owned()
        }
        Ok(_) if file::beside(from, "-wal").metadata().is_ok_and(|log| log.len() > 0) => {
            "there is a write-ahead log beside it, so it is in use or not a backup".to_owned()
        }
        Ok(_) => return Ok(()),
    };
    Err(error::no_backup(from, &why))
}

async fn put_in_place(
    path: &Path,
    from: &Path,
    copied: &Path,
) -> Result<(Contents, Option<PathBuf>), Failure> {
    let (source, copy) = (from.to_owned(), copied.to_owned());
    let contents = blocking(move || take_copy(&source, &copy)).await?;
    let lock = FileLock::wait_to_open(&file::beside(path, ".lock")).await?;
    let (path, copied) = (path.to_owned(), copied.to_owned());
    let before = blocking(move || {
        // Held until the end, so that a process opening the database waits.
        let _lock = lock;
        replace(&path, &copied)
    });
    Ok((contents, before.await?))
}

/// Copies the backup, so that the verified bytes are the ones put in place, and returns what it holds.
fn take_copy(from: &Path, copied: &Path) -> Result<Contents, Failure> {
    let take = || -> io::Result<()> {
        let mut target = file::create_private(copied)?;
        io::copy(&mut File::open(from)?, &mut target)?;
        target.sync_all()
    };
    take().map_err(|cause| error::file(copied, &cause))?;
    match copy::check(copied, from, TIME_MAX)? {
        Integrity::Intact => copy::count_contents(copied),
        Integrity::Damaged(damages) => Err(damaged(from, &damages)),
        Integrity::Unfinished => Err(error::no_backup(from, "it could not be read through in an hour")),
    }
}

/// Puts the copy in place of the database, and returns the new path of the previous one, if there was one.
fn replace(path: &Path, copied: &Path) -> Result<Option<PathBuf>, Failure> {
    let before = if path.exists() {
        file::check_unused(path).map_err(|cause| in_use(path, &cause))?;
        copy::checkpoint_wal(path);
        Some(set_aside(path).map_err(|cause| error::file(path, &cause))?)
    } else {
        None
    };
    let place = fs::rename(copied, path).and_then(|()| file::sync_folder_of(path));
    place.map_err(|cause| {
        put_back(before.as_deref(), path);
        error::file(path, &cause)
    })?;
    Ok(before)
}

/// Renames the existing database, with its write-ahead log if that could not be moved into it, and returns the new
/// path. With hard links, the database also stays in place until the backup replaces it.
fn set_aside(path: &Path) -> io::Result<PathBuf> {
    let second = clock::now_ms() / 1_000;
    for number in 0..NAMES_MAX {
        let before = file::beside(path, &format!(".before-{}", second + i64::from(number)));
        if before.symlink_metadata().is_ok() {
            continue;
        }
        // First, since a log must never be beside a different database.
        for ending in ["-wal", "-shm"] {
            match fs::rename(file::beside(path, ending), file::beside(&before, ending)) {
                Err(cause) if cause.kind() != io::ErrorKind::NotFound => return Err(cause),
                _ => {}
            }
        }
        // Without hard links, there is no database for a moment.
        fs::hard_link(path, &before).or_else(|_| fs::rename(path, &before))?;
        return Ok(before);
    }
    Err(io::Error::from(io::ErrorKind::AlreadyExists))
}

/// Undoes [`set_aside`] as far as possible.
fn put_back(before: Option<&Path>, path: &Path) {
    let Some(before) = before else { return };
    for ending in ["", "-wal", "-shm"] {
        let _ = fs::rename(file::beside(before, ending), file::beside(path, ending));
    }
}

fn taken(path: &Path) -> Failure {
    let message =
        format!("the backup `{}` cannot be written: there is something of that name", path.display());
    Failure::new(Code::OutputUnwritable, message).with_next(Advice::NameNewFile)
}

fn unwritable(path: &Path, cause: &io::Error) -> Failure {
    let message = format!("the backup `{}` cannot be written: {cause}", path.display());
    Failure::new(Code::OutputUnwritable, message).with_next(Advice::NameWritableFile)
}

fn damaged(from: &Path, damages: &DamageReport) -> Failure {
    let first = damages.problems.first().map_or("", String::as_str).replace('\n', " ");
    let message = format!("the backup `{}` is damaged, and nothing was changed: {first}", from.display());
    Failure::new(Code::Damaged, message).with_next(Advice::RestoreAnotherBackup)
}

fn in_use(path: &Path, cause: &io::Error) -> Failure {
    if cause.kind() != io::ErrorKind::WouldBlock {
        return error::file(path, cause);
    }
    let message = format!("another process has `{}` open, and nothing was changed", path.display());
    Failure::new(Code::Busy, message).with_next(Advice::EndOtherPrograms)
}
