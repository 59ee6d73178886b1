//! The same question twice: found inside the transaction that would begin the second run, so it is exact between
//! processes too.

use parallel_llm_engine::{Code, Event, Failure, RunId, RunStatus};
use sqlx::Row as _;
use sqlx::sqlite::{SqliteConnection, SqlitePool};

use super::read::unread;
use super::row::{plan, plan_column, run_id, tenure};
use super::{Admission, Stamp};
use crate::clock;
use crate::fault;
use crate::row::compressed::unpacked;
use crate::row::entries::NewRun;

/// A question without a key is the same as one that began so long ago, at most: long enough for a client that tries
/// again after a time-out, short enough that asking once more on purpose is hardly ever refused.
const REPEAT_MS: i64 = 10 * 60 * 1_000;
/// Runs that are looked at, newest first: each asked the same and was not refused.
const RUNS_MAX: i64 = 64;

/// An interrupted or cancelled run answers the same question for so long: whoever restarts a program, a client or a
/// machine, or sleeps over it, does not pay again; what was said longer ago may not be so any more.
const LEFT_MS: i64 = 24 * 60 * 60 * 1_000;

/// Refuses a run whose question is answered under its key, is being answered, or has answers in a run that was left
/// without one of its own.
pub(super) async fn check(
    connection: &mut SqliteConnection,
    new: &NewRun,
    stamp: &Stamp,
) -> Result<Admission<()>, sqlx::Error> {
    match &new.plan.idempotency_key {
        Some(key) => check_key(connection, new, key).await,
        None if new.plan.fresh => Ok(Ok(())),
        None => check_unfinished(connection, new, stamp).await,
    }
}

async fn check_key(
    connection: &mut SqliteConnection,
    new: &NewRun,
    key: &str,
) -> Result<Admission<()>, sqlx::Error> {
    let sql = "SELECT run_id, plan_hash FROM runs WHERE IFNULL(asked_by, '') = ? AND idempotency_key = ?";
    let asked_by = new.plan.asked_by.as_deref().unwrap_or_default();
    let Some(row) = sqlx::query(sql).bind(asked_by).bind(key).fetch_optional(connection).await? else {
        return Ok(Ok(()));
    };
    let (run_id, plan_hash): (RunId, &str) = (run_id(&row, 0)?, row.try_get(1)?);
    let failure = if plan_hash == new.plan.plan_hash {
        let message = format!("the same question was asked under the same idempotency key: run {run_id}");
        Failure::new(Code::Repeated, message)
    } else {
        let message = format!("another question was asked under the same idempotency key: run {run_id}");
        Failure::new(Code::IdempotencyConflict, message)
    };
    Ok(Err(failure.with_run(run_id)))
}

async fn check_unfinished(
    connection: &mut SqliteConnection,
    new: &NewRun,
    stamp: &Stamp,
) -> Result<Admission<()>, sqlx::Error> {
    // A run that has its answer, and began later, says that the question was asked anew on purpose.
    let sql = concat!(
        "SELECT owner, lease_until_ms, closed_at_ms IS NOT NULL, run_id, status, created_at_ms, ",
        "store_mode = 'full' AND NOT EXISTS (SELECT 1 FROM runs AS newer WHERE newer.plan_hash = ?1 ",
        "AND newer.status IN ('complete', 'partial') AND newer.store_mode = 'full' ",
        "AND newer.asked_by IS ?2 AND newer.run_id > runs.run_id) ",
        // Each half finds its index; cancelled runs are many, and their age is in their names.
        "FROM runs WHERE run_id IN (SELECT run_id FROM runs WHERE status = 'running' AND plan_hash = ?1 ",
        "UNION ALL SELECT run_id FROM runs WHERE status = 'cancelled' AND run_id >= ?3 AND plan_hash = ?1) ",
        "AND run_id <> ?4 AND asked_by IS ?2 AND created_at_ms >= ?5 ORDER BY run_id DESC LIMIT ?6"
    );
    let since_ms = stamp.now_ms - LEFT_MS;
    let named_since = RunId::from_parts(u64::try_from(since_ms).unwrap_or_default(), 0);
    let rows = sqlx::query(sql)
        .bind(&*new.plan.plan_hash)
        .bind(new.plan.asked_by.as_deref())
        .bind(named_since.to_string())
        .bind(new.plan.run_id.to_string())
        .bind(since_ms)
        .bind(RUNS_MAX)
        .fetch_all(&mut *connection)
        .await?;
    for row in rows {
        let (tenure, run_id) = (tenure(&row)?, run_id(&row, 3)?);
        let (status, created_at_ms, is_of_use): (&str, i64, bool) =
            (row.try_get(4)?, row.try_get(5)?, row.try_get(6)?);
        let is_under_way = status == RunStatus::Running.as_str() && !tenure.is_over(stamp.now_ms);
        let message = match is_under_way {
            true if created_at_ms < stamp.now_ms - REPEAT_MS => continue,
            true => format!("the same question is being answered already: run {run_id}"),
            false if !is_of_use => continue,
            false => format!("the same question was asked and not answered to its end: run {run_id}"),
        };
        if is_as_it_began(connection, run_id).await? {
            return Ok(Err(Failure::new(Code::Repeated, message).with_run(run_id)));
        }
    }
    Ok(Ok(()))
}

/// Whether no further part of a run asked anybody else, or made its text in another way. One where that was so, or that
/// cannot be read, gives another answer.
async fn is_as_it_began(connection: &mut SqliteConnection, run_id: RunId) -> Result<bool, sqlx::Error> {
    let sql = concat!(
        "SELECT body, ",
        plan_column!(),
        " FROM runs JOIN events USING (run_id) WHERE run_id = ? AND kind = 'reopened'"
    );
    for row in sqlx::query(sql).bind(run_id.to_string()).fetch_all(connection).await? {
        let (body, plan_json): (&str, _) = (row.try_get(0)?, unpacked(row.try_get(1)?));
        let (event, plan) = (serde_json::from_str(body), plan(&plan_json));
        let (Ok(Event::Reopened { reopening, .. }), Ok(plan)) = (event, plan) else { return Ok(false) };
        if !reopening.asks_as(&plan) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The newest run of this question and asker that has an answer which is kept, not settled longer ago than this.
pub(crate) async fn find_same(
    readers: &SqlitePool,
    plan_hash: &str,
    (asked_by, within_ms): (Option<&str>, i64),
) -> Result<Option<RunId>, Failure> {
    let sql = "SELECT run_id FROM runs WHERE plan_hash = ? AND status IN ('complete', 'partial') \
               AND store_mode = 'full' AND asked_by IS ? AND decided_at_ms >= ? ORDER BY run_id DESC LIMIT ?";
    let since_ms = clock::now_ms().saturating_sub(within_ms);
    let mut snapshot = readers.begin().await.map_err(unread)?;
    let query = sqlx::query(sql).bind(plan_hash).bind(asked_by).bind(since_ms).bind(RUNS_MAX);
    for row in query.fetch_all(&mut *snapshot).await.map_err(unread)? {
        let run_id = run_id(&row, 0).map_err(|cause| fault::unreadable("a run", &cause))?;
        if is_as_it_began(&mut snapshot, run_id).await.map_err(unread)? {
            return Ok(Some(run_id));
        }
    }
    Ok(None)
}
