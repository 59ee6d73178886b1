//! Progress notifications: at the start, at every change, and at intervals.
//!
//! What always holds: the numbers only rise, there are at most two notifications a second, and none delays the run or
//! its answer (the outbox drops them if the client does not read).

use std::convert::Infallible;
use std::time::Duration;

use futures_util::FutureExt;
use rmcp::Peer;
use rmcp::model::{ProgressNotificationParam, ProgressToken};
use rmcp::service::RoleServer;

use parallel_llm_service::RunHandle;
use parallel_llm_service::report::event::progress_line;

/// The shortest time between two notifications: people read no faster.
const GAP: Duration = Duration::from_millis(500);
/// The longest silence after that, so that a notification comes every ten seconds even if everything is slow. Clients
/// with an idle timeout allow far more.
const SILENCE_MAX: Duration = Duration::from_secs(7);
/// The share of the rest up to the next whole step that a notification without news adds, so that numbers rise for
/// ever.
const STEP_SHARE: f64 = 0.1;
/// The message until there is a run.
const BEGINNING: &str = "about to ask the panel";

/// The progress of one call.
pub(crate) struct Progress {
    peer: Peer<RoleServer>,
    token: Option<ProgressToken>,
    /// Whether its protocol version has messages beside the numbers.
    has_messages: bool,
    reported: f64,
}

impl Progress {
    /// Notifications to this caller; none without a token.
    pub(super) const fn new(
        peer: Peer<RoleServer>,
        token: Option<ProgressToken>,
        has_messages: bool,
    ) -> Self {
        Self { peer, token, has_messages, reported: 0.0 }
    }

    /// Notifies at once and then at intervals, while `beginning` makes the run.
    pub(crate) async fn begin<T>(&mut self, beginning: impl Future<Output = T>) -> T {
        let reporting = async {
            self.send(0.0, None, BEGINNING.to_owned()).await;
            loop {
                tokio::time::sleep(SILENCE_MAX).await;
                self.reported = next_step(self.reported, 0.0);
                self.send(self.reported, None, BEGINNING.to_owned()).await;
            }
        };
        tokio::select! {
            biased;
            never = reporting => never,
            begun = beginning => begun,
        }
    }

    /// Notifies about the run for as long as it is polled.
    pub(super) async fn follow(&mut self, handle: &RunHandle) -> Infallible {
        if self.token.is_none() {
            return std::future::pending().await;
        }
        let (_, mut events) = handle.watch_events();
        loop {
            self.report(handle).await;
            tokio::time::sleep(GAP).await;
            // A notification follows silence as well.
            let _ = tokio::time::timeout(SILENCE_MAX, events.next()).await;
            while events.next().now_or_never().is_some() {}
        }
    }

    async fn report(&mut self, handle: &RunHandle) {
        let age_ms = handle.age_ms();
        // Reads the run without copying it: its texts may be long.
        let (done, total, message) = handle.with_run(|run| {
            let done = run.seats.iter().filter(|seat| seat.status.is_final()).count();
            (done as f64, run.seats.len() as f64 + 1.0, progress_line::of(run, age_ms))
        });
        self.reported = next_step(self.reported, done);
        self.send(self.reported, Some(total), message).await;
    }

    async fn send(&self, progress: f64, total: Option<f64>, message: String) {
        let Some(token) = self.token.clone() else { return };
        let mut note = ProgressNotificationParam::new(token, progress);
        note.total = total;
        note.message = self.has_messages.then_some(message);
        // A client that is gone needs no progress.
        let _ = self.peer.notify_progress(note).await;
    }
}

/// The next number: the seats that are done, or a little more than the last one without a change.
fn next_step(reported: f64, done: f64) -> f64 {
    if done > reported { done } else { reported + (done + 1.0 - reported) * STEP_SHARE }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_only_rise() {
        let mut reported = 0.0;
        for done in [0.0, 0.0, 0.0, 1.0, 1.0, 3.0, 3.0].into_iter().chain(std::iter::repeat_n(3.0, 200)) {
            let next = next_step(reported, done);
            assert!(next > reported && next < done + 1.0, "{reported} {next}");
            reported = next;
        }
    }
}
