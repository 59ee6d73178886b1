//! Runs whose callers have the id only, and can give the run up by it, also through another process of the database.

use std::sync::Arc;
use std::time::Duration;

use parallel_llm_engine::{Failure, RunId};
use parallel_llm_store::Store;
use parking_lot::Mutex;

use crate::access::Scope;
use crate::lazy::Lazy;
use crate::runs::History;
use crate::runs::{Hold, RunHandle};

/// How often this process looks whether another one was asked to give up a run that is done here.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// A hold on each open run of this process that no caller waits for, for one principal.
#[derive(Clone)]
pub struct Detached {
    pub(crate) holds: Arc<Mutex<Holds>>,
    pub(crate) history: History,
}

/// The holds of this process.
#[derive(Default)]
pub(crate) struct Holds {
    all: Vec<Hold>,
    /// Whether a task looks for requests of other processes.
    is_watched: bool,
}

impl Detached {
    /// Keeps a hold until the run is closed. Two callers of one run use the same id, so they share one hold.
    pub fn keep(&self, handle: &RunHandle) {
        let mut holds = self.holds.lock();
        holds.all.retain(|hold| !hold.is_over());
        if holds.all.iter().any(|hold| hold.id() == handle.id()) {
            handle.cancel();
        } else {
            // Also for a run of another process: this process may come to continue it.
            holds.all.push(handle.hold());
        }
        if !holds.is_watched
            && let Some(runs) = self.history.live.made()
        {
            holds.is_watched = true;
            runs.beside(heed_requests(Arc::clone(&self.holds), Arc::clone(&self.history.store)));
        }
    }

    /// Gives up the run of this id for all callers that got it as an id; other callers may still want it. A decided run
    /// stays as it is. Another process that does the run is asked to give it up, and does so within about a second; if it
    /// is gone, no other one continues the run by itself.
    pub async fn give_up(&self, name: &str) -> Result<(), Failure> {
        self.history.principal.check(Scope::Ask)?;
        let handle = self.history.watch(name).await?;
        if handle.with_run(|run| run.is_decided() || run.closed) {
            return Ok(());
        }
        // Also for a run of another process, so that this process does not continue it.
        self.holds.lock().release(handle.id());
        if handle.is_elsewhere() {
            self.history.store.get().await?.request_cancel(handle.id()).await?;
        }
        Ok(())
    }
}

impl Holds {
    fn release(&mut self, id: RunId) {
        self.all.extract_if(.., |hold| hold.id() == id).for_each(|hold| hold.give_up());
    }
}

/// Gives up the runs that other processes ask for, until there is no hold any more.
async fn heed_requests(holds: Arc<Mutex<Holds>>, store: Arc<Lazy<Store>>) {
    loop {
        tokio::time::sleep(LOOK_EVERY).await;
        {
            let mut holds = holds.lock();
            holds.all.retain(|hold| !hold.is_over());
            if holds.all.is_empty() {
                holds.is_watched = false;
                return;
            }
        }
        let Some(store) = store.made() else { continue };
        // A request that cannot be read now is there at the next look.
        for id in store.requested_cancels().await.unwrap_or_default() {
            holds.lock().release(id);
        }
    }
}
