//! The text budget: a bound on the text all runs of a process hold at once.
//!
//! Above the bound only the oldest run proceeds. The others send nothing, read nothing (so that their providers wait at the
//! socket) and fuse nothing until text is released. Nothing that was paid for is dropped, but the clock of a waiting run
//! keeps running. So all runs together hold at most the bound, one run more, and the text that was being read when it was reached.
//! One run has a bound of its own: a text that goes beyond it is cut there, and what came before is kept.
//!
//! Invariant: some run proceeds. A run whose calls all wait for a connection lets the next oldest proceed as well, because
//! the run that holds the connection may be waiting here.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use parking_lot::Mutex;
use tokio::sync::Notify;

use crate::plan::caller_slot::CallerSlot;
use crate::value::answer::Failure;
use crate::value::code::Code;

/// The default bound in bytes. A text is in memory up to three times: in the reply, for watchers and in a checkpoint; later
/// as an answer, in a prompt and in a request. A thousand runs with usual answers of some kilobytes stay far below.
pub(crate) const TEXT_BYTES_MAX: usize = 128 * 1024 * 1024;

/// The default bound of one run in bytes: 64 answers of a million each, which is longer than any output cap, and half of what
/// all runs may hold, so that one run never keeps all others waiting. With its copies, such a run takes some 300 MB.
pub(crate) const RUN_BYTES_MAX: usize = 64 * 1024 * 1024;
/// What the synthesizer may write beyond it, since its call comes last: the longest answer that is read.
const SYNTHESIS_BYTES: usize = 8 * 1024 * 1024;

/// The budget of a process. Clones share it.
#[derive(Clone, Debug)]
pub(crate) struct TextBudget {
    shared: Arc<Shared>,
    run_bytes_max: usize,
}

#[derive(Debug)]
struct Shared {
    bytes_max: usize,
    bytes: AtomicUsize,
    /// Runs up to this number proceed however much text is held.
    turn: AtomicU64,
    register: Mutex<Register>,
    changed: Notify,
}

#[derive(Debug, Default)]
struct Register {
    /// How many runs have begun.
    begun: u64,
    /// The runs under way, oldest first.
    under_way: BTreeMap<u64, OpenCalls>,
}

/// The open calls of a run.
#[derive(Debug, Default)]
struct OpenCalls {
    /// Calls whose reply is being read.
    reading: usize,
    /// Calls that wait for admission.
    waiting: usize,
}

impl OpenCalls {
    /// Whether the run cannot proceed before another run ends a call.
    const fn depend_on_others(&self) -> bool {
        self.reading == 0 && self.waiting > 0
    }
}

impl TextBudget {
    /// A budget of `bytes_max` bytes.
    pub(crate) fn new(bytes_max: usize) -> Self {
        let shared = Shared {
            bytes_max,
            bytes: AtomicUsize::new(0),
            turn: AtomicU64::new(u64::MAX),
            register: Mutex::default(),
            changed: Notify::new(),
        };
        Self { shared: Arc::new(shared), run_bytes_max: RUN_BYTES_MAX }
    }

    /// The same budget with another bound of each run.
    pub(crate) fn with_run_bytes_max(self, run_bytes_max: usize) -> Self {
        Self { run_bytes_max, ..self }
    }

    /// Registers a run that begins.
    pub(crate) fn enter(&self) -> Turn {
        let held = Arc::new(HeldText { budget: self.clone(), bytes: AtomicUsize::new(0) });
        let number = self.update(|register| {
            register.begun += 1;
            register.under_way.insert(register.begun, OpenCalls::default());
            register.begun
        });
        Turn { budget: self.clone(), number, held }
    }

    /// Changes the register, then finds out whose turn it is.
    fn update<T>(&self, change: impl FnOnce(&mut Register) -> T) -> T {
        let Shared { turn, register, changed, .. } = &*self.shared;
        let mut register = register.lock();
        let result = change(&mut register);
        let oldest = register.under_way.iter().find(|(_, calls)| !calls.depend_on_others());
        let now = oldest.map_or(u64::MAX, |(number, _)| *number);
        if turn.swap(now, Ordering::Relaxed) != now {
            changed.notify_waiters();
        }
        result
    }
}

/// The place of a run in the queue for text. Dropping it leaves the queue.
#[derive(Debug)]
pub(crate) struct Turn {
    budget: TextBudget,
    number: u64,
    held: Arc<HeldText>,
}

impl Turn {
    /// The text the run holds. It is released when the last clone is dropped.
    pub(crate) fn held(&self) -> Arc<HeldText> {
        Arc::clone(&self.held)
    }

