//! Writing events. A refusal is an answer, not an error of the database: the outer `Result` says whether the database did its
//! part, and then the whole transaction stands or falls; the inner one says whether this piece of work was let in, and
//! leaves its neighbours alone.

use parallel_llm_engine::port::Lease;
use parallel_llm_engine::run::event::Attempt;

use super::cached_run::CachedRun;
use super::lease::overtaken;
use super::{limits, repeats};
use crate::database::Transaction;
use crate::error::DatabaseError;
use crate::ledger::{self, LedgerRows, Reservations};
use crate::row::append_rows::AppendRows;
use crate::row::count;
use crate::row::event_batch::EventBatch;
use crate::row::event_row::{PieceRow, slot_json};
use crate::row::new_run::NewRun;
use crate::row::ownership::Stamp;
use crate::row::run_row::RunMoment;
use crate::writer::job::Admission;

/// Decides whether events may be written that begin a run or a further part of one; other events may. Gives the money that is
/// to be reserved for what they begin. Nothing is written yet, so a refusal leaves nothing behind.
pub(super) async fn admit(
    transaction: &mut Transaction,
    cached: &CachedRun,
    new: Option<&NewRun>,
    batch: &EventBatch,
    stamp: &Stamp,
) -> Result<Admission<Option<Reservations>>, DatabaseError> {
    let mut reader = transaction.reader();
    if let Some(new) = new
        && let Err(refusal) = repeats::check(&mut reader, &new.plan, stamp.now_ms).await?
    {
        return Ok(Err(refusal));
    }
    let plan = &cached.run.plan;
    let Some(demanded) = ledger::demanded(&cached.run, &batch.events) else { return Ok(Ok(None)) };
    // Those in force now, which may not have been when the run began.
    let limits = batch.reopening().map_or(&plan.limits, |reopening| &reopening.limits);
    let admission = limits::check_run(&mut reader, plan, limits, &demanded, stamp.now_ms).await?;
    Ok(admission.map(|()| Some(demanded)))
}

/// Writes events, and what follows from them; `demanded` is what [`admit`] gave. Refused, and nothing of it written, where
/// another process has the run now.
pub(super) async fn append(
    transaction: &mut Transaction,
    cached: &mut CachedRun,
    batch: &EventBatch,
    demanded: Option<Reservations>,
    stamp: &Stamp,
) -> Result<Admission<()>, DatabaseError> {
    let before: RunMoment = cached.moment();
    cached.apply(batch, stamp.now_ms);
    if !transaction.advance_run(&cached.row, before, stamp).await? {
        return Ok(Err(overtaken(cached.run.plan.run_id)));
    }
    let money = LedgerRows::of(&cached.run, batch, demanded, stamp.now_ms);
    let changes = AppendRows::of(&cached.run, batch, cached.row.decided_at_ms, stamp.now_ms);
    transaction.apply(&changes, &money).await?;
    Ok(Ok(()))
}

/// Keeps what a text on its way has grown by since it was last kept, and gives how many bytes that is.
pub(super) async fn checkpoint(
    transaction: &mut Transaction,
    lease: Lease,
    attempt: Attempt,
    text: &str,
    now_ms: i64,
) -> Result<Admission<usize>, DatabaseError> {
    let start = transaction.reader().piece_end(lease.run_id, attempt).await?.unwrap_or_default();
    // A text only grows; whatever else is said of it was said too late.
    let Some(grown) = text.get(count(start) as usize..).filter(|grown| !grown.is_empty()) else {
        return Ok(Ok(0));
    };
    let piece = PieceRow {
        slot: slot_json(attempt.slot),
        attempt: attempt.number,
        start,
        text: grown.to_owned(),
        at_ms: now_ms,
        checksum: None,
    };
    let is_written = transaction.insert_piece(lease, &piece.sealed(&lease.run_id.to_string())).await?;
    Ok(is_written.then_some(grown.len()).ok_or_else(|| overtaken(lease.run_id)))
}
