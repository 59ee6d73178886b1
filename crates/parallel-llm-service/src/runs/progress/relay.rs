//! Relays a run of another process from the store to its watchers here.

use std::sync::Arc;
use std::time::Duration;

use parallel_llm_engine::RunId;
use parallel_llm_engine::call::hub::Hub;
use parallel_llm_engine::plan::caller_slot::CallerSlot;
use parallel_llm_engine::run::Run;
use parallel_llm_engine::run::event::EventPhase;
use parallel_llm_store::{Changes, RunProgress, RunScope, Store};
use tokio::time::Instant;

use crate::lazy::Lazy;

/// How long the store is left alone if it could not be reached.
const UNREACHED_PAUSE: Duration = Duration::from_millis(500);
/// How long a run on a server may be lost before that is told: another machine continues it within a few seconds.
const LOST_MAX: Duration = Duration::from_secs(10);

/// A run of another process and its hub in this one.
pub(crate) struct Relay {
    pub(crate) store: Arc<Lazy<Store>>,
    pub(crate) id: RunId,
    pub(crate) hub: Arc<Hub>,
    changes: Option<Changes>,
}

/// The result of looking at a run.
pub(crate) enum Polled {
    /// New events or text.
    Progress(Box<RunProgress>),
    /// The run was purged.
    Purged,
}

impl Relay {
    /// A relay of this run into this hub.
    pub(crate) const fn new(store: Arc<Lazy<Store>>, id: RunId, hub: Arc<Hub>) -> Self {
        Self { store, id, hub, changes: None }
    }

    /// The same for a hub that shows another past of the run: replaces it by what is stored, then relays.
    pub(crate) async fn begin(self) {
        loop {
            let stored = match self.store.get().await {
                Ok(store) => store.load(RunScope::All, self.id).await,
                Err(failure) => Err(failure),
            };
            match stored {
                Ok(Some(stored)) => {
                    self.hub.replace(stored.run());
                    return self.run().await;
                }
                Ok(None) => return self.hub.mark_interrupted(),
                // It may be readable next time; waiting callers have limits of their own.
                Err(_) => tokio::time::sleep(UNREACHED_PAUSE).await,
            }
        }
    }

    /// Relays until the run is closed, or its process has ended and no other continues it.
    pub(crate) async fn run(mut self) {
        let mut lost_since = None;
        while !self.is_closed() {
            let is_lost = match self.next().await {
                Some(Polled::Progress(progress)) => self.pass_on(*progress),
                Some(Polled::Purged) => return self.hub.mark_interrupted(),
                // The store may be readable next time; waiting callers have limits of their own.
                None => continue,
            };
            lost_since = is_lost.then(|| lost_since.unwrap_or_else(Instant::now));
            if lost_since.is_some_and(|since| since.elapsed() >= self.patience()) {
                return self.hub.mark_interrupted();
            }
        }
    }

    /// How long the run may be lost.
    fn patience(&self) -> Duration {
        if self.store.made().is_some_and(Store::is_on_server) { LOST_MAX } else { Duration::ZERO }
    }

    /// Whether the run is closed.
    pub(crate) fn is_closed(&self) -> bool {
        self.hub.with_run(|run| run.closed)
    }

    /// What is new when it is time to look again; `None` if the store cannot be read now.
    pub(crate) async fn next(&mut self) -> Option<Polled> {
        let looked = self.look().await;
        if looked.is_none() {
            tokio::time::sleep(UNREACHED_PAUSE).await;
        }
        looked
    }

    async fn look(&mut self) -> Option<Polled> {
        let store = self.store.get().await.ok()?;
        let seq = self.hub.with_run(|run| run.seq);
        match &mut self.changes {
            Some(changes) => changes.next(self.id, seq).await,
            // What has changed since the run was read is not told, so the first look is at once.
            None => self.changes = Some(store.changes()),
        }
        let progress = store.follow(self.id, seq).await.ok()?;
        Some(progress.map_or(Polled::Purged, |progress| Polled::Progress(Box::new(progress))))
    }

    /// Passes progress to the watchers; returns whether the run's process has ended.
    pub(crate) fn pass_on(&self, progress: RunProgress) -> bool {
        let texts: Vec<(CallerSlot, String)> =
            progress.checkpoints.into_iter().map(|one| (one.attempt.slot, one.text)).collect();
        self.hub.relay(progress.events, texts);
        progress.interrupted
    }
}

/// Whether the run has moved beyond this progress or was continued within it.
pub(crate) fn is_outdated(progress: &RunProgress, run: &Run) -> bool {
    progress.events.last().is_some_and(|last| last.seq < run.seq)
        || progress.events.iter().any(|recorded| recorded.event.phase() == EventPhase::Continues)
}
