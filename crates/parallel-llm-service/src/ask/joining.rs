//! Asking what another has asked already: the run is waited for, and continued here where the other leaves it.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use parallel_llm_engine::run::Run;
use parallel_llm_engine::value::warning::Warning;
use parallel_llm_engine::{Failure, PicoUsd, RunStatus};
use tokio::task::AbortHandle;

use super::Asking;
use crate::runs::files::{self, Folder};
use crate::runs::handle::Heirship;
use crate::runs::history::Held;
use crate::runs::relay::{Relay, Seen, is_past};
use crate::runs::{PastRun, RunHandle};

impl Asking {
    /// A hold on the run for one who asks the same: its files are written to the output folder of this process too,
    /// where they are not there or on their way. Where whoever does it gives it up or is gone, this process continues it,
    /// and that part may cost as much as `budget`.
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
            // Somebody else's word: whoever asks now waits for what it comes to.
            past.run = Run { status: RunStatus::Running, outcome: None, decided_ms: None, ..past.run };
        }
        let Held { hub, tasks, files, calibration, writer } = past.hold(folder);
        if is_over {
            hub.lose();
        }
        let handle = RunHandle::elsewhere(Arc::clone(&hub), calibration, files, tasks);
        if !is_over {
            let heirship = handle.heirship();
            let relay = Relay { store: Arc::clone(&self.history.store), id, hub };
            let following = Following { asking: self.clone(), relay, heirship, writer, budget };
            // It goes on without its caller: a run belongs to nobody who asked for it.
            self.live.get().await?.beside(following.follow());
        }
        Ok(handle)
    }
}

/// Follows a run of another principal for somebody who asked the same, and takes it up where the other gave it up or is
/// gone.
struct Following {
    asking: Asking,
    relay: Relay,
    heirship: Heirship,
    /// What writes its files here until this process does the run.
    writer: Option<AbortHandle>,
    budget: PicoUsd,
}

impl Following {
    /// Boxed, because what takes the run up may come to follow it again.
    fn follow(self) -> BoxFuture<'static, ()> {
        Box::pin(self.until_it_is_over())
    }

    async fn until_it_is_over(self) {
        let relay = &self.relay;
        while self.heirship.is_wanted() && !relay.is_closed() {
            let look = match relay.next().await {
                Some(Seen::Look(look)) => look,
                Some(Seen::Nothing) => return relay.hub.lose(),
                None => continue,
            };
            if look.events.is_empty() && !look.interrupted {
                relay.bring(*look);
                continue;
            }
            // The run's status says whether its caller has left it: that is not passed on.
            let Ok(past) = self.asking.history.read(relay.id).await else { continue };
            match past.run.status {
                RunStatus::Interrupted => return self.take_up(past.run).await,
                RunStatus::Cancelled if past.run.closed => return self.take_up(past.run).await,
                // What is paid for anyway is still being read: its end is near, and whatever comes is taken.
                RunStatus::Cancelled => {}
                // Somebody has left it, and somebody else continues it: that it was left is not passed on either.
                _ if is_past(&look, &past.run) => relay.hub.renew(past.run),
                _ => {
                    if relay.bring(*look) {
                        return relay.hub.lose();
                    }
                }
            }
        }
        self.relay.run().await;
    }

    /// Continues the run in this process.
    async fn take_up(self, mut left: Run) {
        let hub = self.relay.hub;
        let heir = match self.asking.take_up(self.relay.id, self.budget).await {
            Ok(heir) => heir,
            Err(failure) => {
                let warning = Warning::of("the run was left, and could not be gone on with", &failure);
                Arc::make_mut(&mut left.plan).warnings.push(warning);
                hub.renew(left);
                return hub.lose();
            }
        };
        // From here on they are written by whoever does the run.
        self.writer.iter().for_each(AbortHandle::abort);
        self.heirship.pass_to(heir.clone());
        let (run, mut watch) = heir.watch();
        hub.renew(run);
        let mut over = std::pin::pin!(heir.closed());
        loop {
            tokio::select! {
                biased;
                update = watch.next() => hub.pass_on(update),
                () = &mut over => break,
            }
        }
        hub.renew(heir.snapshot());
        if !heir.is_closed() {
            hub.lose();
        }
    }
}
