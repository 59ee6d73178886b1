//! The log of one run: numbers events, makes them durable in order, then shows them.
//!
//! All that is staged is given to the journal in one append, so concurrent events share a commit. A journal that is a queue
//! gets the next append while the one before is under way: an answer that had to wait for its run's own last commit would be
//! overtaken by whatever other runs queue meanwhile. Invariants: an event is shown only after it is durable, in order, and
//! after a failed write nothing more is sent. A journal that panics or does not return has failed: its events are shown all
//! the same. Whoever waits for a commit may leave; nothing is lost by it.

use std::collections::VecDeque;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::{BoxFuture, Shared, ready};
use parking_lot::Mutex;
use tokio::sync::Mutex as AsyncMutex;
use tokio::task::coop::unconstrained;
use tokio::time::timeout;

use crate::call::deadline::Deadline;
use crate::call::hub::Hub;
use crate::plan::RunPlan;
use crate::plan::caller_slot::CallerSlot;
use crate::port::{Journal, Lease};
use crate::run::event::{Attempt, Event, EventPhase, Recorded};
use crate::value::answer::Failure;
use crate::value::code::Code;
use crate::value::money::PicoUsd;

/// The longest wait for one commit: twice that of our own store for the locks of other processes. Without a bound, a journal
/// that never returns would hold every caller of the run for ever.
const COMMIT_MAX: Duration = Duration::from_secs(120);

pub(crate) struct RunLog {
    journal: Arc<dyn Journal>,
    hub: Arc<Hub>,
    deadline: Deadline,
    lease: Lease,
    tail: Mutex<Tail>,
    writer: AsyncMutex<Writer>,
}

/// Events that are not yet durable: those that are staged, and those that the journal has.
struct Tail {
    next_seq: u64,
    staged: Vec<Recorded>,
    appends: VecDeque<Append>,
    /// Whether a write has failed, after which the journal gets nothing more.
    is_broken: bool,
}

/// Events that the journal has, and its answer.
struct Append {
    events: Vec<Recorded>,
    done: Shared<BoxFuture<'static, Result<(), Failure>>>,
}

struct Writer {
    durable_seq: u64,
    broken: Option<Failure>,
}

impl RunLog {
    pub(crate) fn new(journal: Arc<dyn Journal>, hub: Arc<Hub>, deadline: Deadline, lease: Lease) -> Self {
        let tail =
            Tail { next_seq: lease.next_seq, staged: Vec::new(), appends: VecDeque::new(), is_broken: false };
        let writer = AsyncMutex::new(Writer { durable_seq: lease.next_seq - 1, broken: None });
        Self { journal, hub, deadline, lease, tail: Mutex::new(tail), writer }
    }

    /// Stages an event for the next commit. Returns its number.
    pub(crate) fn stage(&self, event: Event) -> u64 {
        let mut tail = self.tail.lock();
        let seq = tail.next_seq;
        tail.next_seq += 1;
        tail.staged.push(Recorded { seq, elapsed_ms: self.deadline.elapsed_ms(), event });
        seq
    }

    /// Stages an event and waits until it and all before it are durable.
    pub(crate) async fn append(&self, event: Event) -> Result<(), Failure> {
        let seq = self.stage(event);
        self.commit_to(seq).await
    }

    /// Waits until every staged event is durable.
    pub(crate) async fn commit(&self) -> Result<(), Failure> {
        let seq = self.tail.lock().next_seq - 1;
        self.commit_to(seq).await
    }

    /// Whether a request whose `Sent` is durable may leave now.
    pub(crate) fn may_send(&self) -> bool {
        self.journal.may_send(self.lease)
    }

    /// Returns when another process has taken the run over, whose events watchers get from then on.
    pub(crate) async fn overtaken(&self) {
        self.journal.overtaken(self.lease).await;
    }

    /// Fails if the limits of the day do not allow one more request of this slot. Every staged event must be durable.
    pub(crate) fn check_day(
        &self,
        plan: &Arc<RunPlan>,
        slot: CallerSlot,
        worst_case: Option<PicoUsd>,
    ) -> BoxFuture<'static, Result<(), Failure>> {
        let (journal, plan) = (Arc::clone(&self.journal), Arc::clone(plan));
        answered(async move { journal.check_day(plan, slot, worst_case).await }).boxed()
    }

    /// Writes a checkpoint of a streaming reply.
    pub(crate) fn checkpoint(&self, attempt: Attempt, text: &str) -> BoxFuture<'static, Result<(), Failure>> {
        let (journal, lease, text) = (Arc::clone(&self.journal), self.lease, text.to_owned());
        answered(async move { journal.checkpoint(lease, attempt, text).await }).boxed()
    }

    /// Gives what is staged to the journal, unless that takes one append at a time and has one.
    fn give_staged(&self) {
        let mut tail = self.tail.lock();
        if tail.staged.is_empty() || !(tail.appends.is_empty() || self.journal.is_queue()) {
            return;
        }
        let events = std::mem::take(&mut tail.staged);
        let (journal, lease, given) = (Arc::clone(&self.journal), self.lease, events.clone());
        let append = answered(async move { journal.append(lease, given).await });
        let done = if tail.is_broken { ready(Ok(())).boxed() } else { append.boxed() }.shared();
        // Puts it into the journal's queue, in the order of the events: not later, because this task has had its turn.
        let _ = unconstrained(done.clone()).now_or_never();
        tail.appends.push_back(Append { events, done });
    }

    async fn commit_to(&self, seq: u64) -> Result<(), Failure> {
        self.give_staged();
        let mut writer = self.writer.lock().await;
        while writer.durable_seq < seq {
            self.give_staged();
            let first = self.tail.lock().appends.front().map(|append| append.done.clone());
            let Some(done) = first else { break };
            let done = done.await;
            // Taken only now, so that nothing is lost if this is dropped before.
            let mut batch = {
                let mut tail = self.tail.lock();
                tail.is_broken |= done.is_err();
                tail.appends.pop_front().map(|append| append.events).unwrap_or_default()
            };
            writer.durable_seq = batch.last().map_or(writer.durable_seq, |last| last.seq);
            if writer.broken.is_none() {
                writer.broken = done.err();
            }
            if writer.broken.is_some() {
                // A request is not sent unless its `Sent` is durable, so these did not happen.
                batch.retain(|recorded| recorded.event.phase() != EventPhase::Leaves);
            }
            if self.journal.overtaken(self.lease).now_or_never().is_some() {
                self.hub.hand_over();
            }
            // A journal that panics here has no notice. Its events are durable, and must be shown.
            let notice =
                std::panic::catch_unwind(AssertUnwindSafe(|| self.journal.notice(self.lease.run_id)));
            if let Ok(Some(notice)) = notice {
                self.hub.warn(notice);
            }
            // Watchers see the events even after a failed write. The failure goes to callers that want to send, and into the
            // report.
            self.hub.record(batch, writer.broken.as_ref());
        }
        writer.broken.clone().map_or(Ok(()), Err)
    }
}

/// What the journal comes to. It may be code of the library's user.
async fn answered<T>(asked: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
    match timeout(COMMIT_MAX, AssertUnwindSafe(asked).catch_unwind()).await {
        Ok(Ok(done)) => done,
        Ok(Err(_)) => Err(Failure::new(Code::Storage, "a defect stopped the journal")),
        Err(_) => {
            let message = format!("the journal did not return within {} s", COMMIT_MAX.as_secs());
            Err(Failure::new(Code::Storage, message))
        }
    }
}
