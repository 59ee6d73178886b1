//! What the runs of this process have besides the database: known to whoever asks the writer, and to the writer.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use parallel_llm_engine::value::warning::Warning;
use parallel_llm_engine::{Failure, RunId};
use parking_lot::Mutex;

use crate::error;
use crate::row::new_run::{NewRun, keeps_texts};

/// Runs that are remembered for each purpose: more than can be under way. Where there are more, the oldest makes room.
pub(super) const RUNS_MAX: usize = 4_096;

/// The runs of this process.
#[derive(Debug, Default)]
pub(crate) struct LocalRuns(Mutex<Runs>);

#[derive(Debug, Default)]
struct Runs {
    /// Runs that were opened and have not been written yet: their plans become durable with their first events. The engine
    /// opens a run just before it writes to it, so those beyond the bound were given up between the two.
    opened: BTreeMap<RunId, Arc<NewRun>>,
    /// Runs whose texts are not to be kept.
    without_texts: BTreeSet<RunId>,
    /// What whoever reads a run is to know of how it is kept.
    notices: BTreeMap<RunId, Warning>,
}

impl LocalRuns {
    /// Keeps the plan of a run until [`LocalRuns::begun`].
    pub(crate) fn open(&self, new: NewRun) -> Result<(), Failure> {
        let run_id = new.plan.run_id;
        self.note_texts(run_id, keeps_texts(&new.plan));
        let mut runs = self.0.lock();
        if runs.opened.contains_key(&run_id) {
            return Err(error::refused(format!("the run {run_id} is open already")));
        }
        if runs.opened.len() >= RUNS_MAX {
            // Nothing has been sent for it, so nothing is lost.
            runs.opened.pop_first();
        }
        runs.opened.insert(run_id, Arc::new(new));
        Ok(())
    }

    /// The plan of a run that has not been written yet.
    pub(super) fn opened(&self, run_id: RunId) -> Option<Arc<NewRun>> {
        self.0.lock().opened.get(&run_id).map(Arc::clone)
    }

    /// Lets go of the plan of a run that has been written, or never will be.
    pub(super) fn begun(&self, run_id: RunId) {
        self.0.lock().opened.remove(&run_id);
    }

    /// Whether the texts of this run are stored.
    pub(crate) fn keeps_texts(&self, run_id: RunId) -> bool {
        !self.0.lock().without_texts.contains(&run_id)
    }

    /// Remembers whether the texts of a run of this process are stored.
    pub(super) fn note_texts(&self, run_id: RunId, keeps_texts: bool) {
        let mut runs = self.0.lock();
        if keeps_texts {
            runs.without_texts.remove(&run_id);
            return;
        }
        if runs.without_texts.len() >= RUNS_MAX {
            runs.without_texts.pop_first();
        }
        runs.without_texts.insert(run_id);
    }

    /// Nothing more of this run is written.
    pub(super) fn closed(&self, run_id: RunId) {
        self.0.lock().without_texts.remove(&run_id);
    }

    /// What whoever reads this run is to know of how it is kept.
    pub(crate) fn notice(&self, run_id: RunId) -> Option<Warning> {
        self.0.lock().notices.get(&run_id).cloned()
    }

    /// Notes that. The first reason is the one that counts: what follows is held back by it.
    pub(super) fn put_notice(&self, run_id: RunId, notice: Warning) {
        let mut runs = self.0.lock();
        if runs.notices.len() >= RUNS_MAX {
            runs.notices.pop_first();
        }
        runs.notices.entry(run_id).or_insert(notice);
    }
}
