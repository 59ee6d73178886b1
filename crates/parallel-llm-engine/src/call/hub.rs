//! The hub of a run: its current state, and a broadcast of events and streaming text to watchers.
//!
//! There are two lanes. Events are few and durable before they arrive here; pieces of text are many and only for display.
//! Watching is bounded: a watcher that lags gets a snapshot instead of what it missed, and never slows the run.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;
use tokio::sync::{broadcast, watch};
use tokio::time::Instant;

use crate::call::text_budget::HeldText;
use crate::plan::RunPlan;
use crate::plan::caller_slot::CallerSlot;
use crate::run::event::Recorded;
use crate::run::{Run, SeatStatus, SeatView};
use crate::value::answer::Failure;
use crate::value::warning::Warning;

/// The most updates of one lane a watcher may lag behind before it gets a snapshot: some seconds of five streams.
const LAG_MAX: usize = 256;

/// An update for watchers.
#[derive(Clone, Debug)]
pub enum Update {
    /// A durable event.
    Event(Arc<Recorded>),
    /// A call has begun to reason or write.
    Begun(CallerSlot),
    /// A piece of streaming text.
    Text {
        /// The slot that writes it.
        slot: CallerSlot,
        /// The byte of the text at which the piece begins.
        offset: usize,
        /// The piece.
        text: Arc<str>,
    },
    /// The current run, because the watcher missed updates.
    Snapshot(Box<Run>),
}

impl Update {
    /// Brings a watcher's copy of the run up to date.
    pub fn apply_to(self, run: &mut Run) {
        match self {
            Self::Event(recorded) => run.apply(&recorded),
            Self::Snapshot(newer) => *run = *newer,
            Self::Begun(slot) => {
                if let Some(seat) = run.view_mut(slot).filter(|seat| !seat.status.is_final()) {
                    seat.status = SeatStatus::Streaming;
                }
            }
            Self::Text { slot, offset, text } => {
                if let Some(seat) = run.view_mut(slot).filter(|seat| !seat.status.is_final())
                    && seat.partial.len() == offset
                {
                    seat.status = SeatStatus::Streaming;
                    seat.partial.push_str(&text);
                }
            }
        }
    }
}

/// The phase of a run, for callers that wait for it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Phase {
    /// The run is not decided.
    #[default]
    Running,
    /// The run is decided; late seats may still be under way.
    Decided,
    /// Nothing more will happen.
    Closed,
}

/// One lane of updates. Its buffer is made for the first watcher, because most runs have none.
#[derive(Debug, Default)]
struct Lane(OnceLock<broadcast::Sender<Update>>);

impl Lane {
    fn subscribe(&self) -> broadcast::Receiver<Update> {
        self.0.get_or_init(|| broadcast::Sender::new(LAG_MAX)).subscribe()
    }

    /// Sends an update to the watchers, if there are any.
    fn send(&self, update: impl FnOnce() -> Update) {
        if let Some(watchers) = self.0.get().filter(|watchers| watchers.receiver_count() > 0) {
            // An error means the last watcher left just now.
            let _ = watchers.send(update());
        }
    }
}

/// The current state of one run, and its watchers.
#[derive(Debug)]
pub struct Hub {
    /// Still usable after a panic in `apply`, because it is at most one event behind then.
    run: Mutex<Run>,
    events: Lane,
    texts: Lane,
    phase: watch::Sender<Phase>,
    unstored: AtomicBool,
    /// Whether another process does the run by now, whose events come through [`Hub::relay`].
    handed_over: watch::Sender<bool>,
    /// The share of the text budget its texts hold, if this process reads them.
    held: OnceLock<Arc<HeldText>>,
    /// When this hub was created.
    created: Instant,
    /// The age of the run at that time, in milliseconds.
    age_at_creation_ms: u64,
}

impl Hub {
    /// The hub of a new run.
    pub fn new(plan: Arc<RunPlan>) -> Self {
        Self::of(Run::new(plan))
    }

    /// The hub of a run that has events and continues in this process.
    pub fn of(run: Run) -> Self {
        let (phase, unstored) = (watch::Sender::default(), AtomicBool::new(false));
        Self {
            created: Instant::now(),
            age_at_creation_ms: run.elapsed_ms,
            run: Mutex::new(run),
            events: Lane::default(),
            texts: Lane::default(),
            phase,
            unstored,
            handed_over: watch::Sender::default(),
            held: OnceLock::new(),
        }
    }

