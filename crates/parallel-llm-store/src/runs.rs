//! What can be read of runs: one line of the list, or a whole run.

use std::sync::Arc;

use parallel_llm_engine::run::event::Attempt;
use parallel_llm_engine::value::warning::Warning;
use parallel_llm_engine::{Code, Failure, PicoUsd, Recorded, Run, RunId, RunPlan, RunStatus};

use crate::row::entries::ends_attempt;
use crate::row::owner::Owner;
use crate::spill::Spill;

/// The most runs one page of the list holds.
pub(crate) const LIST_MAX: usize = 500;
/// Runs on a page where nobody says otherwise: a screen or two.
const LIST_DEFAULT: usize = 50;

/// Which runs to list.
#[derive(Clone, Copy, Debug)]
pub struct RunFilter {
    /// The most runs to give, up to 500.
    pub limit: usize,
    /// Only runs older than this one: the last of the page before.
    pub before: Option<RunId>,
    /// Only runs that stand like this.
    pub status: Option<RunStatus>,
}

impl Default for RunFilter {
    fn default() -> Self {
        Self { limit: LIST_DEFAULT, before: None, status: None }
    }
}

/// Whose runs are meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Whose<'a> {
    /// Everybody's.
    All,
    /// Those that were asked by this name: to whoever looks so, no other run exists.
    Asker(&'a str),
}

impl<'a> Whose<'a> {
    /// The name that the runs are asked by, where only one asker's are meant.
    pub const fn name(self) -> Option<&'a str> {
        match self {
            Self::All => None,
            Self::Asker(name) => Some(name),
        }
    }
}

/// One line of the list of runs.
#[derive(Clone, Debug, PartialEq)]
pub struct RunSummary {
    /// Which run.
    pub run_id: RunId,
    /// How it stands.
    pub status: RunStatus,
    /// The beginning of the question on one line; `None` where only metadata is kept.
    pub question_excerpt: Option<String>,
    /// What it was asked by; `None` for the owner's own.
    pub asked_by: Option<String>,
    /// The name of the strategy.
    pub strategy: String,
    /// Seats on the panel.
    pub seats: u64,
    /// Seats that answered in full.
    pub answered: u64,
    /// What it cost as far as known.
    pub cost: PicoUsd,
    /// Whether a part of the cost is unknown or computed from prices.
    pub cost_is_estimate: bool,
    /// Whether a call is missing in the cost, because nobody knows what it cost, or not yet.
    pub cost_lacks_calls: bool,
    /// When it was first written, in milliseconds since 1970.
    pub created_at_ms: i64,
    /// When its answer was settled.
    pub decided_at_ms: Option<i64>,
    /// When nothing more was to come.
    pub closed_at_ms: Option<i64>,
    /// Whether something in this line is not what was written.
    pub is_damaged: bool,
}

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
            if spill.entries.follow(newest) {
                newest = spill.last_seq();
                self.interrupted &= !spill.entries.close();
                self.events.extend(spill.entries.events);
            }
        }
        let added = &self.events[before..];
        let ended = |checkpoint: &Checkpoint| {
            let is_its = |recorded: &Recorded| recorded.event.attempt() == Some(checkpoint.attempt);
            added.iter().any(|recorded| is_its(recorded) && ends_attempt(&recorded.event))
        };
        self.checkpoints.retain(|checkpoint| !ended(checkpoint));
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
            if let Some(seat) = run.place_mut(checkpoint.attempt.place) {
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
pub struct Look {
    /// What has happened since, in order, texts put back where they are kept.
    pub events: Vec<Recorded>,
    /// Texts of replies that have not ended, as they stand now.
    pub checkpoints: Vec<Checkpoint>,
    /// Whether the process that did the run ended, or fell silent, before the run did.
    pub interrupted: bool,
}

/// Who does a run, and until when that holds without another word.
#[derive(Clone, Debug)]
pub(crate) struct Tenure {
    pub(crate) owner: String,
    pub(crate) lease_until_ms: i64,
    pub(crate) closed: bool,
}

impl Tenure {
    /// Whether the run was left unfinished: at once where its process ran on this machine and is gone, after the
    /// lease where nobody here can see the process. One that is seen alive here only slept.
    pub(crate) fn is_interrupted(&self, now_ms: i64) -> bool {
        let seen = Owner::parse(&self.owner).and_then(|owner| owner.is_alive());
        !self.closed && seen.map_or(self.lease_until_ms < now_ms, |alive| !alive)
    }

    /// Whether nobody is at the run any more.
    pub(crate) fn is_over(&self, now_ms: i64) -> bool {
        self.closed || self.is_interrupted(now_ms)
    }
}
