//! Runs that were opened and have not been written yet: their plans become durable with their first events.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use parallel_llm_engine::{Failure, RunId};

use crate::fault;
use crate::row::entries::NewRun;

/// Runs that may wait for their first events. The engine opens a run just before it writes to it, so those beyond
/// were given up between the two.
const RUNS_MAX: usize = 4_096;

/// The plans that wait.
#[derive(Debug, Default)]
pub(crate) struct Opened(Mutex<BTreeMap<RunId, Arc<NewRun>>>);

impl Opened {
    /// Keeps a plan until [`Opened::remove`]. Where there are too many the oldest makes room: nothing has been sent
    /// for it, so nothing is lost.
    pub(crate) fn put(&self, new: NewRun) -> Result<(), Failure> {
        let run_id = new.plan.run_id;
        let mut runs = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if runs.contains_key(&run_id) {
            return Err(fault::refused(format!("the run {run_id} is open already")));
        }
        if runs.len() >= RUNS_MAX {
            runs.pop_first();
        }
        runs.insert(run_id, Arc::new(new));
        Ok(())
    }

    /// The plan of a run that has not been written yet.
    pub(crate) fn find(&self, run_id: RunId) -> Option<Arc<NewRun>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(&run_id).map(Arc::clone)
    }

    /// Lets go of the plan of a run that has been written, or never will be.
    pub(crate) fn remove(&self, run_id: RunId) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&run_id);
    }
}
