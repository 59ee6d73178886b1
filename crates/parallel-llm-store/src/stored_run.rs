//! A run as it was stored, and what is new in one that another process does.

use std::sync::Arc;

use parallel_llm_engine::run::event::Attempt;
use parallel_llm_engine::value::warning::Warning;
use parallel_llm_engine::{Code, Event, Failure, Recorded, Run, RunPlan};

use crate::row::event_batch::RunEffect;
use crate::spill::Spill;

/// The newest text of a reply that was on its way and did not end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checkpoint {
    /// Whose text, and of which try.
    pub attempt: Attempt,
    /// The text so far.
    pub text: String,
    /// When it was kept, in milliseconds since 1970.
    pub at_ms: i64,
}

/// A run as it was stored, texts put back where they are kept.
#[derive(Clone, Debug)]
pub struct StoredRun {
    /// What was planned; without messages where only metadata is kept.
    pub plan: Arc<RunPlan>,
    /// What happened, in order.
    pub events: Vec<Recorded>,
    /// When it was first written, in milliseconds since 1970.
    pub created_at_ms: i64,
    /// Texts of replies that have not ended.
    pub checkpoints: Vec<Checkpoint>,
    /// Whether the process that did the run ended, or fell silent, before the run did.
    pub interrupted: bool,
    /// Whose turn it is to write it.
    pub(crate) epoch: u64,
}

impl StoredRun {
    /// Adds what the database did not take and waits in files: they are as true as what it has. Checkpoints of requests that
    /// have ended there say nothing any more.
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
        let ends = |event: &Event, checkpoint: &Checkpoint| matches!(RunEffect::of(event), RunEffect::Ends(it) if it == checkpoint.attempt);
        let is_over =
            |checkpoint: &Checkpoint| added.iter().any(|recorded| ends(&recorded.event, checkpoint));
        self.checkpoints.retain(|checkpoint| !is_over(checkpoint));
        if !added.is_empty() {
            let message = format!("{} events of the run are in files beside the run database", added.len());
            let warning =
                Warning::of("a part of the run waits to be taken in", &Failure::new(Code::Spilled, message));
            Arc::make_mut(&mut self.plan).warnings.push(warning);
        }
    }

    /// The run as the store knows it: its events, the texts that were on their way, and whether it was left.
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

/// What is new in a run that another process may be doing.
#[derive(Clone, Debug)]
pub struct RunProgress {
    /// What has happened since, in order, texts put back where they are kept.
    pub events: Vec<Recorded>,
    /// Texts of replies that have not ended, as they stand now.
    pub checkpoints: Vec<Checkpoint>,
    /// Whether the process that did the run ended, or fell silent, before the run did.
    pub interrupted: bool,
}
