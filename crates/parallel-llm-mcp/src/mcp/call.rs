//! One tool call under way: who called, how long there is, and what ends the waiting.

use std::time::Duration;

use parallel_llm_engine::{Code, Failure};
use rmcp::service::{RequestContext, RoleServer};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::progress::Progress;
use super::wall;
use crate::output::report::Report;
use crate::service::{RunHandle, Service};

/// One tool call.
pub(super) struct Call {
    /// What does the work.
    pub(super) service: Service,
    context: RequestContext<RoleServer>,
    begun: Instant,
    stop: CancellationToken,
    stop_soft: Duration,
}

impl Call {
    /// A call that has just come, to a server that ends with `stop` and waits `stop_soft` longer for calls.
    pub(super) fn new(
        service: Service,
        context: RequestContext<RoleServer>,
        stop: CancellationToken,
        stop_soft: Duration,
    ) -> Self {
        Self { service, context, begun: Instant::now(), stop, stop_soft }
    }

    /// How the caller is told how far it is.
    pub(super) fn progress(&self) -> Progress {
        Progress::new(self.context.peer.clone(), self.context.meta.get_progress_token())
    }

    /// Waits for the run's answer, but no longer than the client, the server or the caller's own wish allow; the run
    /// goes on either way. Fails where the client takes its call back.
    pub(super) async fn wait(
        &self,
        handle: &RunHandle,
        progress: &mut Progress,
        wish: Option<Duration>,
    ) -> Result<Report, Failure> {
        tokio::select! {
            biased;
            () = self.cancelled() => Err(taken_back()),
            report = handle.wait(None) => Ok(report),
            () = self.waited_enough(wish) => Ok(handle.wait(Some(Instant::now())).await),
            never = progress.follow(handle) => match never {},
        }
    }

    /// How long the client waits before it gives up.
    pub(super) fn wall(&self) -> Option<Duration> {
        let name = self.context.client_info().map(|client| client.name);
        wall::of_client(name.as_deref(), self.service.settings().client_wall_ms)
    }

    /// When to answer at the latest.
    pub(super) fn soft_end(&self, wish: Option<Duration>) -> Option<Instant> {
        let waits = [self.wall().map(wall::soft), wish].into_iter().flatten().min();
        waits.and_then(|wait| self.begun.checked_add(wait))
    }

    /// The client gave this call up. A server that stops ends calls too, but that is no reason to end a run.
    async fn cancelled(&self) {
        self.context.ct.cancelled().await;
        if self.stop.is_cancelled() {
            std::future::pending::<()>().await;
        }
    }

    async fn waited_enough(&self, wish: Option<Duration>) {
        let stopped = async {
            self.stop.cancelled().await;
            tokio::time::sleep(self.stop_soft).await;
        };
        let waited = async {
            match self.soft_end(wish) {
                Some(end) => tokio::time::sleep_until(end).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = stopped => {}
            () = waited => {}
        }
    }
}

fn taken_back() -> Failure {
    Failure::new(Code::Cancelled, "the client took its call back")
}
