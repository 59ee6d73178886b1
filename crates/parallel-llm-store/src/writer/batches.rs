//! Work on batches, inside the transaction of the writer.
//!
//! Invariant: the sums of a batch are those of its jobs. A job that may be running is reserved, also while it waits for
//! another process after the first one was lost.

use parallel_llm_engine::value::next::Next;
use parallel_llm_engine::{BatchId, Code, Failure, PicoUsd, RunId};

use crate::batch::{
    Batch, BatchChange, BatchState, Claim, ClaimedJob, Claims, JobEnd, JobResult, JobState, NewBatch,
};
use crate::database::Transaction;
use crate::row::job_row::{BatchSums, JobEndRow, JobRow, NewJobRow, failure_json};
use crate::row::ownership::Stamp;
use crate::row::{count, damage, integer};
use crate::system::error::DatabaseError;
use crate::writer::job::Admission;

/// Creates a batch without jobs.
pub(crate) fn create(
    transaction: &mut Transaction,
    new: &NewBatch,
    now_ms: i64,
) -> Result<Admission<Batch>, DatabaseError> {
    let is_new = transaction.insert_batch(new, now_ms)?;
    let batch = transaction.reader().batch(new.id)?;
    // It may be there because it was written and the server could not say so.
    let is_this = |batch: &Batch| {
        is_new
            || (batch.state, batch.jobs, batch.budget, &batch.name)
                == (BatchState::Reading, 0, new.budget, &new.name)
    };
    let taken = || Failure::new(Code::Usage, format!("there is a batch {} already", new.id));
    Ok(batch.filter(is_this).ok_or_else(taken))
}

/// Adds jobs to a batch, and returns the lines whose own names are taken.
pub(crate) fn add_jobs(
    transaction: &mut Transaction,
    batch_id: BatchId,
    jobs: &[NewJobRow],
) -> Result<Admission<Vec<u64>>, DatabaseError> {
    let batch = transaction.reader().batch(batch_id)?;
    if batch.is_none_or(|batch| batch.state != BatchState::Reading) {
        return Ok(Err(Failure::new(Code::Usage, format!("the batch {batch_id} takes no more jobs"))));
    }
    let mut sums = BatchSums::default();
    let mut taken = Vec::new();
    for job in jobs {
        let is_in = transaction.insert_job(batch_id, job)?;
        // Its line may be there because it was written and the server could not say so.
        if !is_in && let Some(known) = transaction.reader().job(batch_id, job.line)? {
            if known.state != job.state() {
                taken.push(count(job.line));
            }
            continue;
        }
        sums.jobs += 1;
        if !is_in {
            taken.push(count(job.line));
            let why = Failure::new(Code::Usage, "an earlier line has the same id");
            let failure = Some(failure_json(&why));
            let bad = NewJobRow {
                line: job.line,
                custom_id: None,
                request: None,
                checksum: None,
                worst_case: PicoUsd::ZERO,
                failure,
            };
            transaction.insert_job(batch_id, &bad)?;
        }
        sums.bad += i64::from(!is_in || job.state() == JobState::Bad);
    }
    transaction.add_to_batch(batch_id, &sums, None)?;
    Ok(Ok(taken))
}

/// Changes a batch as a whole; `None` if it is unknown.
pub(crate) fn change(
    transaction: &mut Transaction,
    batch_id: BatchId,
    change: BatchChange,
) -> Result<Admission<Option<Batch>>, DatabaseError> {
    let Some(batch) = transaction.reader().batch(batch_id)? else { return Ok(Ok(None)) };
    let refused = |message: &str| {
        let message = format!("the batch {batch_id} {message}");
        Ok(Err(Failure::new(Code::Usage, message)))
    };
    let (state, budget) = match (change, batch.state) {
        (BatchChange::Begin, BatchState::Reading) => (BatchState::Running, None),
        (BatchChange::Begin, _) => return refused("has begun already"),
        (BatchChange::Cancel, _) => (BatchState::Cancelled, None),
        (_, BatchState::Cancelled) => return refused("is cancelled, for good"),
        (_, BatchState::Reading) => {
            return refused("was not read to the end of its file: cancel it, and submit the file again");
        }
        (BatchChange::Pause, _) => (BatchState::Paused, None),
        (BatchChange::Resume { budget } | BatchChange::RetryFailed { budget, .. }, _) => {
            (BatchState::Running, budget)
        }
    };
    if let BatchChange::RetryFailed { resend, .. } = change {
        let retried = integer(transaction.retry_failed(batch_id, resend)?);
        transaction.add_to_batch(batch_id, &BatchSums { failed: -retried, ..BatchSums::default() }, None)?;
    }
    transaction.set_batch(batch_id, state, None, budget.unwrap_or(batch.budget))?;
    Ok(Ok(transaction.reader().batch(batch_id)?))
}

