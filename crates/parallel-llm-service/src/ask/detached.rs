//! Runs whose callers have the id only, and can give the run up by it.

use std::sync::Arc;

use parallel_llm_engine::value::next::Advice;
use parallel_llm_engine::{Code, Failure, RunId, RunStatus};
use parking_lot::Mutex;

use crate::access::Scope;
use crate::runs::History;
use crate::runs::{Hold, RunHandle};

/// A hold on each open run of this process that no caller waits for, for one principal.
#[derive(Clone)]
pub struct Detached {
    pub(crate) all: Arc<Mutex<Vec<Hold>>>,
    pub(crate) history: History,
}

impl Detached {
    /// Keeps a hold until the run is closed. Two callers of one run use the same id, so they share one hold.
    pub fn keep(&self, handle: &RunHandle) {
        let mut holds = self.all.lock();
        holds.retain(|hold| !hold.is_over());
        if holds.iter().any(|hold| hold.id() == handle.id()) {
            handle.cancel();
        } else {
            // Also for a run of another process: this process may come to continue it.
            holds.push(handle.hold());
        }
    }

    /// Gives up the run of this id for all callers that got it as an id; other callers may still want it. A decided run
    /// stays as it is. A run of another process cannot be given up here, and the call fails with `busy`: the caller
    /// would take success for the end of its costs.
    pub async fn give_up(&self, name: &str) -> Result<(), Failure> {
        self.history.principal.check(Scope::Ask)?;
        let handle = self.history.watch(name).await?;
        if handle.with_run(|run| run.is_decided() || run.status != RunStatus::Running) {
            return Ok(());
        }
        // Also for a run of another process, so that this process does not continue it.
        self.release(handle.id());
        if handle.is_elsewhere() {
            let failure =
                Failure::new(Code::Busy, "another server does this run, and only that one can give it up");
            return Err(failure.with_next(Advice::CancelAtItsServer));
        }
        Ok(())
    }

    fn release(&self, id: RunId) {
        let mut holds = self.all.lock();
        holds.extract_if(.., |hold| hold.id() == id).for_each(|hold| hold.give_up());
    }
}
