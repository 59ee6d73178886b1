//! Looking at the database as a whole: its size, and whether it is sound.
//!
//! What always holds: nothing is written, no writer waits, and the check ends at its deadline, wherever it is then.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use sqlx::sqlite::SqliteConnection;
use sqlx::{ConnectOptions as _, Connection as _, Row as _};
use tokio::time::Instant;

use super::Database;
use super::contents::{self, Finding, Findings};
use super::result_code::{CORRUPT, INTERRUPTED, code};
use crate::error::DatabaseError;
use crate::file;
use crate::inspection::{CheckDepth, DatabaseState, Integrity};
use crate::row::count;

/// Steps of SQLite's machine between two looks at the clock: well under a millisecond.
const STEPS_BETWEEN_LOOKS: i32 = 10_000;

impl Database {
    /// What the database is, and how much is in it.
    pub(crate) async fn state(&self) -> Result<DatabaseState, DatabaseError> {
        let sql = "SELECT 'SQLite ' || sqlite_version(), user_version, page_count * page_size \
                   FROM pragma_user_version, pragma_page_count, pragma_page_size";
        let row = sqlx::query(sql).fetch_one(&self.readers).await?;
        let has_purged_words = self.connection().await?.reader().are_words_marked().await?;
        let sql = "SELECT status, COUNT(*) FROM runs GROUP BY status";
        let counts: Vec<(String, i64)> = sqlx::query_as(sql).fetch_all(&self.readers).await?;
        let runs: BTreeMap<String, u64> =
            counts.into_iter().map(|(status, runs)| (status, count(runs))).collect();
        Ok(DatabaseState {
            version: row.try_get(0)?,
            format: row.try_get(1)?,
            bytes: count(row.try_get(2)?),
            log_bytes: log_bytes(&self.path),
            has_purged_words,
            runs,
        })
    }

    /// Whether the database is whole, as far as can be seen within this time. On a connection of its own, because a check
    /// that is given up would leave one of those that read in the middle of it.
    pub(crate) async fn check(
        &self,
        depth: CheckDepth,
        within: Duration,
    ) -> Result<Integrity, DatabaseError> {
        let mut connection = self.readers.connect_options().connect().await?;
        let integrity = check(&mut connection, depth, within).await;
        // What cannot be closed is dropped.
        drop(connection.close().await);
        integrity
    }
}

/// Where there is no log, nothing waits in it.
fn log_bytes(path: &Path) -> u64 {
    file::beside(path, "-wal").metadata().map_or(0, |metadata| metadata.len())
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

/// As [`Database::check`], on this connection, on which nothing else is done within that time.
pub(super) async fn check(
    connection: &mut SqliteConnection,
    depth: CheckDepth,
    within: Duration,
) -> Result<Integrity, DatabaseError> {
    limit_time(connection, within).await?;
    let mut findings = Findings::default();
    let result = match collect_findings(connection, depth, &mut findings).await {
        Err(cause) if code(&cause) == Some(CORRUPT) => {
            findings.add(Finding { problem: cause.to_string(), run_id: None });
            Ok(())
        }
        result => result,
    };
    match (result, findings.damages()) {
        (_, Some(damages)) => Ok(Integrity::Damaged(damages)),
        (Ok(()), None) => Ok(Integrity::Intact),
        (Err(cause), None) if code(&cause) == Some(INTERRUPTED) => Ok(Integrity::Unfinished),
        (Err(cause), None) => Err(cause.into()),
    }
}

/// Adds what is wrong: of the pages, then of what the rows hold as far as they can still be read.
async fn collect_findings(
    connection: &mut SqliteConnection,
    depth: CheckDepth,
    findings: &mut Findings,
) -> Result<(), sqlx::Error> {
    // Ten problems say as much as a hundred.
    let sql = match depth {
        CheckDepth::Quick => "PRAGMA quick_check(10)",
        CheckDepth::Full => "PRAGMA integrity_check(10)",
    };
    let lines: Vec<String> = sqlx::query_scalar(sql).fetch_all(&mut *connection).await?;
    for problem in lines.into_iter().filter(|line| line != "ok") {
        findings.add(Finding { problem, run_id: None });
    }
    match depth {
        CheckDepth::Quick => Ok(()),
        CheckDepth::Full => contents::check(connection, findings).await,
    }
}
