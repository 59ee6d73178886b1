//! Limits how many calls run at once, per provider key and in the whole process, and shares them fairly.
//!
//! A free slot goes to a question that somebody waits for before it goes to a line of a batch; among those that wait, to
//! the principal with the fewest slots; and of its runs, to the oldest, so that newer runs do not delay a nearly finished
//! one. Batches leave a quarter of the slots to others, who therefore find one at once, and get one of eight slots that
//! become free however many others wait.
//!
//! Invariants: a call that waits for a key holds no slot of the process, so a busy provider does not block the others; a
//! slot is given back when its [`CallSlot`] is dropped, however the call ended.

use std::collections::BTreeMap;
use std::sync::Arc;

use parallel_llm_engine::{ProviderId, RunId};
use parking_lot::{Mutex, MutexGuard};
use tokio::sync::oneshot;

/// Of so many slots that become free, one goes to a batch if one waits.
const BATCH_TURN: u64 = 8;

/// Whose share of the slots a call counts for.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Share {
    /// Whether it is a line of a batch.
    pub(crate) is_batch: bool,
    /// The principal; `None` for the owner.
    pub(crate) asked_by: Option<Arc<str>>,
}

/// A call that wants a slot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SlotRequest {
    pub(crate) run_id: RunId,
    pub(crate) share: Share,
}

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

    /// Waits for a slot for a call. `None` if the provider is not configured.
    pub(crate) async fn acquire(&self, request: &SlotRequest, provider: &ProviderId) -> Option<CallSlot> {
        let key = self.keys.get(provider)?.take(request).await;
        let process = self.process.take(request).await;
        Some(CallSlot { _key: key, _process: process })
    }
}

/// Slots of one kind.
#[derive(Debug)]
struct SlotPool {
    queue: Mutex<SlotQueue>,
}

/// The waiting calls of a share: the oldest run first, and within a run in order.
type ShareQueue = BTreeMap<(RunId, u64), oneshot::Sender<Slot>>;

#[derive(Debug)]
struct SlotQueue {
    free: usize,
    /// The most slots of batches.
    of_batches_max: usize,
    of_batches: usize,
    /// How many calls have waited.
    tickets: u64,
    /// How many slots were given to calls that waited.
    turns: u64,
    /// The slots in use, by share.
    held: BTreeMap<Share, usize>,
    /// Without empty ones.
    waiting: BTreeMap<Share, ShareQueue>,
}

impl SlotPool {
    /// At least one slot: with zero every call would wait for ever.
    fn new(count: usize) -> Arc<Self> {
        let count = count.max(1);
        let queue = SlotQueue {
            free: count,
            of_batches_max: (count - count / 4).max(1),
            of_batches: 0,
            tickets: 0,
            turns: 0,
            held: BTreeMap::new(),
            waiting: BTreeMap::new(),
        };
        Arc::new(Self { queue: Mutex::new(queue) })
    }

    async fn take(self: &Arc<Self>, request: &SlotRequest) -> Slot {
        let share = &request.share;
        let (mut entry, slot) = {
            let mut queue = self.lock();
            // Nobody waits while there is a free slot, but for the part that batches leave to others.
            if queue.free > 0 && queue.may_have(share) {
                queue.give(share);
                return Slot { pool: Arc::clone(self), share: share.clone() };
            }
            queue.tickets += 1;
            let name = (request.run_id, queue.tickets);
            let (sender, slot) = oneshot::channel();
            queue.waiting.entry(share.clone()).or_default().insert(name, sender);
            (QueueEntry { pool: self, share, name: Some(name) }, slot)
        };
        let slot = slot.await.expect("who waits is served, or leaves by itself");
        entry.name = None;
        slot
    }

    fn lock(&self) -> MutexGuard<'_, SlotQueue> {
        self.queue.lock()
    }
}

impl SlotQueue {
    const fn may_have(&self, share: &Share) -> bool {
        !share.is_batch || self.of_batches < self.of_batches_max
    }