/// Gives back the claims of processes that are gone.
pub(crate) fn release_lost(
    transaction: &mut Transaction,
    now_ms: i64,
) -> Result<Admission<()>, DatabaseError> {
    for owner in transaction.reader().claim_owners()? {
        if owner.is_gone(now_ms) {
            transaction.release_jobs(&owner)?;
        }
    }
    Ok(Ok(()))
}

/// Claims the first jobs that wait, as far as the budget allows.
pub(super) fn claim(
    transaction: &mut Transaction,
    batch_id: BatchId,
    limit: usize,
    stamp: &Stamp,
) -> Result<Option<Claims>, DatabaseError> {
    let Some(batch) = transaction.reader().batch(batch_id)? else { return Ok(None) };
    if batch.state != BatchState::Running {
        return Ok(Some(Claims { jobs: Vec::new(), batch }));
    }
    // Nobody knows what is left of a budget after a call without a known cost or price.
    let is_unbounded = batch.spent.unbounded > 0 && !batch.budget.is_unlimited();
    let left = batch.budget.0.saturating_sub(batch.spent.most().0).saturating_sub(batch.reserved.0);
    let room = if is_unbounded { PicoUsd::ZERO } else { PicoUsd(left) };
    let waiting = transaction.waiting_jobs(batch_id, stamp.now_ms, room, limit)?;
    let (mut jobs, mut sums) = (Vec::new(), BatchSums::default());
    for job in waiting {
        if !job.is_sound(batch_id) {
            let why = damage::failure(&format!("line {} of the batch {batch_id}", job.line));
            let end = JobEndRow {
                state: JobState::Failed,
                not_before_ms: 0,
                attempts: job.attempts,
                run_id: None,
                cost: job.cost,
                worst_case: job.worst_case,
                failure: Some(&failure_json(&why)),
            };
            transaction.end_job(batch_id, job.line, &end)?;
            sums.failed += 1;
            sums.reserved_pico_usd -= if job.is_reserved { job.worst_case.0 } else { 0 };
            continue;
        }
        if !job.is_reserved {
            // A job that fits does not wait for one that does not.
            if sums.reserved_pico_usd.saturating_add(job.worst_case.0) > room.0 {
                continue;
            }
            sums.reserved_pico_usd += job.worst_case.0;
        }
        jobs.push(job);
    }
    let lines: Vec<i64> = jobs.iter().map(|job| job.line).collect();
    transaction.claim_jobs(batch_id, &lines, stamp)?;
    transaction.add_to_batch(batch_id, &sums, None)?;
    let is_idle = batch.reserved.0 + sums.reserved_pico_usd == 0 && batch.running == 0 && jobs.is_empty();
    let beyond =
        if is_idle { transaction.waiting_jobs(batch_id, stamp.now_ms, PicoUsd::MAX, 1)? } else { Vec::new() };
    if let Some(JobRow { worst_case, .. }) = beyond.first() {
        let why = no_room(&batch, *worst_case);
        transaction.set_batch(batch_id, BatchState::Paused, Some(&failure_json(&why)), batch.budget)?;
    }
    let Some(batch) = transaction.reader().batch(batch_id)? else { return Ok(None) };
    let jobs = jobs.into_iter().map(|job| claimed(&batch, job)).collect();
    Ok(Some(Claims { jobs, batch }))
}

