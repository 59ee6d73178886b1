//! Reports the state of the database and checks its integrity.
//!
//! Invariants: a check writes nothing, blocks no writer, and ends at its deadline.

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

/// Steps of SQLite's virtual machine between two checks of the time: well under a millisecond.
const STEPS_BETWEEN_LOOKS: i32 = 10_000;

impl Database {
    /// The version, size and contents of the database.
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

    /// Checks the integrity within this time. Uses a connection of its own, since an aborted check would leave a pooled
    /// one in the middle of it.
    pub(crate) async fn check(
        &self,
        depth: CheckDepth,
        within: Duration,
    ) -> Result<Integrity, DatabaseError> {
        let mut connection = self.readers.connect_options().connect().await?;
        let integrity = check(&mut connection, depth, within).await;
        // A connection that fails to close is dropped.
        drop(connection.close().await);
        integrity
    }
}

/// The size of the write-ahead log; 0 without one.
fn log_bytes(path: &Path) -> u64 {
    file::beside(path, "-wal").metadata().map_or(0, |metadata| metadata.len())
}

/// Aborts whatever this connection does after this time.
pub(super) async fn limit_time(
    connection: &mut SqliteConnection,
    within: Duration,
) -> Result<(), sqlx::Error> {
    let deadline = Instant::now() + within;
    let mut handle = connection.lock_handle().await?;
    handle.set_progress_handler(STEPS_BETWEEN_LOOKS, move || Instant::now() < deadline);
    Ok(())
}

/// The check of [`Database::check`] on this connection, which must not be used for anything else meanwhile.
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

/// Adds findings about pages, then about rows as far as they are readable.
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
