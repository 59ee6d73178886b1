//! The same question twice: found inside the transaction that would begin the second run, so it is exact between
//! processes too.

use parallel_llm_engine::{Code, Failure, RunId, RunStatus};
use sqlx::Row as _;
use sqlx::sqlite::{SqliteConnection, SqlitePool};

use super::read::unread;
use super::row::{run_id, tenure};
use super::{Admission, Stamp};
use crate::clock;
use crate::fault;
use crate::projection::NewRun;

/// A question without a key is the same as one that began so long ago, at most: long enough for a client that tries
/// again after a time-out, short enough that asking once more on purpose is hardly ever refused.
const REPEAT_MS: i64 = 10 * 60 * 1_000;
/// Runs that are looked at. More that ask the same would have been refused themselves.
const UNFINISHED_MAX: i64 = 64;

/// An interrupted or cancelled run answers the same question for so long: whoever restarts a program, a client or a
/// machine, or sleeps over it, does not pay again; what was said longer ago may not be so any more.
const LEFT_MS: i64 = 24 * 60 * 60 * 1_000;

/// The synthesizers in a plan or in a further part, by their models.
macro_rules! chain {
    ($of:literal) => {
        concat!("(SELECT GROUP_CONCAT(value ->> '$.model') FROM JSON_EACH(", $of, ", '$.synthesizers'))")
    };
}

/// Of a run: no further part of it asked anybody else, or made its text in another way. One where that was so gives
/// another answer.
macro_rules! as_it_began {
    () => {
        concat!(
            "NOT EXISTS (SELECT 1 FROM events WHERE events.run_id = runs.run_id AND kind = 'reopened' AND ( \
             IFNULL(JSON_ARRAY_LENGTH(body, '$.seats'), 0) > 0 \
             OR body ->> '$.strategy' IS NOT plan ->> '$.strategy' OR body -> '$.knobs' IS NOT plan -> '$.knobs' \
             OR IFNULL(JSON_ARRAY_LENGTH(body, '$.synthesizers'), 0) > 0 AND ",
            chain!("body"),
            " IS NOT ",
            chain!("plan"),
            "))"
        )
    };
}

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
        "AND run_id <> ?4 AND asked_by IS ?2 AND created_at_ms >= ?5 AND ",
        as_it_began!(),
        " ORDER BY run_id DESC LIMIT ?6"
    );
    let since_ms = stamp.now_ms - LEFT_MS;
    let named_since = RunId::from_parts(u64::try_from(since_ms).unwrap_or_default(), 0);
    let rows = sqlx::query(sql)
        .bind(&*new.plan.plan_hash)
        .bind(new.plan.asked_by.as_deref())
        .bind(named_since.to_string())
        .bind(new.plan.run_id.to_string())
        .bind(since_ms)
        .bind(UNFINISHED_MAX)
        .fetch_all(connection)
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
        return Ok(Err(Failure::new(Code::Repeated, message).with_run(run_id)));
    }
    Ok(Ok(()))
}

/// The newest run of this question and asker that has an answer which is kept, not settled longer ago than this.
pub(crate) async fn find_same(
    readers: &SqlitePool,
    plan_hash: &str,
    (asked_by, within_ms): (Option<&str>, i64),
) -> Result<Option<RunId>, Failure> {
    let sql = concat!(
        "SELECT run_id FROM runs WHERE plan_hash = ? AND status IN ('complete', 'partial') ",
        "AND store_mode = 'full' AND asked_by IS ? AND decided_at_ms >= ? AND ",
        as_it_began!(),
        " ORDER BY run_id DESC LIMIT 1"
    );
    let since_ms = clock::now_ms().saturating_sub(within_ms);
    let query = sqlx::query(sql).bind(plan_hash).bind(asked_by).bind(since_ms);
    let row = query.fetch_optional(readers).await.map_err(unread)?;
    let read = row.map(|row| run_id(&row, 0)).transpose();
    read.map_err(|cause| fault::unreadable("a run", &cause))
}
