//! The pen of one run: numbers events, makes them durable in order and then shows them.
//!
//! Whoever holds the pen writes what everyone has staged, so appends that meet become one commit. What always
//! holds: an event is shown only after it is durable, and once writing has failed nothing more is sent.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_util::future::BoxFuture;
use tokio::sync::Mutex as AsyncMutex;

use crate::call::deadline::Deadline;
use crate::call::hub::Hub;
use crate::plan::RunPlan;
use crate::plan::caller_slot::CallerSlot;
use crate::port::{Journal, Lease};
use crate::run::event::{Attempt, Event, Recorded};
use crate::value::answer::Failure;

pub(crate) struct RunLog {
    journal: Arc<dyn Journal>,
    hub: Arc<Hub>,
    deadline: Deadline,
    lease: Lease,
    tail: Mutex<Tail>,
    pen: AsyncMutex<Pen>,
}

/// Events that have happened and are not yet durable.
struct Tail {
    next_seq: u64,
    staged: Vec<Recorded>,
}

struct Pen {
    durable_seq: u64,
    broken: Option<Failure>,
}

impl RunLog {
    pub(crate) fn new(journal: Arc<dyn Journal>, hub: Arc<Hub>, deadline: Deadline, lease: Lease) -> Self {
        let tail = Mutex::new(Tail { next_seq: lease.next_seq, staged: Vec::new() });
        let pen = AsyncMutex::new(Pen { durable_seq: lease.next_seq - 1, broken: None });
        Self { journal, hub, deadline, lease, tail, pen }
    }

    /// Notes an event that the next commit takes along.
    pub(crate) fn stage(&self, event: Event) -> u64 {
        let mut tail = self.tail();
        let seq = tail.next_seq;
        tail.next_seq += 1;
        tail.staged.push(Recorded { seq, elapsed_ms: self.deadline.elapsed_ms(), event });
        seq
    }

    /// Notes an event and returns when it and all before it are durable.
    pub(crate) async fn append(&self, event: Event) -> Result<(), Failure> {
        let seq = self.stage(event);
        self.commit_to(seq).await
    }

    /// Returns when everything noted so far is durable.
    pub(crate) async fn commit(&self) -> Result<(), Failure> {
        let seq = self.tail().next_seq - 1;
        self.commit_to(seq).await
    }

    /// Whether the day's limits of the run hold one more request of this place, now that everything noted is durable.
    pub(crate) fn check_day(
        &self,
        plan: &Arc<RunPlan>,
        slot: CallerSlot,
    ) -> BoxFuture<'static, Result<(), Failure>> {
        self.journal.check_day(Arc::clone(plan), slot)
    }

    /// Keeps the text of a reply on its way.
    pub(crate) fn checkpoint(&self, attempt: Attempt, text: &str) -> BoxFuture<'static, Result<(), Failure>> {
        self.journal.checkpoint(self.lease, attempt, text.to_owned())
    }

    async fn commit_to(&self, seq: u64) -> Result<(), Failure> {
        let mut pen = self.pen.lock().await;
        if pen.durable_seq < seq {
            let mut batch = std::mem::take(&mut self.tail().staged);
            pen.durable_seq = batch.last().map_or(pen.durable_seq, |last| last.seq);
            if pen.broken.is_none() {
                pen.broken = self.journal.append(self.lease, batch.clone()).await.err();
            }
            if pen.broken.is_some() {
                // Nobody sends on a `Sent` that is not durable, so it did not happen.
                batch.retain(|recorded| !recorded.event.lets_bytes_leave());
            }
            if let Some(notice) = self.journal.notice(self.lease.run_id) {
                self.hub.warn(notice);
            }
            // After a failed write the run still tells its watchers what it has; the failure goes to whoever
            // wanted to send more, and into the report.
            self.hub.record(batch, pen.broken.as_ref());
        }
        pen.broken.clone().map_or(Ok(()), Err)
    }

    fn tail(&self) -> MutexGuard<'_, Tail> {
        self.tail.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
