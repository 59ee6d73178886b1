//! Decides which process may write a run.
//!
//! Every owner has its own epoch; writes under an older epoch are refused.

use parallel_llm_engine::port::Lease;
use parallel_llm_engine::run::event::EventPhase;
use parallel_llm_engine::value::next::{Advice, Operation};
use parallel_llm_engine::{Code, Event, Failure, RunId};

use crate::database::Transaction;
use crate::row::count;
use crate::row::damage;
use crate::row::new_run::keeps_texts;
use crate::row::ownership::Stamp;
use crate::row::run_row::RunRecord;
use crate::system::error::{self, DatabaseError};
use crate::writer::job::{Admission, TakenOver};

/// The epoch of a run that was never taken over.
pub(crate) const EPOCH_FIRST: u64 = 1;

/// Gives the run to the process of this stamp. Refused if another process is still running it, or if its newest event
/// is no longer `seq`.
pub(crate) fn take_over(
    transaction: &mut Transaction,
    run_id: RunId,
    seq: Option<u64>,
    stamp: &Stamp,
) -> Result<Admission<TakenOver>, DatabaseError> {
    transaction.lock_run(&run_id.to_string())?;
    let Some(record) = transaction.reader().run(run_id)? else {
        return Ok(Err(Failure::new(Code::RunNotFound, format!("there is no run {run_id}"))));
    };
    let RunRecord { ownership, stored, .. } = &record;
    if !stored.is_sound() {
        return Ok(Err(damage::failure(&format!("the run {run_id}")).with_run(run_id)));
    }
    if !ownership.is_closed && ownership.owner != stamp.owner && !ownership.is_interrupted(stamp.now_ms) {
        let message = format!("another process is still doing the run {run_id}");
        return Ok(Err(Failure::new(Code::Busy, message).with_next(Advice::WaitForItsEnd)));
    }
    let newest = count(stored.row.last_seq);
    if seq.is_some_and(|seq| seq != newest) {
        let message = format!("somebody else has continued the run {run_id}");
        return Ok(Err(Failure::new(Code::Busy, message).with_next(Operation::ShowRun)));
    }
    let mut row = stored.row.clone();
    row.closed_at_ms = None;
    let epoch = transaction.take_over(&row, stamp)?;
    let lease = Lease { run_id, epoch, next_seq: newest + 1 };
    // With an unreadable plan, stored texts stay; opening the run shows the damage.
    Ok(Ok(TakenOver { lease, keeps_texts: record.plan().map_or(true, |plan| keeps_texts(&plan)) }))
}

/// Releases a run with the status of its newest event, so that anybody can continue it. Does nothing if another process
/// has taken it over.
pub(crate) fn release(transaction: &mut Transaction, lease: Lease) -> Result<(), DatabaseError> {
    transaction.lock_run(&lease.run_id.to_string())?;
    let Some(mut stored) = transaction.reader().run_row(lease.run_id)? else { return Ok(()) };
    let is_sound = stored.is_sound();
    let last_seq = count(stored.row.last_seq);
    let newest = transaction.reader().events(lease.run_id, last_seq.saturating_sub(1))?;
    stored.row.closed_at_ms = newest.last().and_then(|row| {
        let event: Event = serde_json::from_str(&row.body).ok()?;
        (event.phase() == EventPhase::Closes).then_some(row.at_ms)
    });
    if is_sound {
        // A damaged row keeps its old checksum, so that the damage stays visible.
        stored.checksum = Some(stored.row.checksum().finish());
    }
    transaction.release_run(&stored, lease.epoch)
}

/// The failure of a write under an old epoch.
pub(crate) fn overtaken(run_id: RunId) -> Failure {
    error::refused(format!("the run {run_id} has been taken over, or is closed: nothing was written"))
        .with_next(Operation::ShowRun)
}
