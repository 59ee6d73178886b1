//! Taking runs away: rows, texts and words of the index are overwritten, not only marked as free.
//!
//! It is done in steps, each a transaction of some milliseconds, so that runs under way are written between them. Words are
//! first only marked as deleted, and all overwritten together ([`reclaim`]): for each run by itself that took some forty
//! milliseconds, most of the index for every one. Whoever goes on after an interruption finds what is still to be done.

use std::time::Duration;

use futures_util::TryStreamExt as _;
use parallel_llm_engine::{Failure, RunId};
use sqlx::sqlite::{SqliteConnection, SqlitePool};
use sqlx::{AssertSqlSafe, Row as _};
use tokio::time::Instant;

use super::read::unread;
use super::row::{count, run_id, tenure};
use super::{Batch, ledger, search};
use crate::clock;
use crate::fault;
use crate::purge::{PurgeStep, ReclaimStep};

/// A step begins nothing more after this. With what is under way then, and the commit, everybody else waits for it some
/// twenty milliseconds.
const STEP_TIME: Duration = Duration::from_millis(10);
/// Bytes of text whose words one step takes out of the index, which does most of it when it is committed: some three
/// milliseconds. A single text is taken out at once, however long it is.
const STEP_BYTES: i64 = 32 * 1024;
/// About what it writes to take a run of little text away: some twenty pages, because each index is written elsewhere.
const RUN_BYTES: usize = 80 * 1024;
/// Bytes of a page, as SQLite has it where nobody says.
const PAGE_BYTES: usize = 4_096;
/// Free pages that are given back between two looks at the clock: well under a millisecond.
const VACUUM_PAGES: usize = 16;

/// What goes with a run besides what it holds, in an order in which nothing refers to what is gone.
const TABLES: [&str; 4] = ["pieces", "texts", "events", "runs"];

/// Takes the first of these runs away, all but those that are under way, as many as one step does; of one with much text
/// perhaps only a part of its words, and the run itself with a later step. At least something is done.
pub(crate) async fn purge(
    connection: &mut SqliteConnection,
    runs: &[RunId],
    now_ms: i64,
) -> Result<PurgeStep, sqlx::Error> {
    let until = Instant::now() + STEP_TIME;
    let mut step = PurgeStep::default();
    let mut bytes_left = STEP_BYTES;
    for run in runs {
        if step.done > 0 && (bytes_left <= 0 || Instant::now() >= until) {
            break;
        }
        let id = run.to_string();
        let sql = "SELECT owner, lease_until_ms, closed_at_ms IS NOT NULL FROM runs WHERE run_id = ?";
        let found = sqlx::query(sql).bind(&*id).fetch_optional(&mut *connection).await?;
        match found.map(|row| tenure(&row)).transpose()? {
            None => {}
            Some(tenure) if !tenure.is_over(now_ms) => step.purged.under_way.push(*run),
            Some(_) => {
                let forgotten = search::forget(connection, &id, bytes_left).await?;
                bytes_left -= forgotten.bytes;
                if !forgotten.is_whole {
                    break;
                }
                delete(connection, &id).await?;
                step.purged.runs.push(*run);
            }
        }
        step.done += 1;
    }
    step.bytes = count(STEP_BYTES - bytes_left) as usize * 2 + step.purged.runs.len() * RUN_BYTES;
    Ok(step)
}

/// Deletes what there is of a run besides its words.
async fn delete(connection: &mut SqliteConnection, id: &str) -> Result<(), sqlx::Error> {
    let mut batch = Batch::default();
    ledger::settle(&mut batch, id);
    for table in TABLES {
        batch.push("DELETE FROM ").push(table).push(" WHERE run_id = ").push_bind(id).push("; ");
    }
    batch.build().execute(connection).await.map(drop)
}

/// Takes a step towards a database in which nothing is left of what was purged, and which is as small as it can be.
/// `is_first` begins anew; the others go on.
pub(crate) async fn reclaim(
    connection: &mut SqliteConnection,
    is_first: bool,
) -> Result<ReclaimStep, sqlx::Error> {
    let until = Instant::now() + STEP_TIME;
    let mut step = ReclaimStep { has_more: true, bytes: 0 };
    let mut begins = is_first;
    while search::are_words_marked(connection).await? {
        if Instant::now() >= until {
            return Ok(step);
        }
        step.bytes += PAGE_BYTES * search::overwrite_some(connection, begins).await?;
        begins = false;
    }
    while are_pages_free(connection).await? {
        if Instant::now() >= until {
            return Ok(step);
        }
        let sql = format!("PRAGMA incremental_vacuum({VACUUM_PAGES})");
        sqlx::query(AssertSqlSafe(sql)).execute(&mut *connection).await?;
        step.bytes += VACUUM_PAGES * PAGE_BYTES;
    }
    step.has_more = false;
    Ok(step)
}

/// Whether the file has free pages that it can give back. One that an older version made keeps them for what is written
/// next.
async fn are_pages_free(connection: &mut SqliteConnection) -> Result<bool, sqlx::Error> {
    let sql = "SELECT auto_vacuum = 2 AND freelist_count > 0 FROM pragma_auto_vacuum, pragma_freelist_count";
    sqlx::query_scalar(sql).fetch_one(connection).await
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
