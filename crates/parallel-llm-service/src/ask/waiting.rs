//! Waiting for a paid answer: early answers, and callers that leave.
//!
//! Most clients count their timeout from the call, so an answer must come before they give up: the caller then gets
//! what is there, and the run goes on. Invariants: a caller that leaves gives up only its own interest; a server
//! that stops ends calls, and that ends no run.

use std::time::Duration;

use parallel_llm_engine::{Code, Failure};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::report::Report;
use crate::runs::RunHandle;

/// The assumed timeout of an unknown client: the shortest default in wide use.
pub const CLIENT_TIMEOUT_UNKNOWN: Duration = Duration::from_secs(60);
/// The share of a time limit that is used, in percent. The rest is for the way back, and for clients that start
/// counting earlier.
const SOFT_PERCENT: u32 = 85;

/// The latest time to answer within this limit.
fn soft(limit: Duration) -> Duration {
    limit * SOFT_PERCENT / 100
}

/// The shutdown of a server. Clones share it.
#[derive(Clone, Debug)]
pub struct Shutdown {
    /// Set when the server must stop: it takes nothing new, and answers open calls in time.
    pub stop: CancellationToken,
    /// Set when it has stopped: streams end.
    pub end: CancellationToken,
    /// The longest wait of open calls after `stop`.
    soft: Duration,
}

impl Shutdown {
    /// A shutdown that leaves open calls this long.
    pub fn new(drain: Duration) -> Self {
        Self::on(CancellationToken::new(), drain)
    }

    /// The same with a given `stop`.
    pub fn on(stop: CancellationToken, drain: Duration) -> Self {
        Self { stop, end: CancellationToken::new(), soft: soft(drain) }
    }

    /// Returns when open calls must be answered with what is there.
    async fn is_due(&self) {
        self.stop.cancelled().await;
        tokio::time::sleep(self.soft).await;
    }
}

/// A waiting call.
#[derive(Clone, Debug)]
pub struct Waiting {
    begun: Instant,
    client_timeout: Option<Duration>,
    shutdown: Shutdown,
}

impl Waiting {
    /// A call that begins now, of a client with this timeout; `None` for a client without one.
    pub fn new(client_timeout: Option<Duration>, shutdown: Shutdown) -> Self {
        Self { begun: Instant::now(), client_timeout, shutdown }
    }

    /// Waits for the answer of a run begun for this call, or returns what is there when the call is due. A caller that
    /// leaves gives the run up.
    pub async fn paid_answer(&self, handle: &RunHandle, left: &CancellationToken) -> Result<Report, Failure> {
        let answer = self.answer(handle, None, left).await;
        if answer.is_err() {
            handle.cancel();
        }
        answer
    }

    /// The same for a door that drops this future when its client leaves.
    pub async fn paid_answer_or_drop(&self, handle: &RunHandle) -> Report {
        let leaving = self.leaving(handle);
        let report = tokio::select! {
            biased;
            report = handle.wait(None) => report,
            () = self.is_due(None) => handle.wait(Some(Instant::now())).await,
        };
        leaving.answered();
        report
    }

    /// When something must have been sent to the client, if it gives up on a silent call.
    pub fn answer_by(&self) -> Option<Instant> {
        self.begun.checked_add(soft(self.client_timeout?))
    }

    /// Gives the run up if it is dropped before its caller is answered.
    pub fn leaving(&self, handle: &RunHandle) -> Leaving {
        Leaving { handle: handle.clone(), shutdown: self.shutdown.clone(), is_answered: false }
    }

    /// Returns when the call must be answered with what is there.
    pub async fn due(&self) {
        self.is_due(None).await;
    }

    /// Waits for a run's answer, at most `wait_max`, and returns what is there when the call is due; the run goes on
    /// either way. Fails if the client has left.
    pub async fn answer(
        &self,
        handle: &RunHandle,
        wait_max: Option<Duration>,
        left: &CancellationToken,
    ) -> Result<Report, Failure> {
        tokio::select! {
            biased;
            () = self.has_left(left) => Err(taken_back()),
            report = handle.wait(None) => Ok(report),
            () = self.is_due(wait_max) => Ok(handle.wait(Some(Instant::now())).await),
        }
    }

