//! Looking at the database as a whole: its size, and whether it is sound.
//!
//! What always holds: nothing is written, no writer waits, and the check ends at its deadline, wherever it is then.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use parallel_llm_engine::Failure;
use sqlx::sqlite::{SqliteConnection, SqlitePool};
use sqlx::{ConnectOptions as _, Connection as _, Row as _};
use tokio::time::Instant;

use super::contents::{self, Found};
use super::read::unread;
use super::row::count;
use super::search;
use crate::file;
use crate::inspection::{DatabaseState, Soundness, Thoroughness};

/// Steps of SQLite's machine between two looks at the clock: well under a millisecond.
const STEPS_BETWEEN_LOOKS: i32 = 10_000;
/// SQLite's result codes (sqlite.org/rescode.html), in the lower eight bits.
pub(super) const INTERRUPTED: i32 = 9;
const CORRUPT: i32 = 11;

/// What the database is, and how much is in it.
pub(crate) async fn state(readers: &SqlitePool) -> Result<DatabaseState, Failure> {
    let sql = "SELECT sqlite_version(), user_version, page_count * page_size \
               FROM pragma_user_version, pragma_page_count, pragma_page_size";
    let row = sqlx::query(sql).fetch_one(readers).await.map_err(unread)?;
    let columns = || Ok((row.try_get(0)?, row.try_get(1)?, count(row.try_get(2)?)));
    let (sqlite_version, format, bytes) = columns().map_err(unread)?;
    let mut reader = readers.acquire().await.map_err(unread)?;
    let has_purged_words = search::are_words_marked(&mut reader).await.map_err(unread)?;
    drop(reader);
    let sql = "SELECT status, COUNT(*) FROM runs GROUP BY status";
    let counts: Vec<(String, i64)> = sqlx::query_as(sql).fetch_all(readers).await.map_err(unread)?;
    let runs: BTreeMap<String, u64> = counts.into_iter().map(|(word, runs)| (word, count(runs))).collect();
    let log_bytes = log_bytes(readers.connect_options().get_filename());
    Ok(DatabaseState { sqlite_version, format, bytes, log_bytes, has_purged_words, runs })
}

/// Where there is no log, nothing waits in it.
fn log_bytes(path: &Path) -> u64 {
    file::beside(path, "-wal").metadata().map_or(0, |metadata| metadata.len())
}

/// Whether the database is whole, as far as can be seen within this time. On a connection of its own, because a check
/// that is given up would leave one of those that read in the middle of it.
pub(crate) async fn check(
    readers: &SqlitePool,
    thoroughness: Thoroughness,
    within: Duration,
) -> Result<Soundness, Failure> {
    let mut connection = readers.connect_options().connect().await.map_err(unread)?;
    let soundness = checked(&mut connection, (thoroughness, within)).await;
    // What cannot be closed is dropped.
    drop(connection.close().await);
    soundness
}

/// From now on, whatever this connection is at ends when this time is over.
pub(super) async fn limit_time(
    connection: &mut SqliteConnection,
    within: Duration,
) -> Result<(), sqlx::Error> {
    let deadline = Instant::now() + within;
    let mut handle = connection.lock_handle().await?;
    handle.set_progress_handler(STEPS_BETWEEN_LOOKS, move || Instant::now() < deadline);
    Ok(())
}

/// The same on this connection, on which nothing else is done within that time.
pub(super) async fn checked(
    connection: &mut SqliteConnection,
    (thoroughness, within): (Thoroughness, Duration),
) -> Result<Soundness, Failure> {
    limit_time(connection, within).await.map_err(unread)?;
    let mut found = Found::default();
    let looked = match look(connection, thoroughness, &mut found).await {
        Err(cause) if code(&cause) == Some(CORRUPT) => {
            found.add(cause.to_string(), None);
            Ok(())
        }
        looked => looked,
    };
    match (looked, found.damages()) {
        (_, Some(damages)) => Ok(Soundness::Damaged(damages)),
        (Ok(()), None) => Ok(Soundness::Sound),
        (Err(cause), None) if code(&cause) == Some(INTERRUPTED) => Ok(Soundness::Unfinished),
        (Err(cause), None) => Err(unread(cause)),
    }
}

/// Adds what is wrong: of the pages, then of what the rows hold as far as they can still be read.
async fn look(
    connection: &mut SqliteConnection,
    thoroughness: Thoroughness,
    found: &mut Found,
) -> Result<(), sqlx::Error> {
    // Ten troubles say as much as a hundred.
    let sql = match thoroughness {
        Thoroughness::Quick => "PRAGMA quick_check(10)",
        Thoroughness::Whole => "PRAGMA integrity_check(10)",
    };
    let told: Vec<String> = sqlx::query_scalar(sql).fetch_all(&mut *connection).await?;
    for line in told.into_iter().filter(|line| line != "ok") {
        found.add(line, None);
    }
    match thoroughness {
        Thoroughness::Quick => Ok(()),
        Thoroughness::Whole => contents::check(connection, found).await,
    }
}

/// What kind of trouble SQLite has, where it is its own.
pub(super) fn code(cause: &sqlx::Error) -> Option<i32> {
    let code: i32 = cause.as_database_error()?.code()?.parse().ok()?;
    Some(code & 0xff)
}