    fn give(&mut self, share: &Share) {
        self.free -= 1;
        self.of_batches += usize::from(share.is_batch);
        match self.held.get_mut(share) {
            Some(count) => *count += 1,
            None => drop(self.held.insert(share.clone(), 1)),
        }
    }

    fn take_back(&mut self, share: &Share) {
        self.free += 1;
        self.of_batches -= usize::from(share.is_batch);
        if let Some(count) = self.held.get_mut(share) {
            *count -= 1;
            if *count == 0 {
                self.held.remove(share);
            }
        }
    }

    /// Gives a free slot to the call whose turn it is.
    fn serve_next(&mut self) -> Option<(Share, oneshot::Sender<Slot>)> {
        if self.free == 0 {
            return None;
        }
        let next = |is_batch: bool| {
            let shares = self.waiting.iter().filter(|(share, _)| share.is_batch == is_batch);
            let by_need = |(share, waiting): &(&Share, &ShareQueue)| {
                (self.held.get(*share).copied().unwrap_or_default(), waiting.keys().next().copied())
            };
            shares.min_by_key(by_need).map(|(share, _)| share.clone())
        };
        let of_batch = || next(true).filter(|share| self.may_have(share));
        let is_turn_of_batches = self.turns % BATCH_TURN == BATCH_TURN - 1;
        let share = if is_turn_of_batches {
            of_batch().or_else(|| next(false))
        } else {
            next(false).or_else(of_batch)
        }?;
        let waiting = self.waiting.get_mut(&share)?;
        let (_, sender) = waiting.pop_first()?;
        if waiting.is_empty() {
            self.waiting.remove(&share);
        }
        self.turns += 1;
        self.give(&share);
        Some((share, sender))
    }
}

/// One slot.
#[derive(Debug)]
struct Slot {
    pool: Arc<SlotPool>,
    share: Share,
}

impl Drop for Slot {
    fn drop(&mut self) {
        let mut queue = self.pool.lock();
        queue.take_back(&self.share);
        let next = queue.serve_next();
        drop(queue);
        if let Some((share, next)) = next {
            // If the next one has left, the slot is returned here and dropped again, which passes it on.
            drop(next.send(Slot { pool: Arc::clone(&self.pool), share }));
        }
    }
}

/// Removes a call that stops waiting from the queue.
struct QueueEntry<'a> {
    pool: &'a SlotPool,
    share: &'a Share,
    name: Option<(RunId, u64)>,
}

