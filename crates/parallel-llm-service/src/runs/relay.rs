//! A run of another process, brought from the store to those who watch it here.

use std::sync::Arc;
use std::time::Duration;

use parallel_llm_engine::RunId;
use parallel_llm_engine::call::hub::Hub;
use parallel_llm_engine::plan::caller_slot::CallerSlot;
use parallel_llm_engine::run::Run;
use parallel_llm_store::{RunProgress, Store};

use crate::lazy::Lazy;

/// How often the store is asked about a run another process is doing.
const LOOK_EVERY: Duration = Duration::from_millis(500);

/// One such run, and where it is watched here.
pub(crate) struct Relay {
    pub(crate) store: Arc<Lazy<Store>>,
    pub(crate) id: RunId,
    pub(crate) hub: Arc<Hub>,
}

/// What a look at a run finds.
pub(crate) enum Seen {
    /// What is new in it.
    Look(Box<RunProgress>),
    /// It was purged meanwhile.
    Nothing,
}

impl Relay {
    /// Brings what comes until the run is over or its process is gone.
    pub(crate) async fn run(self) {
        while !self.is_closed() {
            let is_lost = match self.next().await {
                Some(Seen::Look(look)) => self.bring(*look),
                Some(Seen::Nothing) => true,
                // A store that cannot be read now may be read at the next look; whoever waits has a limit of their own.
                None => false,
            };
            if is_lost {
                return self.hub.lose();
            }
        }
    }

    /// Whether nothing more will happen.
    pub(crate) fn is_closed(&self) -> bool {
        self.hub.with_run(|run| run.closed)
    }

    /// The next look; `None` where the store cannot be read just now.
    pub(crate) async fn next(&self) -> Option<Seen> {
        tokio::time::sleep(LOOK_EVERY).await;
        let seq = self.hub.with_run(|run| run.seq);
        let look = self.store.get().await.ok()?.follow(self.id, seq).await.ok()?;
        Some(look.map_or(Seen::Nothing, |look| Seen::Look(Box::new(look))))
    }

    /// Shows what is new in a run, and says whether its process is gone.
    pub(crate) fn bring(&self, look: RunProgress) -> bool {
        let texts: Vec<(CallerSlot, String)> =
            look.checkpoints.into_iter().map(|one| (one.attempt.slot, one.text)).collect();
        self.hub.relay(look.events, texts);
        look.interrupted
    }
}

/// Whether a run is further than this look at it, or was continued since the look before.
pub(crate) fn is_past(look: &RunProgress, run: &Run) -> bool {
    look.events.last().is_some_and(|last| last.seq < run.seq)
        || look.events.iter().any(|recorded| recorded.event.reopens())
}
