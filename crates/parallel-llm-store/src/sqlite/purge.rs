//! Taking runs away: rows, texts and words of the index are overwritten, not only marked as free.

use std::time::Duration;

use futures_util::TryStreamExt as _;
use parallel_llm_engine::{Failure, RunId};
use sqlx::sqlite::{SqliteConnection, SqlitePool};
use sqlx::{AssertSqlSafe, Row as _};

use super::read::unread;
use super::row::{run_id, tenure};
use super::{Batch, ledger, search};
use crate::clock;
use crate::fault;
use crate::purge::Purged;

/// What goes with a run besides what it holds, in an order in which nothing refers to what is gone.
const TABLES: [&str; 4] = ["pieces", "texts", "events", "runs"];

/// Takes these runs away, all but those that are under way, and tells which of them are gone now.
pub(crate) async fn purge(
    connection: &mut SqliteConnection,
    runs: &[RunId],
    now_ms: i64,
) -> Result<Purged, sqlx::Error> {
    let mut purged = Purged::default();
    for run in runs {
        let id = run.to_string();
        let sql = "SELECT owner, lease_until_ms, closed_at_ms IS NOT NULL FROM runs WHERE run_id = ?";
        let found = sqlx::query(sql).bind(&*id).fetch_optional(&mut *connection).await?;
        let Some(row) = found else { continue };
        if !tenure(&row)?.is_over(now_ms) {
            purged.under_way.push(*run);
            continue;
        }
        search::forget(connection, &id).await?;
        let mut batch = Batch::default();
        ledger::settle(&mut batch, &id);
        for table in TABLES {
            batch.push("DELETE FROM ").push(table).push(" WHERE run_id = ").push_bind(&*id).push("; ");
        }
        batch.build().execute(&mut *connection).await?;
        purged.runs.push(*run);
    }
    Ok(purged)
}

/// Empties the write-ahead log; `false` where a reader is in the way. It waits for nobody, because everybody would
/// wait for it.
pub(crate) async fn clear_log(
    connection: &mut SqliteConnection,
    wait: Duration,
) -> Result<bool, sqlx::Error> {
    sqlx::query("PRAGMA busy_timeout = 0").execute(&mut *connection).await?;
    let cleared = sqlx::query("PRAGMA wal_checkpoint(TRUNCATE)").fetch_one(&mut *connection).await;
    let restore = format!("PRAGMA busy_timeout = {}", wait.as_millis());
    sqlx::query(AssertSqlSafe(restore)).execute(connection).await?;
    Ok(cleared.is_ok_and(|row| row.try_get(0).is_ok_and(|is_busy: bool| !is_busy)))
}

/// The runs that began before this moment and are not under way, oldest first.
pub(crate) async fn purgeable(readers: &SqlitePool, before_ms: i64) -> Result<Vec<RunId>, Failure> {
    let sql = "SELECT owner, lease_until_ms, closed_at_ms IS NOT NULL, run_id FROM runs WHERE run_id < ? ORDER BY run_id";
    let before = RunId::from_parts(u64::try_from(before_ms).unwrap_or_default(), 0).to_string();
    let now_ms = clock::now_ms();
    let mut rows = sqlx::query(sql).bind(before).fetch(readers);
    let mut runs = Vec::new();
    while let Some(row) = rows.try_next().await.map_err(unread)? {
        let read = || Ok((tenure(&row)?.is_over(now_ms), run_id(&row, 3)?));
        let (is_over, run_id) = read().map_err(|cause: sqlx::Error| fault::unreadable("a run", &cause))?;
        runs.extend(is_over.then_some(run_id));
    }
    Ok(runs)
}