impl Drop for QueueEntry<'_> {
    fn drop(&mut self) {
        let Some(name) = self.name else { return };
        let mut queue = self.pool.lock();
        if let Some(waiting) = queue.waiting.get_mut(self.share) {
            waiting.remove(&name);
            if waiting.is_empty() {
                queue.waiting.remove(self.share);
            }
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

    fn run(number: u128) -> SlotRequest {
        SlotRequest { run_id: RunId::from_parts(1_700_000_000_000, number), share: Share::default() }
    }

    /// A call named by its run: in lower case of a batch, with the principal in front of a point.
    fn request(name: &str) -> SlotRequest {
        let (asked_by, run) = name.split_once('.').unwrap_or(("", name));
        let is_batch = run.chars().all(|letter| letter.is_ascii_lowercase());
        let asked_by = (!asked_by.is_empty()).then(|| Arc::from(asked_by));
        let number = u128::from(run.to_ascii_lowercase().as_bytes()[0]);
        SlotRequest { share: Share { is_batch, asked_by }, ..self::run(number) }
    }

    /// The order in which these calls get their slots, with so many slots, of which these hold the first.
    #[track_caller]
    fn check(count: usize, holding: &[&str], waiting: &[&str], expected: &[&str]) {
        let limits = ConcurrencyLimits::new([(id("p"), count)], 1_000);
        let provider = id("p");
        let slot = |name: &str| limits.acquire(&request(name), &provider).now_or_never().flatten();
        let mut held: Vec<CallSlot> = holding.iter().map(|name| slot(name).expect("it is free")).collect();
        let (limits, provider, order) = (&limits, &provider, &Mutex::new(Vec::new()));
        let requests: Vec<(SlotRequest, &str)> = waiting.iter().map(|name| (request(name), *name)).collect();
        let mut calls: Vec<_> = requests
            .iter()
            .map(|(request, name)| {
                Box::pin(async move {
                    let slot = limits.acquire(request, provider).await;
                    order.lock().push(*name);
                    slot
                })
            })
            .collect();
        // Each that is served gives its slot back at once, the first holders one after the other.
        loop {
            let mut is_idle = true;
            calls.retain_mut(|call| {
                let served = call.as_mut().now_or_never();
                is_idle &= served.is_none();
                served.is_none()
            });
            if is_idle && held.pop().is_none() {
                break;
            }
        }
        assert_eq!(*order.lock(), expected);
    }

    #[test]
    fn whoever_is_waited_for_comes_before_batches_which_have_one_turn_of_eight() {
        check(1, &["Z"], &["a", "b", "C", "D"], &["C", "D", "a", "b"]);
        let many = ["a", "b", "C", "D", "E", "F", "G", "H", "I", "J"];
        check(1, &["Z"], &many, &["C", "D", "E", "F", "G", "H", "I", "a", "J", "b"]);
    }

    #[test]
    fn batches_leave_a_quarter_of_the_slots_to_others() {
        let limits = ConcurrencyLimits::new([(id("p"), 8)], 1_000);
        let provider = id("p");
        let slot = |name: &str| limits.acquire(&request(name), &provider).now_or_never();
        let of_batch: Vec<_> = (0..8).map(|_| slot("a")).collect();
        assert_eq!(of_batch.iter().filter(|slot| slot.is_some()).count(), 6);
        let others: Vec<_> = (0..3).map(|_| slot("B")).collect();
        assert_eq!(others.iter().filter(|slot| slot.is_some()).count(), 2);
        drop(others);
        assert!(slot("a").is_none(), "what others give back is not for batches");
        drop(of_batch);
        assert!(slot("a").is_some());
        let one = ConcurrencyLimits::new([(id("p"), 1)], 1_000);
        assert!(one.acquire(&request("a"), &provider).now_or_never().is_some());
    }

    #[test]
    fn a_principal_with_many_calls_does_not_keep_the_others_waiting() {
        let waiting = ["x.A", "x.B", "x.C", "y.D", "z.E", "F"];
        // The first slot goes to one that has none.
        check(2, &["x.Z", "x.Y"], &waiting, &["y.D", "z.E", "F", "x.A", "x.B", "x.C"]);
        check(1, &["y.Z"], &waiting, &["x.A", "x.B", "x.C", "y.D", "z.E", "F"]);
        check(1, &["z.z"], &["x.a", "x.b", "y.c"], &["x.a", "x.b", "y.c"]);
    }

    #[test]
    fn a_key_has_its_bound_and_the_process_has_one_for_all() {
        let limits = ConcurrencyLimits::new([(id("a"), 1), (id("b"), 5)], 2);
        let slot = |name| {
            let (run, id) = (run(1), id(name));
            limits.acquire(&run, &id).now_or_never()
        };
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
        let first = limits.acquire(&run(5), &a).await;
        let (limits, a, order) = (&limits, &a, &Mutex::new(Vec::new()));
        let calls = [(3, "x"), (2, "x"), (4, "x"), (2, "y")].map(|(number, call)| async move {
            let _slot = limits.acquire(&run(number), a).await;
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
        let [one, two, three, four] = [1, 2, 3, 4].map(run);
        let first = limits.acquire(&one, &a).await;
        let mut abandoned = Box::pin(limits.acquire(&two, &a));
        let mut served = Box::pin(limits.acquire(&three, &a));
        assert!(abandoned.as_mut().now_or_never().is_none() && served.as_mut().now_or_never().is_none());
        // The first has been given the slot and is dropped before it has seen it.
        drop(first);
        drop(abandoned);
        let slot = served.await;
        assert!(limits.acquire(&four, &a).now_or_never().is_none(), "it is taken");
        drop(slot);
        assert!(limits.acquire(&four, &a).now_or_never().is_some());
    }
}