    /// Waits for a user's decision. Fails with `undecided` when the time is up, or if the client has left.
    pub async fn decision<T>(
        &self,
        deciding: impl Future<Output = T>,
        left: &CancellationToken,
        undecided: impl FnOnce() -> Failure,
    ) -> Result<T, Failure> {
        tokio::select! {
            decided = deciding => Ok(decided),
            () = self.has_left(left) => Err(taken_back()),
            () = self.is_due(Some(super::approvals::DECISION_MAX)) => Err(undecided()),
        }
    }

    /// Whether the client cancelled the call, as opposed to a server that stops.
    pub fn is_left(&self, left: &CancellationToken) -> bool {
        left.is_cancelled() && !self.shutdown.stop.is_cancelled()
    }

    /// Returns when the client has left. A stopping server cancels calls too, but that must not end a run.
    async fn has_left(&self, left: &CancellationToken) {
        left.cancelled().await;
        if !self.is_left(left) {
            std::future::pending::<()>().await;
        }
    }

    /// Returns when the caller must be answered.
    async fn is_due(&self, wait_max: Option<Duration>) {
        let waits = [self.client_timeout.map(soft), wait_max].into_iter().flatten().min();
        let waited = async {
            match waits.and_then(|wait| self.begun.checked_add(wait)) {
                Some(end) => tokio::time::sleep_until(end).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = self.shutdown.is_due() => {}
            () = waited => {}
        }
    }
}

/// A caller that may leave before it is answered: dropped, it gives the run up, unless the server stops.
pub struct Leaving {
    handle: RunHandle,
    shutdown: Shutdown,
    is_answered: bool,
}

impl Leaving {
    /// The caller was answered.
    pub fn answered(mut self) {
        self.is_answered = true;
    }
}

impl Drop for Leaving {
    fn drop(&mut self) {
        if !self.is_answered && !self.shutdown.stop.is_cancelled() {
            self.handle.cancel();
        }
    }
}

fn taken_back() -> Failure {
    Failure::new(Code::Cancelled, "the client took its call back")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_call_is_answered_before_its_client_times_out_and_before_the_server_ends() {
        let due_after = async |client_s: Option<u64>, requested_s: Option<u64>, stop_s: Option<u64>| {
            let shutdown = Shutdown::new(Duration::from_secs(20));
            let waiting = Waiting::new(client_s.map(Duration::from_secs), shutdown.clone());
            let begun = Instant::now();
            let stopping = async {
                match stop_s {
                    Some(seconds) => tokio::time::sleep(Duration::from_secs(seconds)).await,
                    None => std::future::pending().await,
                }
                shutdown.stop.cancel();
                std::future::pending::<()>().await;
            };
            let given_up = Duration::from_secs(3_600);
            tokio::select! {
                () = waiting.is_due(requested_s.map(Duration::from_secs)) => Some(begun.elapsed().as_secs()),
                () = stopping => None,
                () = tokio::time::sleep(given_up) => None,
            }
        };
        assert_eq!(due_after(Some(60), None, None).await, Some(51));
        assert_eq!(due_after(Some(60), Some(5), None).await, Some(5));
        assert_eq!(due_after(Some(60), Some(500), None).await, Some(51));
        assert_eq!(due_after(None, None, Some(10)).await, Some(27));
        assert_eq!(due_after(None, None, None).await, None);
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_leaves_is_not_a_server_that_stops() {
        let has_left = async |stops: bool| {
            let shutdown = Shutdown::new(Duration::from_secs(20));
            let (waiting, left) = (Waiting::new(None, shutdown.clone()), CancellationToken::new());
            if stops {
                shutdown.stop.cancel();
            }
            left.cancel();
            tokio::time::timeout(Duration::from_secs(1), waiting.has_left(&left)).await.is_ok()
        };
        assert!(has_left(false).await);
        assert!(!has_left(true).await, "a server that stops ends its calls by the same token");
    }
}
