//! Joining a run of the same question: it is followed, and continued here if its process gives it up.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use parallel_llm_engine::run::Run;
use parallel_llm_engine::value::warning::Warning;
use parallel_llm_engine::{Failure, PicoUsd, RunStatus};
use tokio::task::AbortHandle;

use super::Asking;
use crate::runs::archive::history::Held;
use crate::runs::files::{self, Folder};
use crate::runs::progress::handle::Takeover;
use crate::runs::progress::relay::{Polled, Relay, is_outdated};
use crate::runs::{PastRun, RunHandle};

impl Asking {
    /// A handle on the run for a caller that asks the same. Its files are written to this process's output folder too,
    /// unless they are there or on their way. If its process gives it up or ends, this process continues it, and that
    /// part may cost up to `budget`.
    pub(super) async fn join(&self, mut past: PastRun, budget: PicoUsd) -> Result<RunHandle, Failure> {
        let id = past.run.plan.run_id;
        let base = self.history.output_dir.clone();
        let claimed = base.clone();
        let folder = if past.run.plan.files {
            files::in_time(&base, move || Folder::claim(&claimed, id)).await?
        } else {
            None
        };
        let is_over = past.run.closed || matches!(past.run.status, RunStatus::Interrupted);
        if !is_over && past.run.status == RunStatus::Cancelled {
            // Another caller cancelled it: the present caller still waits for the result.
            past.run = Run { status: RunStatus::Running, outcome: None, decided_ms: None, ..past.run };
        }
        let runs = self.live.get().await?;
        let Held { hub, tasks, files, calibration, writer } = past.hold(folder, runs.writing());
        if is_over {
            hub.mark_interrupted();
        }
        let handle = RunHandle::elsewhere(Arc::clone(&hub), calibration, files, tasks);
        if !is_over {
            let takeover = handle.takeover();
            let relay = Relay::new(Arc::clone(&self.history.store), id, hub);
            let following = Following { asking: self.clone(), relay, takeover, writer, budget };
            // Following outlives its caller: a run does not belong to its callers.
            runs.beside(following.follow());
        }
        Ok(handle)
    }
}

/// Follows a run of another process for a caller that asked the same, and takes it over if that process gives it up or
/// ends.
struct Following {
    asking: Asking,
    relay: Relay,
    takeover: Takeover,
    /// Writes its files here until this process takes the run over.
    writer: Option<AbortHandle>,
    budget: PicoUsd,
}

impl Following {
    /// Boxed, because the takeover may end in following the run again.
    fn follow(self) -> BoxFuture<'static, ()> {
        Box::pin(self.run())
    }

    async fn run(mut self) {
        let relay = &mut self.relay;
        while self.takeover.is_wanted() && !relay.is_closed() {
            let progress = match relay.next().await {
                Some(Polled::Progress(progress)) => progress,
                Some(Polled::Purged) => return relay.hub.mark_interrupted(),
                None => continue,
            };
            if progress.events.is_empty() && !progress.interrupted {
                relay.pass_on(*progress);
                continue;
            }
            // A cancel by the other caller is not passed on to this one.
            let Ok(past) = self.asking.history.read(relay.id).await else { continue };
            match past.run.status {
                RunStatus::Interrupted => return self.take_over(past.run).await,
                RunStatus::Cancelled if past.run.closed => return self.take_over(past.run).await,
                // Replies that are paid for anyway are still being read: the end is near, and every result is used.
                RunStatus::Cancelled => {}
                // One process gave it up and another continues it; this is not passed on either.
                _ if is_outdated(&progress, &past.run) => relay.hub.replace(past.run),
                _ => {
                    if relay.pass_on(*progress) {
                        return relay.hub.mark_interrupted();
                    }
                }
            }
        }
        self.relay.run().await;
    }

    /// Continues the run in this process.
    async fn take_over(self, mut left: Run) {
        let hub = self.relay.hub;
        let successor = match self.asking.take_over(self.relay.id, self.budget).await {
            Ok(handle) => handle,
            Err(failure) => {
                let warning =
                    Warning::of("the run was given up elsewhere, and could not be continued here", &failure);
                Arc::make_mut(&mut left.plan).warnings.push(warning);
                hub.replace(left);
                return hub.mark_interrupted();
            }
        };
        // From here on, the new run writes the files.
        self.writer.iter().for_each(AbortHandle::abort);
        self.takeover.pass_to(successor.clone());
        let (run, mut watch) = successor.watch();
        hub.replace(run);
        let mut over = std::pin::pin!(successor.closed());
        loop {
            tokio::select! {
                biased;
                update = watch.next() => hub.forward(update),
                () = &mut over => break,
            }
        }
        hub.replace(successor.snapshot());
        if !successor.is_closed() {
            hub.mark_interrupted();
        }
    }
}
