//! A run as stored, and the progress of a run in another process.

use std::sync::Arc;

use parallel_llm_engine::run::event::Attempt;
use parallel_llm_engine::value::warning::Warning;
use parallel_llm_engine::{Code, Failure, Recorded, Run, RunPlan};

use crate::row::event_batch::ended;
use crate::spill::Spill;

/// The newest partial text of an unfinished reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checkpoint {
    /// The call and attempt it belongs to.
    pub attempt: Attempt,
    /// The text so far.
    pub text: String,
    /// When it was written, in milliseconds since 1970.
    pub at_ms: i64,
}

/// A run as stored, with its texts if they are stored.
#[derive(Clone, Debug)]
pub struct StoredRun {
    /// The plan; without messages if only metadata is stored.
    pub plan: Arc<RunPlan>,
    /// The events in order.
    pub events: Vec<Recorded>,
    /// When the run was first written, in milliseconds since 1970.
    pub created_at_ms: i64,
    /// Partial texts of unfinished replies.
    pub checkpoints: Vec<Checkpoint>,
    /// Whether the owner's process ended, or stopped extending its lease, before the run was closed.
    pub interrupted: bool,
    /// The current epoch of the run's lease.
    pub(crate) epoch: u64,
}

impl StoredRun {
    /// Adds events from spill files, which are as valid as those in the database, and drops the checkpoints of requests
    /// that end in them.
    pub(crate) fn add(&mut self, spills: Vec<Spill>) {
        let mut newest = self.events.last().map_or(0, |recorded| recorded.seq);
        let before = self.events.len();
        for spill in spills.into_iter().filter(|spill| spill.lease.epoch == self.epoch) {
            if spill.batch.follows(newest) {
                newest = spill.batch.last_seq();
                self.interrupted &= !spill.batch.closes();
                self.events.extend(spill.batch.events);
            }
        }
        let added = &self.events[before..];
        let is_over = |checkpoint: &Checkpoint| {
            added.iter().any(|recorded| ended(&recorded.event) == Some(checkpoint.attempt))
        };
        self.checkpoints.retain(|checkpoint| !is_over(checkpoint));
        if !added.is_empty() {
            let message = format!("{} events of the run are in files beside the run database", added.len());
            let warning =
                Warning::of("a part of the run waits to be taken in", &Failure::new(Code::Spilled, message));
            Arc::make_mut(&mut self.plan).warnings.push(warning);
        }
    }

    /// The run folded from its events, with partial texts, and marked if it was interrupted.
    pub fn run(&self) -> Run {
        let mut run = Run::fold(Arc::clone(&self.plan), &self.events);
        for checkpoint in &self.checkpoints {
            if let Some(seat) = run.view_mut(checkpoint.attempt.slot) {
                seat.partial.clone_from(&checkpoint.text);
            }
        }
        if self.interrupted {
            run.interrupt();
        }
        run
    }
}

/// New events and partial texts of a run that may be running in another process.
#[derive(Clone, Debug)]
pub struct RunProgress {
    /// The new events in order, with their texts if they are stored.
    pub events: Vec<Recorded>,
    /// The current partial texts of unfinished replies.
    pub checkpoints: Vec<Checkpoint>,
    /// Whether the owner's process ended, or stopped extending its lease, before the run was closed.
    pub interrupted: bool,
}