    /// The hub of a run that is closed or executed by another process. [`Hub::relay`] brings its events.
    pub fn remote(run: Run) -> Self {
        let phase = phase_of(&run);
        let hub = Self::of(run);
        hub.phase.send_replace(phase);
        hub
    }

    /// Adds the events another process has made durable, and the checkpoints of its streaming texts.
    pub fn relay(&self, events: Vec<Recorded>, texts: Vec<(CallerSlot, String)>) {
        self.apply(events, None);
        for (slot, text) in texts {
            let so_far = self.with_run(|run| run.view(slot).map_or(0, |seat| seat.partial.len()));
            // A shorter text belongs to another try, which the next event brings.
            if let Some(piece) = text.get(so_far..).filter(|piece| !piece.is_empty()) {
                self.show_text(slot, piece);
            }
        }
    }

    /// Shows nothing more of what this process does: another one has taken the run over.
    pub(crate) fn hand_over(&self) {
        self.handed_over.send_replace(true);
    }

    /// Returns when another process has taken the run over.
    pub async fn handed_over(&self) {
        // The sender lives in `self`, so waiting cannot fail.
        let _ = self.handed_over.subscribe().wait_for(|is_over| *is_over).await;
    }

    /// Whether another process has taken the run over.
    pub fn is_handed_over(&self) -> bool {
        *self.handed_over.borrow()
    }

    /// Marks the run as interrupted, because the process that executed it has ended.
    pub fn mark_interrupted(&self) {
        let mut run = self.run.lock();
        run.interrupt();
        self.events.send(|| Update::Snapshot(Box::new(run.clone())));
        drop(run);
        self.phase.send_replace(Phase::Closed);
    }

    /// Replaces the run, because another process continued it. Watchers get the new state instead of its earlier end.
    pub fn replace(&self, run: Run) {
        let phase = phase_of(&run);
        let mut held = self.run.lock();
        *held = run;
        self.events.send(|| Update::Snapshot(Box::new(held.clone())));
        drop(held);
        self.phase.send_replace(phase);
    }

    /// Adds an update that a watcher of the same run received.
    pub fn forward(&self, update: Update) {
        // A piece of text may come after the event that ends its call, or after a snapshot that already holds it.
        let is_awaited = |slot: CallerSlot, offset: Option<usize>| {
            let is_next = |seat: &SeatView| offset.is_none_or(|offset| offset == seat.partial.len());
            self.with_run(|run| run.view(slot).is_some_and(|seat| !seat.status.is_final() && is_next(seat)))
        };
        match update {
            Update::Event(recorded) => self.apply(vec![Recorded::clone(&recorded)], None),
            Update::Begun(slot) if is_awaited(slot, None) => self.show(slot, "", |_| Update::Begun(slot)),
            Update::Text { slot, offset, text } if is_awaited(slot, Some(offset)) => {
                self.show_text(slot, &text);
            }
            Update::Begun(_) | Update::Text { .. } => {}
            Update::Snapshot(run) => self.replace(*run),
        }
    }

    /// A copy of the current run, including streaming text.
    pub fn snapshot(&self) -> Run {
        self.run.lock().clone()
    }

    /// Reads the run without copying it. The closure must be short: it holds the lock the run needs for its next event.
    pub fn with_run<T>(&self, read: impl FnOnce(&Run) -> T) -> T {
        read(&self.run.lock())
    }

    /// The current age of a run under way, in milliseconds on the clock of its events.
    pub fn age_ms(&self) -> u64 {
        self.age_at_creation_ms
            .saturating_add(u64::try_from(self.created.elapsed().as_millis()).unwrap_or(u64::MAX))
    }

    /// Whether some events could not be made durable, so that only this process has them.
    pub fn is_unstored(&self) -> bool {
        self.unstored.load(Ordering::Relaxed)
    }

    /// Waits until the run has reached a phase.
    pub async fn reached(&self, phase: Phase) {
        // The sender lives in `self`, so waiting cannot fail.
        let _ = self.phase.subscribe().wait_for(|now| *now >= phase).await;
    }

    /// The current run, and a watch of all later events and texts.
    pub fn watch(self: &Arc<Self>) -> (Run, Watch) {
        self.follow(true)
    }

    /// The current run, and a watch of all later events without streaming text.
    pub fn watch_events(self: &Arc<Self>) -> (Run, Watch) {
        self.follow(false)
    }