    /// Adds `bytes` to the text the run holds.
    pub(crate) fn add(&self, bytes: usize) {
        self.held.bytes.fetch_add(bytes, Ordering::Relaxed);
        self.budget.shared.bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    /// How many bytes of text this slot may add to the run.
    pub(crate) fn room(&self, slot: CallerSlot) -> usize {
        let beyond = if matches!(slot, CallerSlot::Synthesizer(_)) { SYNTHESIS_BYTES } else { 0 };
        let bytes_max = self.budget.run_bytes_max.saturating_add(beyond);
        bytes_max.saturating_sub(self.held.bytes.load(Ordering::Relaxed))
    }

    /// Why a text ends here, or a request is not sent: the run has no room for it.
    pub(crate) fn overflow(&self) -> Failure {
        let bytes_max = self.budget.run_bytes_max;
        Failure::new(
            Code::AnswerTooLarge,
            format!("the answers of this run together are longer than {bytes_max} bytes"),
        )
    }

    /// Whether the run may proceed: there is room, or it is its turn.
    pub(crate) fn may_proceed(&self) -> bool {
        let Shared { bytes, bytes_max, turn, .. } = &*self.budget.shared;
        bytes.load(Ordering::Relaxed) < *bytes_max || self.number <= turn.load(Ordering::Relaxed)
    }

    /// Waits until the run may proceed.
    pub(crate) async fn comes(&self) {
        while !self.may_proceed() {
            // Created before the second check, so that a change between check and wait is not missed.
            let changed = self.budget.shared.changed.notified();
            if !self.may_proceed() {
                changed.await;
            }
        }
    }

    /// Counts a reply of the run as being read, until the guard is dropped.
    pub(crate) fn reading(&self) -> CountedCall<'_> {
        CountedCall::new(self, |calls| &mut calls.reading)
    }

    /// Counts a call of the run as waiting for admission, until the guard is dropped.
    pub(crate) fn waiting(&self) -> CountedCall<'_> {
        CountedCall::new(self, |calls| &mut calls.waiting)
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.budget.update(|register| register.under_way.remove(&self.number));
    }
}

/// A guard that counts one call while it reads or waits.
pub(crate) struct CountedCall<'a> {
    turn: &'a Turn,
    count: fn(&mut OpenCalls) -> &mut usize,
}

impl<'a> CountedCall<'a> {
    fn new(turn: &'a Turn, count: fn(&mut OpenCalls) -> &mut usize) -> Self {
        let counted = Self { turn, count };
        counted.change(|count| *count += 1);
        counted
    }

    fn change(&self, change: impl FnOnce(&mut usize)) {
        self.turn.budget.update(|register| {
            change((self.count)(register.under_way.entry(self.turn.number).or_default()));
        });
    }
}

impl Drop for CountedCall<'_> {
    fn drop(&mut self) {
        self.change(|count| *count -= 1);
    }
}

/// The text a run holds. Dropping it releases the text.
#[derive(Debug)]
pub(crate) struct HeldText {
    budget: TextBudget,
    bytes: AtomicUsize,
}

impl Drop for HeldText {
    fn drop(&mut self) {
        let Shared { bytes, bytes_max, changed, .. } = &*self.budget.shared;
        let before = bytes.fetch_sub(*self.bytes.get_mut(), Ordering::Relaxed);
        if before >= *bytes_max {
            changed.notify_waiters();
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    #[test]
    fn over_the_limit_only_the_oldest_run_continues() {
        let budget = TextBudget::new(100);
        let (first, second, third) = (budget.enter(), budget.enter(), budget.enter());
        let who = || [&first, &second, &third].map(Turn::may_proceed);
        second.add(99);
        assert_eq!(who(), [true; 3]);
        second.add(1);
        assert_eq!(who(), [true, false, false]);
        first.add(1_000);
        assert_eq!(who(), [true, false, false], "the oldest run may exceed the limit");
    }

    #[tokio::test]
    async fn a_turn_comes_once_older_runs_end_or_space_is_free() {
        let budget = TextBudget::new(100);
        let (first, second, third) = (budget.enter(), budget.enter(), budget.enter());
        first.add(100);
        let read = first.held();
        let (mut next, mut last) = (std::pin::pin!(second.comes()), std::pin::pin!(third.comes()));
        assert!((&mut next).now_or_never().is_none() && (&mut last).now_or_never().is_none());
        drop(first);
        assert!(next.now_or_never().is_some() && (&mut last).now_or_never().is_none());
        drop(read);
        assert!(last.now_or_never().is_some(), "the first run has no more readers");
        assert_eq!(budget.shared.bytes.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn a_run_that_only_waits_lets_the_next_one_continue() {
        let budget = TextBudget::new(0);
        let (first, second, third) = (budget.enter(), budget.enter(), budget.enter());
        let who = || [&first, &second, &third].map(Turn::may_proceed);
        let waiting = first.waiting();
        assert_eq!(who(), [true, true, false]);
        let reading = first.reading();
        assert_eq!(who(), [true, false, false], "it has a reply to read meanwhile");
        drop(reading);
        let also_waiting = second.waiting();
        assert_eq!(who(), [true; 3]);
        drop((waiting, also_waiting));
        assert_eq!(who(), [true, false, false]);
    }
}
