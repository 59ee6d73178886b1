//! How much text all runs of a process hold at once, from the first piece of a reply until its run is let go of.
//!
//! Over the bound only the oldest run under way goes on: the others send nothing, read nothing, so that their providers
//! wait at the socket, and put no answers together, until there is room. Nothing that was paid for is dropped for it, but
//! the time of a run goes on. So all of them hold the bound, one run more, and what was being read when it was reached.
//! What always holds: some run goes on. One that can only wait for others, because a provider has no place for its calls,
//! lets the next oldest go on beside it: whoever has that place may be waiting here.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::Notify;

/// The text of all runs together. It is in memory up to three times: while it comes, for whoever watches, and as it is
/// kept; later as an answer, in a prompt, and in a request. Usual answers are kilobytes, and a thousand runs of them
/// come nowhere near.
pub(crate) const TEXT_BYTES_MAX: usize = 128 * 1024 * 1024;

/// The room there is. Cloning shares it.
#[derive(Clone, Debug)]
pub(crate) struct TextBudget {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    bytes_max: usize,
    bytes: AtomicUsize,
    /// Runs up to this number go on however much is held.
    turn: AtomicU64,
    book: Mutex<Book>,
    changed: Notify,
}

#[derive(Debug, Default)]
struct Book {
    /// How many runs have begun.
    begun: u64,
    /// The runs under way, the oldest first.
    under_way: BTreeMap<u64, OpenCalls>,
}

/// The calls of a run, as far as they tell whether it gets on.
#[derive(Debug, Default)]
struct OpenCalls {
    /// Those whose replies are being read.
    reading: usize,
    /// Those that wait until they may be sent.
    waiting: usize,
}

impl OpenCalls {
    /// Whether nothing comes before somebody else has ended a call.
    const fn depend_on_others(&self) -> bool {
        self.reading == 0 && self.waiting > 0
    }
}

impl TextBudget {
    /// TextBudget for so much text.
    pub(crate) fn new(bytes_max: usize) -> Self {
        let shared = Shared {
            bytes_max,
            bytes: AtomicUsize::new(0),
            turn: AtomicU64::new(u64::MAX),
            book: Mutex::default(),
            changed: Notify::new(),
        };
        Self { shared: Arc::new(shared) }
    }

    /// Takes in a run that begins.
    pub(crate) fn enter(&self) -> Turn {
        let held = Arc::new(HeldText { budget: self.clone(), bytes: AtomicUsize::new(0) });
        let number = self.note(|book| {
            book.begun += 1;
            book.under_way.insert(book.begun, OpenCalls::default());
            book.begun
        });
        Turn { budget: self.clone(), number, held }
    }

    /// Changes the book and finds out whose turn it is now.
    fn note<T>(&self, change: impl FnOnce(&mut Book) -> T) -> T {
        let Shared { turn, book, changed, .. } = &*self.shared;
        let mut book = book.lock().unwrap_or_else(PoisonError::into_inner);
        let told = change(&mut book);
        let oldest = book.under_way.iter().find(|(_, calls)| !calls.depend_on_others());
        let now = oldest.map_or(u64::MAX, |(number, _)| *number);
        if turn.swap(now, Ordering::Relaxed) != now {
            changed.notify_waiters();
        }
        told
    }
}

/// A run under way among those that share the room. It leaves them when this is dropped.
#[derive(Debug)]
pub(crate) struct Turn {
    budget: TextBudget,
    number: u64,
    held: Arc<HeldText>,
}

impl Turn {
    /// What the run holds, which is given back by whoever lets go of it last.
    pub(crate) fn held(&self) -> Arc<HeldText> {
        Arc::clone(&self.held)
    }

    /// The run holds so much more text.
    pub(crate) fn add(&self, bytes: usize) {
        self.held.bytes.fetch_add(bytes, Ordering::Relaxed);
        self.budget.shared.bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Whether the run may go on: there is room, or it is its turn.
    pub(crate) fn may_proceed(&self) -> bool {
        let Shared { bytes, bytes_max, turn, .. } = &*self.budget.shared;
        bytes.load(Ordering::Relaxed) < *bytes_max || self.number <= turn.load(Ordering::Relaxed)
    }

    /// Returns when the run may go on.
    pub(crate) async fn comes(&self) {
        while !self.may_proceed() {
            // Made before the second look, so that no change between the two is missed.
            let changed = self.budget.shared.changed.notified();
            if !self.may_proceed() {
                changed.await;
            }
        }
    }

    /// A reply of the run is being read, as long as this is held.
    pub(crate) fn reading(&self) -> Noted<'_> {
        Noted::new(self, |calls| &mut calls.reading)
    }

    /// A call of the run waits until it may be sent, as long as this is held.
    pub(crate) fn waiting(&self) -> Noted<'_> {
        Noted::new(self, |calls| &mut calls.waiting)
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.budget.note(|book| book.under_way.remove(&self.number));
    }
}

/// One call of a run, counted while it reads or waits.
pub(crate) struct Noted<'a> {
    turn: &'a Turn,
    count: fn(&mut OpenCalls) -> &mut usize,
}

impl<'a> Noted<'a> {
    fn new(turn: &'a Turn, count: fn(&mut OpenCalls) -> &mut usize) -> Self {
        let noted = Self { turn, count };
        noted.change(|count| *count += 1);
        noted
    }

    fn change(&self, change: impl FnOnce(&mut usize)) {
        self.turn.budget.note(|book| {
            change((self.count)(book.under_way.entry(self.turn.number).or_default()));
        });
    }
}

impl Drop for Noted<'_> {
    fn drop(&mut self) {
        self.change(|count| *count -= 1);
    }
}

/// The text a run holds. It is given back when the last one who may still read it has let go of this.
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
    fn over_the_bound_the_oldest_run_goes_on_alone() {
        let budget = TextBudget::new(100);
        let (first, second, third) = (budget.enter(), budget.enter(), budget.enter());
        let who = || [&first, &second, &third].map(Turn::may_proceed);
        second.add(99);
        assert_eq!(who(), [true; 3]);
        second.add(1);
        assert_eq!(who(), [true, false, false]);
        first.add(1_000);
        assert_eq!(who(), [true, false, false], "one that needs more than all of it has it");
    }

    #[tokio::test]
    async fn a_turn_comes_when_older_runs_are_over_or_there_is_room() {
        let budget = TextBudget::new(100);
        let (first, second, third) = (budget.enter(), budget.enter(), budget.enter());
        first.add(100);
        let read = first.held();
        let (mut next, mut last) = (std::pin::pin!(second.comes()), std::pin::pin!(third.comes()));
        assert!((&mut next).now_or_never().is_none() && (&mut last).now_or_never().is_none());
        drop(first);
        assert!(next.now_or_never().is_some() && (&mut last).now_or_never().is_none());
        drop(read);
        assert!(last.now_or_never().is_some(), "nobody reads the first one any more");
        assert_eq!(budget.shared.bytes.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn who_can_only_wait_for_others_lets_the_next_go_on() {
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