    fn follow(self: &Arc<Self>, with_texts: bool) -> (Run, Watch) {
        // Subscribing under the lock leaves no gap between the snapshot and the first update.
        let run = self.run.lock();
        let texts = with_texts.then(|| self.texts.subscribe());
        (run.clone(), Watch { hub: Arc::clone(self), events: self.events.subscribe(), texts })
    }

    /// Applies events and sends them to watchers. If they could not be stored, `unstored` says why; they are shown anyway, because they are paid for, and the outcome gets a warning before anyone can read it.
    pub(crate) fn record(&self, events: Vec<Recorded>, unstored: Option<&Failure>) {
        if !self.is_handed_over() {
            self.apply(events, unstored);
        }
    }

    fn apply(&self, events: Vec<Recorded>, unstored: Option<&Failure>) {
        self.unstored.fetch_or(unstored.is_some(), Ordering::Relaxed);
        let mut run = self.run.lock();
        for recorded in events {
            run.apply(&recorded);
            self.events.send(|| Update::Event(Arc::new(recorded)));
        }
        let is_decided = run.is_decided();
        if let (Some(outcome), Some(failure), true) = (&mut run.outcome, unstored, is_decided) {
            let warning = Warning::of("the run could not be stored", failure);
            if !outcome.warnings.contains(&warning) {
                outcome.warnings.push(warning);
            }
        }
        let phase = phase_of(&run);
        drop(run);
        self.phase.send_if_modified(|now| std::mem::replace(now, phase) != phase);
    }

    /// Adds a warning to the run, once.
    pub(crate) fn warn(&self, warning: Warning) {
        let mut run = self.run.lock();
        if !run.plan.warnings.contains(&warning) {
            Arc::make_mut(&mut run.plan).warnings.push(warning);
        }
    }

    /// Keeps the run's share of the text budget until the hub is dropped.
    pub(crate) fn hold(&self, held: Arc<HeldText>) {
        // Fails if an earlier part of the run has set its share already.
        let _ = self.held.set(held);
    }

    /// A call has begun to reason or write.
    pub(crate) fn begun(&self, slot: CallerSlot) {
        if !self.is_handed_over() {
            self.show(slot, "", |_| Update::Begun(slot));
        }
    }

    /// A piece of text has come.
    pub(crate) fn text(&self, slot: CallerSlot, text: &str) {
        if !self.is_handed_over() {
            self.show_text(slot, text);
        }
    }

    fn show_text(&self, slot: CallerSlot, text: &str) {
        self.show(slot, text, |offset| Update::Text { slot, offset, text: text.into() });
    }

    /// Adds the text to its slot. `update` gets the byte at which the text begins, and is called only for watchers.
    fn show(&self, slot: CallerSlot, text: &str, update: impl FnOnce(usize) -> Update) {
        let mut run = self.run.lock();
        let Some(seat) = run.view_mut(slot) else { return };
        seat.status = SeatStatus::Streaming;
        let offset = seat.partial.len();
        seat.partial.push_str(text);
        self.texts.send(|| update(offset));
    }
}

fn phase_of(run: &Run) -> Phase {
    match (run.is_decided(), run.closed) {
        (_, true) => Phase::Closed,
        (true, false) => Phase::Decided,
        (false, false) => Phase::Running,
    }
}

/// One watcher of a run.
#[derive(Debug)]
pub struct Watch {
    hub: Arc<Hub>,
    events: broadcast::Receiver<Update>,
    texts: Option<broadcast::Receiver<Update>>,
}

impl Watch {
    /// Waits for the next update. The stream has no end: `Closed` is the last event of a run. A piece of text may come after
    /// the event that ends its call; the answer then already holds it.
    pub async fn next(&mut self) -> Update {
        let next = match &mut self.texts {
            Some(texts) => tokio::select! {
                biased;
                text = texts.recv() => text,
                event = self.events.recv() => event,
            },
            None => self.events.recv().await,
        };
        next.unwrap_or_else(|_| self.catch_up())
    }

    /// The same watch with streaming text, from the next piece on.
    #[must_use]
    pub fn with_texts(self) -> Self {
        let texts = Some(self.hub.texts.subscribe());
        Self { texts, ..self }
    }

    fn catch_up(&mut self) -> Update {
        let (run, watch) = self.hub.follow(self.texts.is_some());
        *self = watch;
        Update::Snapshot(Box::new(run))
    }
}
