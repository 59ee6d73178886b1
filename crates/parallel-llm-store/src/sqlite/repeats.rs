//! The same question twice: found inside the transaction that would begin the second run, so it is exact between
//! processes too.

use parallel_llm_engine::{Code, Failure, RunId};
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
/// Runs under way that are looked at. More that ask the same would have been refused themselves.
const UNDER_WAY_MAX: i64 = 64;

/// Of a run: nobody else was asked in a further part of it. One where somebody was gives another answer.
macro_rules! as_it_began {
    () => {
        "NOT EXISTS (SELECT 1 FROM events WHERE events.run_id = runs.run_id AND kind = 'reopened' \
         AND IFNULL(json_array_length(body, '$.seats'), 0) + IFNULL(json_array_length(body, '$.synthesizers'), 0) > 0)"
    };
}

/// Refuses a run whose question is answered under its key, or is being answered.
pub(super) async fn check(
    connection: &mut SqliteConnection,
    new: &NewRun,
    stamp: &Stamp,
) -> Result<Admission<()>, sqlx::Error> {
    match &new.plan.idempotency_key {
        Some(key) => check_key(connection, new, key).await,
        None => check_under_way(connection, new, stamp).await,
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

async fn check_under_way(
    connection: &mut SqliteConnection,
    new: &NewRun,
    stamp: &Stamp,
) -> Result<Admission<()>, sqlx::Error> {
    let sql = concat!(
        "SELECT owner, lease_until_ms, closed_at_ms IS NOT NULL, run_id FROM runs ",
        "WHERE plan_hash = ? AND status = 'running' AND asked_by IS ? AND created_at_ms >= ? AND run_id <> ? AND ",
        as_it_began!(),
        " ORDER BY run_id DESC LIMIT ?"
    );
    let rows = sqlx::query(sql)
        .bind(&*new.plan.plan_hash)
        .bind(new.plan.asked_by.as_deref())
        .bind(stamp.now_ms - REPEAT_MS)
        .bind(new.plan.run_id.to_string())
        .bind(UNDER_WAY_MAX)
        .fetch_all(connection)
        .await?;
    for row in rows {
        let tenure = tenure(&row)?;
        if !tenure.is_over(stamp.now_ms) {
            let run_id = run_id(&row, 3)?;
            let message = format!("the same question is being answered already: run {run_id}");
            return Ok(Err(Failure::new(Code::Repeated, message).with_run(run_id)));
        }
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
