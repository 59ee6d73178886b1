//! In-memory facts about this process's runs, shared by the writer and its callers.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use parallel_llm_engine::value::warning::Warning;
use parallel_llm_engine::{Failure, RunId};
use parking_lot::Mutex;

use crate::row::new_run::{NewRun, keeps_texts};
use crate::system::error;

/// Most runs kept for each purpose, more than can be in progress; beyond that the oldest is dropped.
pub(crate) const RUNS_MAX: usize = 4_096;

/// The runs of this process.
#[derive(Debug, Default)]
pub(crate) struct LocalRuns(Mutex<Runs>);

#[derive(Debug, Default)]
struct Runs {
    /// Opened runs without events: their plans become durable with their first events. The engine writes right after
    /// opening, so runs beyond the bound were abandoned in between.
    opened: BTreeMap<RunId, Arc<NewRun>>,
    /// Runs whose texts are not stored.
    without_texts: BTreeSet<RunId>,
    /// Notices for readers about how a run is stored.
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
            // No request was sent for it yet, so nothing is lost.
            runs.opened.pop_first();
        }
        runs.opened.insert(run_id, Arc::new(new));
        Ok(())
    }

    /// The plan of a run without events.
    pub(crate) fn opened(&self, run_id: RunId) -> Option<Arc<NewRun>> {
        self.0.lock().opened.get(&run_id).map(Arc::clone)
    }

    /// Drops the plan of a run that has been written, or never will be.
    pub(crate) fn begun(&self, run_id: RunId) {
        self.0.lock().opened.remove(&run_id);
    }

    /// Whether the texts of this run are stored.
    pub(crate) fn keeps_texts(&self, run_id: RunId) -> bool {
        !self.0.lock().without_texts.contains(&run_id)
    }

    /// Records whether a run's texts are stored.
    pub(crate) fn note_texts(&self, run_id: RunId, keeps_texts: bool) {
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

    /// Forgets a run that is closed.
    pub(crate) fn closed(&self, run_id: RunId) {
        self.0.lock().without_texts.remove(&run_id);
    }

    /// The notice for readers of this run.
    pub(crate) fn notice(&self, run_id: RunId) -> Option<Warning> {
        self.0.lock().notices.get(&run_id).cloned()
    }

    /// Records a notice. The first one stays, since it explains those that follow.
    pub(crate) fn put_notice(&self, run_id: RunId, notice: Warning) {
        let mut runs = self.0.lock();
        if runs.notices.len() >= RUNS_MAX {
            runs.notices.pop_first();
        }
        runs.notices.entry(run_id).or_insert(notice);
    }
}
