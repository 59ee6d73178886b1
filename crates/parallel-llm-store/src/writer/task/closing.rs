//! Closes runs that were decided when their process ended: nobody else does, and only a closed run is counted.

use parallel_llm_engine::{Code, Event, Recorded, Run};

use super::WriterTask;
use crate::database::Transaction;
use crate::row::event_batch::EventBatch;
use crate::row::ownership::Stamp;
use crate::system::error::DatabaseError;
use crate::writer::append;
use crate::writer::cached_run::CachedRun;
use crate::writer::job::{Admission, Done};
use crate::writer::leases::lease;

/// Most runs closed in one transaction; the others are found at the next look.
pub(crate) const CLOSED_MAX: usize = 32;

impl WriterTask {
    /// Closes decided runs whose process is gone, with their cost as far as it is known.
    pub(super) fn close_abandoned(
        &mut self,
        transaction: &mut Transaction,
        stamp: &Stamp,
    ) -> Result<Admission<Done>, DatabaseError> {
        for run_id in transaction.reader().decided_runs(CLOSED_MAX)? {
            transaction.lock_run(&run_id.to_string())?;
            let Some(ownership) = transaction.reader().ownership(run_id)? else { continue };
            if !ownership.is_interrupted(stamp.now_ms) {
                continue;
            }
            // A damaged run stays as it is. One that goes on after its answer is its user's to resume.
            let cached = match CachedRun::read(&transaction.reader(), run_id)? {
                Ok(cached) if cached.run.is_decided() && !cached.run.closed => cached,
                Err(failure) if failure.code == Code::Damaged => continue,
                Ok(_) | Err(_) => continue,
            };
            self.cached.remove(&run_id);
            // A process that was only suspended must not write to it any more.
            if lease::take_over(transaction, run_id, Some(cached.run.seq), stamp)?.is_err() {
                continue;
            }
            let Ok(mut cached) = CachedRun::read(&transaction.reader(), run_id)? else { continue };
            let batch = EventBatch::of(vec![closed(&cached.run)], true);
            if append::append(transaction, &mut cached, &batch, None, stamp)?.is_ok() {
                self.index_is_behind = true;
            }
        }
        Ok(Ok(Done::Written))
    }
}

fn closed(run: &Run) -> Recorded {
    Recorded { seq: run.seq + 1, elapsed_ms: run.elapsed_ms, event: Event::Closed { cost: run.cost() } }
}
