//! Progress notifications: at the start, at every change, and at intervals.
//!
//! What always holds: the numbers only rise, there are at most two notifications a second, and none delays the run or
//! its answer (the outbox drops them if the client does not read).

use std::convert::Infallible;
use std::time::Duration;

use futures_util::FutureExt;
use parallel_llm_engine::Run;
use parallel_llm_engine::run::SeatView;
use rmcp::Peer;
use rmcp::model::{ProgressNotificationParam, ProgressToken};
use rmcp::service::RoleServer;

use parallel_llm_service::RunHandle;
use parallel_llm_service::report::cost::Cost;

/// The shortest time between two notifications: people read no faster.
const GAP: Duration = Duration::from_millis(500);
/// The longest silence after that, so that a notification comes every ten seconds even if everything is slow. Clients
/// with an idle timeout allow far more.
const SILENCE_MAX: Duration = Duration::from_secs(7);
/// The most models named as awaited; of the others the number is given.
const NAMES_MAX: usize = 3;
/// The share of the rest up to the next whole step that a notification without news adds, so that numbers rise for
/// ever.
const STEP_SHARE: f64 = 0.1;
/// The message until there is a run.
const BEGINNING: &str = "about to ask the panel";

/// The progress of one call.
pub(super) struct Progress {
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
    pub(super) async fn begin<T>(&mut self, beginning: impl Future<Output = T>) -> T {
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
            (done as f64, run.seats.len() as f64 + 1.0, line(run, age_ms))
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

/// One line such as `3 of 5 answered, waiting for grok-latest (429, retry in 4 s), 42 s, $0.03`, at this age of the
/// run.
pub(super) fn line(run: &Run, age_ms: u64) -> String {
    let mut parts = vec![format!("{} of {} answered", run.answered(), run.seats.len())];
    let mut by_task: Vec<(String, Vec<&SeatView>)> = Vec::new();
    for view in run.awaited() {
        let task = run.task(view.slot).map_or("waiting for".to_owned(), |task| format!("{task} with"));
        match by_task.last_mut().filter(|(last, _)| *last == task) {
            Some((_, views)) => views.push(view),
            None => by_task.push((task, vec![view])),
        }
    }
    parts.extend(by_task.into_iter().map(|(task, views)| format!("{task} {}", names(&views, age_ms))));
    parts.push(format!("{} s", age_ms / 1000));
    parts.extend(Cost::of(run).described_if_known());
    parts.join(", ")
}

fn names(views: &[&SeatView], age_ms: u64) -> String {
    let mut names: Vec<String> = views.iter().take(NAMES_MAX).map(|view| name(view, age_ms)).collect();
    if views.len() > NAMES_MAX {
        names.push(format!("{} more", views.len() - NAMES_MAX));
    }
    names.join(", ")
}

/// The last part of a model's name, with the retry it waits for.
fn name(view: &SeatView, age_ms: u64) -> String {
    let model = view.model.model.rsplit('/').next().unwrap_or_default();
    let Some((failure, retry_at_ms)) = view.failure.as_ref().zip(view.retry_at_ms) else {
        return model.to_owned();
    };
    let reason = failure.status.map_or_else(|| failure.code.to_string(), |status| status.to_string());
    match retry_at_ms.saturating_sub(age_ms).div_ceil(1000) {
        0 => format!("{model} ({reason}, retry due)"),
        seconds => format!("{model} ({reason}, retry in {seconds} s)"),
    }
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
