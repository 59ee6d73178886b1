//! Runs whose callers were answered with a name to ask about, and may still give them up by it.

use std::sync::{Arc, Mutex, PoisonError};

use parallel_llm_engine::value::next::Advice;
use parallel_llm_engine::{Code, Failure, RunId, RunStatus};

use crate::access::Scope;
use crate::runs::History;
use crate::runs::{Hold, RunHandle};

/// A hold for each run that was begun in this process, is not over, and whose caller does not wait for it; reached on
/// behalf of one principal.
#[derive(Clone)]
pub struct Detached {
    pub(crate) all: Arc<Mutex<Vec<Hold>>>,
    pub(crate) history: History,
}

impl Detached {
    /// Keeps a hold until the run is over. Two callers of one run have one name for it, so theirs is one hold.
    pub fn keep(&self, handle: &RunHandle) {
        let mut holds = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        holds.retain(|hold| !hold.is_over());
        if holds.iter().any(|hold| hold.id() == handle.id()) {
            handle.cancel();
        } else {
            // Also of a run that another process does: this one may come to continue it.
            holds.push(handle.hold());
        }
    }

    /// Gives the run of this name up for all who were answered with it; other callers may want it still. One that is over
    /// stays as it is. One that another process does cannot be given up here, which is said: a caller would take silence
    /// for the end of its costs.
    pub async fn give_up(&self, name: &str) -> Result<(), Failure> {
        self.history.principal.check(Scope::Ask)?;
        let handle = self.history.watch(name).await?;
        if handle.with_run(|run| run.is_decided() || run.status != RunStatus::Running) {
            return Ok(());
        }
        // Also where another process does it: this one is not to continue it.
        self.let_go(handle.id());
        if handle.is_elsewhere() {
            let failure =
                Failure::new(Code::Busy, "another server does this run, and only that one can give it up");
            return Err(failure.with_next(Advice::CancelAtItsServer));
        }
        Ok(())
    }

    fn let_go(&self, id: RunId) {
        let mut holds = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        holds.extract_if(.., |hold| hold.id() == id).for_each(|hold| hold.give_up());
    }
}
