//! A run that the writer caches between two appends.

use std::sync::Arc;

use parallel_llm_engine::port::Lease;
use parallel_llm_engine::{Code, Failure, Recorded, Run, RunId};

use super::leases::lease::{EPOCH_FIRST, overtaken};
use crate::database::Reader;
use crate::row::damage;
use crate::row::event_batch::EventBatch;
use crate::row::new_run::NewRun;
use crate::row::run_row::{RunMoment, RunRow};
use crate::system::error::{self, DatabaseError};
use crate::writer::job::Admission;

/// A run, folded from its events.
#[derive(Debug)]
pub(super) struct CachedRun {
    pub(super) run: Run,
    pub(super) epoch: u64,
    /// Its line in the list of runs.
    pub(super) row: RunRow,
}

impl CachedRun {
    /// A run without events.
    pub(super) fn new(new: &NewRun, now_ms: i64) -> Self {
        let run = Run::new(Arc::clone(&new.plan));
        Self { row: RunRow::new(&run, new.question_excerpt.clone(), now_ms), run, epoch: EPOCH_FIRST }
    }

    /// A run folded from its stored events, which does not need their texts.
    pub(super) fn read(reader: &Reader<'_>, run_id: RunId) -> Result<Admission<Self>, DatabaseError> {
        let Some(record) = reader.run(run_id)? else {
            return Ok(Err(error::refused(format!("the run {run_id} was not opened, or too long ago"))));
        };
        if !record.stored.is_sound() || !record.is_plan_sound() {
            return Ok(Err(damage::failure(&format!("the run {run_id}")).with_run(run_id)));
        }
        let id = run_id.to_string();
        let rows = reader.events(run_id, 0)?;
        let events: Result<Vec<Recorded>, Failure> = rows.iter().map(|row| row.recorded(&id)).collect();
        Ok(record.plan().and_then(|plan| {
            Ok(Self { run: Run::fold(plan, &events?), epoch: record.epoch, row: record.stored.row })
        }))
    }

    /// The epoch and newest event of the run.
    pub(super) fn moment(&self) -> RunMoment {
        RunMoment { epoch: self.epoch, seq: self.run.seq }
    }

    /// Applies events that are about to be written.
    pub(super) fn apply(&mut self, batch: &EventBatch, now_ms: i64) {
        batch.events.iter().for_each(|recorded| self.run.apply(recorded));
        self.row.follow(&self.run);
        // What is merged decides a run that nobody else has decided.
        let is_settled = batch.merges() && self.run.is_decided() && self.row.decided_at_ms.is_none();
        if batch.decides() || is_settled {
            self.row.decided_at_ms = Some(now_ms);
        }
        if batch.closes() {
            self.row.closed_at_ms = Some(now_ms);
        }
    }

    /// Refuses events under an old epoch, and events that do not follow the run's newest one.
    pub(super) fn check(&self, lease: Lease, batch: &EventBatch) -> Admission<()> {
        if lease.epoch != self.epoch {
            return Err(overtaken(lease.run_id));
        }
        if !batch.follows(self.run.seq) {
            let message =
                format!("events of the run {} do not follow its event {}", lease.run_id, self.run.seq);
            return Err(Failure::new(Code::Internal, message));
        }
        Ok(())
    }
}
