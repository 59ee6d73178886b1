//! Continues the runs of servers that are gone, where several servers share a database, and closes those that had their answer.
//!
//! Invariants: only a run without an answer is continued; an answer that the run has is not asked for again, nor is a
//! request sent again whose end is unknown; a run that its caller gave up is not continued; of servers that try at once,
//! the database lets one succeed.

use std::collections::BTreeSet;
use std::time::Duration;

use parallel_llm_engine::{Code, Failure, RunId, RunStatus};
use parallel_llm_settings::clock;
use parallel_llm_store::{RunFilter, RunSummary};

use super::{Asking, Continuation, Order};

/// How often lost runs are looked for. With the lease of twelve seconds, a run is continued within fifteen.
const LOOK_EVERY: Duration = Duration::from_secs(3);
/// The oldest runs that are continued without being asked to: nobody waits for older ones, and they may cost money.
const AGE_MAX: Duration = Duration::from_secs(3_600);
/// The most runs looked at at once; the others are there at the next look.
const RUNS_MAX: usize = 64;
/// The most runs remembered as impossible to continue. If one is forgotten, it is tried again, which changes nothing.
const LEFT_MAX: usize = 1_024;

impl Asking {
    /// Continues the runs that other servers of this database lose, for as long as it is awaited. Returns at once if the
    /// database is a file: what a process on the same machine has lost is left to its user.
    pub async fn continue_lost_runs(&self) {
        if self.planner.settings().database_url.is_none() {
            return;
        }
        let mut left = BTreeSet::new();
        loop {
            tokio::time::sleep(LOOK_EVERY).await;
            let looked = async {
                self.continue_lost(&mut left).await?;
                self.history.store.get().await?.close_abandoned().await
            };
            if let Err(failure) = looked.await {
                // The server may be back at the next look; whoever asks something is told.
                tracing::debug!("lost runs cannot be looked for: {}", failure.message);
            }
        }
    }

    /// Continues every lost run that can be continued, and adds the others to `left`.
    async fn continue_lost(&self, left: &mut BTreeSet<RunId>) -> Result<(), Failure> {
        let filter = RunFilter { limit: RUNS_MAX, status: Some(RunStatus::Interrupted), before: None };
        let since_ms = clock::unix_ms().saturating_sub(AGE_MAX.as_millis() as u64).cast_signed();
        let store = self.history.store.get().await?;
        // A run cannot be continued without its question.
        let may_continue = |run: &RunSummary| run.created_at_ms >= since_ms && run.question_excerpt.is_some();
        for run in self.history.list(filter).await?.into_iter().filter(may_continue) {
            let id = run.run_id;
            if left.contains(&id) || store.owners_since_cancel(id).await? == Some(0) {
                continue;
            }
            let take_over = Continuation::TakeOver { budget: None };
            match Box::pin(self.begin(Order::on(id.to_string(), take_over))).await {
                Ok(handle) => {
                    tracing::info!("run {id}: its server is gone, and it goes on here");
                    if store.owners_since_cancel(id).await?.is_some_and(|owners| owners <= 1) {
                        // Its caller gave it up as it began here.
                        handle.cancel();
                    }
                }
                // Another server was faster, or this one has no room.
                Err(failure) if failure.code == Code::Busy => {}
                Err(failure) => {
                    tracing::warn!(
                        "run {id}: its server is gone, and it cannot go on here: {}",
                        failure.message
                    );
                    left.insert(id);
                    while left.len() > LEFT_MAX {
                        left.pop_first();
                    }
                }
            }
        }
        Ok(())
    }
}