/// Why a batch pauses whose budget has no room for a question of this worst case.
fn no_room(batch: &Batch, worst_case: PicoUsd) -> Failure {
    let (budget, spent, unknown) = (batch.budget, batch.spent.most(), batch.spent.unbounded);
    let (message, enough) = if unknown > 0 {
        let message = format!(
            "nobody knows what is left of the batch's budget of {budget}, because the cost and the price of calls of {unknown} of \
             its questions are unknown"
        );
        (message, "none".to_owned())
    } else {
        let most = if batch.spent.unknown_max > PicoUsd::ZERO { "up to " } else { "" };
        let message = format!(
            "the batch has spent {most}{spent} of its budget of {budget}, and its next question may cost {worst_case}"
        );
        (message, spent.plus(worst_case).rounded_up_to_cents().as_usd().to_string())
    };
    let command = format!("batch resume {} --budget {enough}", batch.id);
    Failure::new(Code::Budget, message).with_next([Next::Type(command.into())])
}

fn claimed(batch: &Batch, job: JobRow) -> ClaimedJob {
    ClaimedJob {
        claim: Claim { batch_id: batch.id, line: count(job.line), number: count(job.claim + 1) },
        request: job.request,
        run_id: job.run_id.and_then(|id| id.parse().ok()),
        attempts: u32::try_from(job.attempts).unwrap_or(u32::MAX),
        resend: job.resend,
        reserved: job.worst_case,
        is_bounded: !batch.budget.is_unlimited(),
    }
}

/// Ends a claim.
pub(super) fn settle(
    transaction: &mut Transaction,
    claim: Claim,
    end: &JobEnd,
    now_ms: i64,
) -> Result<Admission<()>, DatabaseError> {
    let Claim { batch_id, line, number } = claim;
    let job = transaction.reader().job(batch_id, integer(line))?;
    // A claim that was given back and that nobody has taken since may still end.
    let is_mine = |job: &JobRow| {
        matches!(job.state, JobState::Running | JobState::Waiting) && count(job.claim) == number
    };
    let Some(job) = job.filter(is_mine) else {
        let message = format!("line {line} of the batch {batch_id} is another process's by now");
        return Ok(Err(Failure::new(Code::Busy, message)));
    };
    let cost = end.cost.unwrap_or(job.cost);
    let mut sums = BatchSums {
        spent_pico_usd: cost.most().0 - job.cost.most().0,
        unknown_pico_usd: cost.unknown_max.0 - job.cost.unknown_max.0,
        unbounded: integer(cost.unbounded) - integer(job.cost.unbounded),
        ..BatchSums::default()
    };
    let (mut not_before_ms, mut attempts) = (0, job.attempts);
    let (state, failure) = match &end.result {
        JobResult::Answered { is_partial } => {
            (sums.answered, sums.partial) = (1, i64::from(*is_partial));
            (JobState::Answered, None)
        }
        JobResult::Failed(why) => {
            sums.failed = 1;
            (JobState::Failed, Some(why))
        }
        JobResult::PutOff { why, after_ms } => {
            // A job that may be claimed at once keeps its turn.
            not_before_ms = if *after_ms == 0 { 0 } else { now_ms.saturating_add(integer(*after_ms)) };
            // A pause is not the job's own fault.
            attempts += i64::from(end.pause.is_none());
            (JobState::Waiting, Some(why))
        }
    };
    if job.is_reserved {
        sums.reserved_pico_usd = -job.worst_case.0;
    }
    let failure = failure.map(failure_json);
    let run_id = end.run_id.as_ref().map(RunId::to_string);
    let worst_case = end.worst_case.unwrap_or(job.worst_case);
    let failure = failure.as_deref();
    let row = JobEndRow { state, not_before_ms, attempts, run_id, cost, worst_case, failure };
    transaction.end_job(batch_id, integer(line), &row)?;
    transaction.add_to_batch(batch_id, &sums, Some(now_ms))?;
    if let Some(why) = &end.pause
        && let Some(batch) = transaction.reader().batch(batch_id)?
        && batch.state == BatchState::Running
    {
        transaction.set_batch(batch_id, BatchState::Paused, Some(&failure_json(why)), batch.budget)?;
    }
    Ok(Ok(()))
}
