//! Detects repeated questions inside the transaction that would begin the second run, hence across processes.

use parallel_llm_engine::{Code, Event, Failure, RunId, RunPlan, RunStatus};

use crate::database::Reader;
use crate::row::filter::SameQuestion;
use crate::system::error::DatabaseError;
use crate::writer::job::Admission;

/// How long a running question without a key counts as the same: long enough for a client that retries after a
/// time-out, short enough that asking again on purpose is rarely refused.
const REPEAT_MS: i64 = 10 * 60 * 1_000;
/// Most runs of the same question examined, newest first.
const RUNS_MAX: i64 = 64;
/// How long an interrupted or cancelled run counts as the same question: restarting a program or a machine, or sleeping
/// over it, does not pay again; older answers may be outdated.
const LEFT_MS: i64 = 24 * 60 * 60 * 1_000;

/// Refuses a run whose question was answered under its key, is being answered, or has answers in an unfinished run.
pub(crate) fn check(
    reader: &Reader<'_>,
    plan: &RunPlan,
    now_ms: i64,
) -> Result<Admission<()>, DatabaseError> {
    match &plan.idempotency_key {
        Some(key) => check_key(reader, plan, key),
        None if plan.fresh => Ok(Ok(())),
        None => check_unfinished(reader, plan, now_ms),
    }
}

fn check_key(reader: &Reader<'_>, plan: &RunPlan, key: &str) -> Result<Admission<()>, DatabaseError> {
    let known = reader.run_of_key(plan.asked_by.as_deref(), key)?;
    // The run itself is there if it was written and the server could not say so: see `writer/append.rs`.
    let Some(known) = known.filter(|known| known.run_id != plan.run_id) else { return Ok(Ok(())) };
    let run_id = known.run_id;
    let failure = if known.plan_hash == plan.plan_hash {
        let message = format!("the same question was asked under the same idempotency key: run {run_id}");
        Failure::new(Code::Repeated, message)
    } else {
        let message = format!("another question was asked under the same idempotency key: run {run_id}");
        Failure::new(Code::IdempotencyConflict, message)
    };
    Ok(Err(failure.with_run(run_id)))
}

fn check_unfinished(
    reader: &Reader<'_>,
    plan: &RunPlan,
    now_ms: i64,
) -> Result<Admission<()>, DatabaseError> {
    let question = SameQuestion {
        plan_hash: &plan.plan_hash,
        asked_by: plan.asked_by.as_deref(),
        since_ms: now_ms - LEFT_MS,
        runs_max: RUNS_MAX,
    };
    for similar in reader.unfinished_runs(&question, plan.run_id)? {
        let run_id = similar.run_id;
        let is_running = similar.status == RunStatus::Running.as_str();
        let message = if is_running && !similar.ownership.is_over(now_ms) {
            if similar.created_at_ms < now_ms - REPEAT_MS {
                continue;
            }
            format!("the same question is being answered already: run {run_id}")
        } else if similar.is_of_use {
            format!("the same question was asked and not answered to its end: run {run_id}")
        } else {
            continue;
        };
        if is_as_it_began(reader, run_id)? {
            return Ok(Err(Failure::new(Code::Repeated, message).with_run(run_id)));
        }
    }
    Ok(Ok(()))
}

/// Whether no further part of the run asked other models or used another strategy. Such a run, or one that cannot be
/// read, answers differently.
fn is_as_it_began(reader: &Reader<'_>, run_id: RunId) -> Result<bool, DatabaseError> {
    let Some(record) = reader.run(run_id)? else { return Ok(false) };
    let Ok(plan) = record.plan() else { return Ok(false) };
    for row in reader.events(run_id, 0)? {
        match serde_json::from_str(&row.body) {
            Ok(Event::Reopened { reopening, .. }) if !reopening.asks_as(&plan) => return Ok(false),
            Ok(_) => {}
            Err(_) => return Ok(false),
        }
    }
    Ok(true)
}

/// The newest run of this question with a stored answer that was settled within this time.
pub(crate) fn find_same(
    reader: &Reader<'_>,
    plan_hash: &str,
    asked_by: Option<&str>,
    within_ms: i64,
) -> Result<Option<RunId>, DatabaseError> {
    let since_ms = reader.now_ms.saturating_sub(within_ms);
    let question = SameQuestion { plan_hash, asked_by, since_ms, runs_max: RUNS_MAX };
    for run_id in reader.answered_runs(&question)? {
        if is_as_it_began(reader, run_id)? {
            return Ok(Some(run_id));
        }
    }
    Ok(None)
}
