//! Writes events inside a transaction.
//!
//! Functions return two results: the outer one is the database's, and an error in it fails the whole transaction; the
//! inner one admits or refuses this piece of work and leaves the others alone.

use parallel_llm_engine::port::Lease;
use parallel_llm_engine::run::event::Attempt;

use super::admission::{limits, repeats};
use super::cached_run::CachedRun;
use super::leases::lease::overtaken;
use crate::database::{Reader, Transaction};
use crate::ledger::{self, LedgerRows, Reservations};
use crate::row::append_rows::AppendRows;
use crate::row::count;
use crate::row::event_batch::EventBatch;
use crate::row::event_row::{PieceRow, slot_json};
use crate::row::new_run::NewRun;
use crate::row::ownership::Stamp;
use crate::row::run_row::RunMoment;
use crate::system::error::DatabaseError;
use crate::writer::job::Admission;

/// Decides whether events may begin a run or a further part of one; all other events may be written. Returns the
/// reservations of what they begin. Nothing has been written yet, so a refusal leaves nothing behind.
pub(super) fn admit(
    transaction: &mut Transaction,
    cached: &CachedRun,
    new: Option<&NewRun>,
    batch: &EventBatch,
    stamp: &Stamp,
) -> Result<Admission<Option<Reservations>>, DatabaseError> {
    let reader = transaction.reader();
    if let Some(new) = new
        && let Err(refusal) = repeats::check(&reader, &new.plan, stamp.now_ms)?
    {
        return Ok(Err(refusal));
    }
    let plan = &cached.run.plan;
    let Some(demanded) = ledger::demanded(&cached.run, &batch.events) else { return Ok(Ok(None)) };
    // A further part is checked against the limits in force now, not those at the start of the run.
    let limits = batch.reopening().map_or(&plan.limits, |reopening| &reopening.limits);
    let admission = limits::check_run(&reader, plan, limits, &demanded, stamp.now_ms)?;
    Ok(admission.map(|()| Some(demanded.reservations)))
}

/// Writes events and the rows that follow from them; `demanded` is the result of [`admit`]. Writes nothing if another
/// process has taken over the run.
pub(super) fn append(
    transaction: &mut Transaction,
    cached: &mut CachedRun,
    batch: &EventBatch,
    demanded: Option<Reservations>,
    stamp: &Stamp,
) -> Result<Admission<()>, DatabaseError> {
    let before: RunMoment = cached.moment();
    // Only a closed run is counted.
    if cached.row.closed_at_ms.is_some() {
        transaction.uncount(&cached.row.run_id)?;
    }
    cached.apply(batch, stamp.now_ms);
    if !transaction.advance_run(&cached.row, before, stamp)? {
        return Ok(Err(overtaken(cached.run.plan.run_id)));
    }
    let money = LedgerRows::of(&cached.run, batch, demanded, stamp.now_ms);
    let changes = AppendRows::of(&cached.run, batch, cached.row.decided_at_ms, stamp.now_ms);
    transaction.apply(&changes, &money)?;
    Ok(Ok(()))
}

/// Whether these events are in the database already. Asked only if a commit of this process ended without an answer: a run
/// has one writer in an epoch, so events of these numbers are these events.
pub(super) fn is_written(
    reader: &Reader<'_>,
    lease: Lease,
    batch: &EventBatch,
) -> Result<bool, DatabaseError> {
    let Some(stored) = reader.run_row(lease.run_id)? else { return Ok(false) };
    let is_ours = reader.epoch(lease.run_id)? == Some(lease.epoch);
    Ok(is_ours && count(stored.row.last_seq) >= batch.last_seq())
}

/// Writes the new part of a partial text, and returns its length in bytes.
pub(super) fn checkpoint(
    transaction: &mut Transaction,
    lease: Lease,
    attempt: Attempt,
    text: &str,
    now_ms: i64,
) -> Result<Admission<usize>, DatabaseError> {
    let start = transaction.reader().piece_end(lease.run_id, attempt)?.unwrap_or_default();
    // A text only grows; anything else is an outdated message.
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
    let is_written = transaction.insert_piece(lease, &piece.sealed(&lease.run_id.to_string()))?;
    Ok(is_written.then_some(grown.len()).ok_or_else(|| overtaken(lease.run_id)))
}
