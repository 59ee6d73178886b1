//! Limits how many calls run at once, per provider key and in the whole process.
//!
//! Invariants: a call that waits for a key holds no slot of the process, so a busy provider does not block the others;
//! a free slot goes to the oldest waiting run, so that newer runs do not delay a nearly finished one; a slot is
//! given back when its [`CallSlot`] is dropped, however the call ended.

use std::collections::BTreeMap;
use std::sync::Arc;

use parallel_llm_engine::{ProviderId, RunId};
use parking_lot::{Mutex, MutexGuard};
use tokio::sync::oneshot;

/// The permission to run one call. Given back on drop.
#[derive(Debug)]
pub(crate) struct CallSlot {
    _key: Slot,
    _process: Slot,
}

/// All slots.
#[derive(Debug)]
pub(crate) struct ConcurrencyLimits {
    keys: BTreeMap<ProviderId, Arc<SlotPool>>,
    process: Arc<SlotPool>,
}

impl ConcurrencyLimits {
    /// Slots for each provider's key, and for all of them together.
    pub(crate) fn new(keys: impl IntoIterator<Item = (ProviderId, usize)>, calls_max: usize) -> Self {
        let keys = keys.into_iter().map(|(id, calls_max)| (id, SlotPool::new(calls_max))).collect();
        Self { keys, process: SlotPool::new(calls_max) }
    }

    /// Waits for a slot for a call of this run. `None` if the provider is not configured.
    pub(crate) async fn acquire(&self, run_id: RunId, provider: &ProviderId) -> Option<CallSlot> {
        let key = self.keys.get(provider)?.take(run_id).await;
        let process = self.process.take(run_id).await;
        Some(CallSlot { _key: key, _process: process })
    }
}

/// Slots of one kind.
#[derive(Debug)]
struct SlotPool {
    queue: Mutex<SlotQueue>,
}

#[derive(Debug)]
struct SlotQueue {
    free: usize,
    /// How many calls have waited.
    tickets: u64,
    /// The waiting calls: the oldest run first, and within a run in order.
    waiting: BTreeMap<(RunId, u64), oneshot::Sender<Slot>>,
}

impl SlotPool {
    /// At least one slot: with zero every call would wait for ever.
    fn new(count: usize) -> Arc<Self> {
        let queue = SlotQueue { free: count.max(1), tickets: 0, waiting: BTreeMap::new() };
        Arc::new(Self { queue: Mutex::new(queue) })
    }

    async fn take(self: &Arc<Self>, run_id: RunId) -> Slot {
        let (mut entry, slot) = {
            let mut queue = self.lock();
            // Nobody waits while there is a free slot.
            if queue.free > 0 {
                queue.free -= 1;
                return Slot { pool: Arc::clone(self) };
            }
            queue.tickets += 1;
            let name = (run_id, queue.tickets);
            let (sender, slot) = oneshot::channel();
            queue.waiting.insert(name, sender);
            (QueueEntry { pool: self, name: Some(name) }, slot)
        };
        let slot = slot.await.expect("who waits is served, or leaves by itself");
        entry.name = None;
        slot
    }

    fn lock(&self) -> MutexGuard<'_, SlotQueue> {
        self.queue.lock()
    }
}

/// One slot.
#[derive(Debug)]
struct Slot {
    pool: Arc<SlotPool>,
}

impl Drop for Slot {
    fn drop(&mut self) {
        let mut queue = self.pool.lock();
        match queue.waiting.pop_first() {
            None => queue.free += 1,
            Some((_, next)) => {
                drop(queue);
                // If the next one has left, the slot is returned here and dropped again, which passes it on.
                drop(next.send(Slot { pool: Arc::clone(&self.pool) }));
            }
        }
    }
}

/// Removes a call that stops waiting from the queue.
struct QueueEntry<'a> {
    pool: &'a SlotPool,
    name: Option<(RunId, u64)>,
}

impl Drop for QueueEntry<'_> {
    fn drop(&mut self) {
        if let Some(name) = self.name {
            self.pool.lock().waiting.remove(&name);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::FutureExt;

    fn id(name: &str) -> ProviderId {
        ProviderId(name.to_owned())
    }

    fn run(number: u128) -> RunId {
        RunId::from_parts(1_700_000_000_000, number)
    }

    #[test]
    fn a_key_has_its_bound_and_the_process_has_one_for_all() {
        let limits = ConcurrencyLimits::new([(id("a"), 1), (id("b"), 5)], 2);
        let slot = |name| limits.acquire(run(1), &id(name)).now_or_never();
        let first = slot("a").unwrap();
        assert!(slot("a").is_none(), "the key's only place is taken");
        let second = slot("b").unwrap();
        assert!(slot("b").is_none(), "the process has two");
        drop(first);
        assert!(slot("a").is_some());
        drop(second);
        assert!(slot("c").unwrap().is_none(), "nobody knows this provider");
    }

    #[tokio::test]
    async fn a_free_slot_goes_to_the_oldest_waiting_run() {
        let limits = ConcurrencyLimits::new([(id("a"), 1)], 9);
        let a = id("a");
        let first = limits.acquire(run(5), &a).await;
        let (limits, a, order) = (&limits, &a, &Mutex::new(Vec::new()));
        let calls = [(3, "x"), (2, "x"), (4, "x"), (2, "y")].map(|(number, call)| async move {
            let _slot = limits.acquire(run(number), a).await;
            order.lock().push((number, call));
        });
        let mut all = std::pin::pin!(futures_util::future::join_all(calls));
        assert!((&mut all).now_or_never().is_none());
        drop(first);
        all.await;
        assert_eq!(*order.lock(), [(2, "x"), (2, "y"), (3, "x"), (4, "x")]);
    }

    #[tokio::test]
    async fn a_call_that_stops_waiting_takes_no_slot() {
        let limits = ConcurrencyLimits::new([(id("a"), 1)], 9);
        let a = id("a");
        let first = limits.acquire(run(1), &a).await;
        let mut abandoned = Box::pin(limits.acquire(run(2), &a));
        let mut served = Box::pin(limits.acquire(run(3), &a));
        assert!(abandoned.as_mut().now_or_never().is_none() && served.as_mut().now_or_never().is_none());
        // The first has been given the slot and is dropped before it has seen it.
        drop(first);
        drop(abandoned);
        let slot = served.await;
        assert!(limits.acquire(run(4), &a).now_or_never().is_none(), "it is taken");
        drop(slot);
        assert!(limits.acquire(run(4), &a).now_or_never().is_some());
    }
}
