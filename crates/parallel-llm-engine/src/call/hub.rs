//! A run while it happens: durable events and text on its way, for anyone who wants to watch.
//!
//! Two lanes. Events are few and have been committed before they arrive here; text is many and only shown.
//! Watching is bounded: a watcher that lags gets a snapshot instead of what it missed, and never slows the run.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use tokio::sync::{broadcast, watch};
use tokio::time::Instant;

use crate::call::text_budget::HeldText;
use crate::plan::RunPlan;
use crate::plan::caller_slot::CallerSlot;
use crate::run::event::Recorded;
use crate::run::{Run, SeatStatus, SeatView};
use crate::value::answer::Failure;
use crate::value::warning::Warning;

/// Updates of one lane a watcher may be behind before it gets a snapshot: some seconds of five models writing.
const LAG_MAX: usize = 256;

/// Something to show.
#[derive(Clone, Debug)]
pub enum Update {
    /// A durable event.
    Event(Arc<Recorded>),
    /// A place has begun to think or write.
    Begun(CallerSlot),
    /// A piece of text on its way. It begins at byte `offset` of the text so far.
    Text {
        /// Whose.
        slot: CallerSlot,
        /// Where the piece begins.
        offset: usize,
        /// The piece.
        text: Arc<str>,
    },
    /// Updates were missed; this is the run as it stands.
    Snapshot(Box<Run>),
}

/// How far a run is, for those who only wait.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stage {
    /// Its answer is not settled.
    #[default]
    Running,
    /// Its answer is settled; late seats may still be under way.
    Decided,
    /// Nothing more will happen.
    Closed,
}

/// The meeting point of one run and its watchers.
#[derive(Debug)]
pub struct Hub {
    run: Mutex<Run>,
    events: broadcast::Sender<Update>,
    texts: broadcast::Sender<Update>,
    stage: watch::Sender<Stage>,
    unstored: AtomicBool,
    /// The room its texts take, where they come in this process.
    held: OnceLock<Arc<HeldText>>,
    /// When this hub was made.
    made: Instant,
    /// How old the run was then, in milliseconds from its start.
    age_when_made_ms: u64,
}

impl Hub {
    /// The hub of a run nothing has happened in.
    pub fn new(plan: Arc<RunPlan>) -> Self {
        Self::of(Run::new(plan))
    }

    /// The hub of a run that has a history and goes on.
    pub fn of(run: Run) -> Self {
        let (events, texts) = (broadcast::Sender::new(LAG_MAX), broadcast::Sender::new(LAG_MAX));
        let (stage, unstored) = (watch::Sender::default(), AtomicBool::new(false));
        Self {
            made: Instant::now(),
            age_when_made_ms: run.elapsed_ms,
            run: Mutex::new(run),
            events,
            texts,
            stage,
            unstored,
            held: OnceLock::new(),
        }
    }

    /// The hub of a run that is done elsewhere, or is over; what happens in it is brought by [`Hub::relay`].
    pub fn elsewhere(run: Run) -> Self {
        let stage = stage_of(&run);
        let hub = Self::of(run);
        hub.stage.send_replace(stage);
        hub
    }

    /// Brings in what another process has made durable, and the texts on their way there as far as it has kept them.
    pub fn relay(&self, events: Vec<Recorded>, texts: Vec<(CallerSlot, String)>) {
        self.record(events, None);
        for (slot, text) in texts {
            let so_far = self.with_run(|run| run.view(slot).map_or(0, |seat| seat.partial.len()));
            // A text that does not go on from the one shown belongs to another try; the next event tells.
            if let Some(piece) = text.get(so_far..).filter(|piece| !piece.is_empty()) {
                self.text(slot, piece);
            }
        }
    }

    /// The process that did the run is gone: whoever waits is told what there is.
    pub fn lose(&self) {
        let mut run = self.lock();
        run.interrupt();
        // An error means that nobody watches.
        let _ = self.events.send(Update::Snapshot(Box::new(run.clone())));
        drop(run);
        self.stage.send_replace(Stage::Closed);
    }

    /// The run stands like this now, because somebody went on with it: whoever watches or waits is told that, and not
    /// how it had ended before.
    pub fn renew(&self, run: Run) {
        let stage = stage_of(&run);
        let mut held = self.lock();
        *held = run;
        // An error means that nobody watches.
        let _ = self.events.send(Update::Snapshot(Box::new(held.clone())));
        drop(held);
        self.stage.send_replace(stage);
    }

    /// Brings in what another watcher of the same run was told.
    pub fn pass_on(&self, update: Update) {
        // A text may come after the event that ends its place, and after a snapshot that has it already.
        let is_awaited = |slot: CallerSlot, offset: Option<usize>| {
            let is_next = |seat: &SeatView| offset.is_none_or(|offset| offset == seat.partial.len());
            self.with_run(|run| run.view(slot).is_some_and(|seat| !seat.status.is_final() && is_next(seat)))
        };
        match update {
            Update::Event(recorded) => self.record(vec![Recorded::clone(&recorded)], None),
            Update::Begun(slot) if is_awaited(slot, None) => self.begun(slot),
            Update::Text { slot, offset, text } if is_awaited(slot, Some(offset)) => {
                self.text(slot, &text);
            }
            Update::Begun(_) | Update::Text { .. } => {}
            Update::Snapshot(run) => self.renew(*run),
        }
    }

    /// The run as it stands, text on its way included.
    pub fn snapshot(&self) -> Run {
        self.lock().clone()
    }

    /// Reads the run without copying it. The closure must be short: it holds the lock the run needs for its next event.
    pub fn with_run<T>(&self, read: impl FnOnce(&Run) -> T) -> T {
        read(&self.lock())
    }

    /// How old a run under way is now, in milliseconds from its start on the clock of its events.
    pub fn age_ms(&self) -> u64 {
        self.age_when_made_ms
            .saturating_add(u64::try_from(self.made.elapsed().as_millis()).unwrap_or(u64::MAX))
    }

    /// Whether events of the run could not be made durable, so that nobody else has them.
    pub fn is_unstored(&self) -> bool {
        self.unstored.load(Ordering::Relaxed)
    }

    /// Returns when the run has come this far.
    pub async fn reached(&self, stage: Stage) {
        // The sender lives in `self`, so waiting cannot fail.
        let _ = self.stage.subscribe().wait_for(|now| *now >= stage).await;
    }

    /// The run as it stands, and every event and text after.
    pub fn watch(self: &Arc<Self>) -> (Run, Watch) {
        self.follow(true)
    }

    /// The run as it stands, and every event after; for those who do not show text on its way.
    pub fn watch_events(self: &Arc<Self>) -> (Run, Watch) {
        self.follow(false)
    }

    fn follow(self: &Arc<Self>, with_texts: bool) -> (Run, Watch) {
        // Subscribing under the lock leaves no gap between the snapshot and the first update.
        let run = self.lock();
        let texts = with_texts.then(|| self.texts.subscribe());
        (run.clone(), Watch { hub: Arc::clone(self), events: self.events.subscribe(), texts })
    }

    /// Events have happened. They are durable, or it is told why not: what was paid for is shown even where it
    /// could not be stored, and the outcome then says so from the first look on.
    pub(crate) fn record(&self, events: Vec<Recorded>, unstored: Option<&Failure>) {
        self.unstored.fetch_or(unstored.is_some(), Ordering::Relaxed);
        let mut run = self.lock();
        for recorded in events {
            run.apply(&recorded);
            if self.events.receiver_count() > 0 {
                // An error means the last watcher left just now.
                let _ = self.events.send(Update::Event(Arc::new(recorded)));
            }
        }
        let is_decided = run.is_decided();
        if let (Some(outcome), Some(failure), true) = (&mut run.outcome, unstored, is_decided) {
            let warning = Warning::of("the run could not be stored", failure);
            if !outcome.warnings.contains(&warning) {
                outcome.warnings.push(warning);
            }
        }
        let stage = stage_of(&run);
        drop(run);
        self.stage.send_if_modified(|now| std::mem::replace(now, stage) != stage);
    }

    /// Tells whoever reads the run, now or later, what is to be known of it beside its events; the same once.
    pub(crate) fn warn(&self, warning: Warning) {
        let mut run = self.lock();
        if !run.plan.warnings.contains(&warning) {
            Arc::make_mut(&mut run.plan).warnings.push(warning);
        }
    }

    /// The room that is given back when nobody reads the run here any more.
    pub(crate) fn hold(&self, held: Arc<HeldText>) {
        // An earlier part of the run has taken its own.
        let _ = self.held.set(held);
    }

    /// A place has begun to think or write.
    pub(crate) fn begun(&self, slot: CallerSlot) {
        self.show(slot, |_| Update::Begun(slot));
    }

    /// A piece of text has come.
    pub(crate) fn text(&self, slot: CallerSlot, text: &str) {
        self.show(slot, |partial| {
            let offset = partial.len();
            partial.push_str(text);
            Update::Text { slot, offset, text: text.into() }
        });
    }

    fn show(&self, slot: CallerSlot, update: impl FnOnce(&mut String) -> Update) {
        let mut run = self.lock();
        let Some(seat) = run.view_mut(slot) else { return };
        seat.status = SeatStatus::Streaming;
        let update = update(&mut seat.partial);
        if self.texts.receiver_count() > 0 {
            let _ = self.texts.send(update);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Run> {
        // A panic while folding leaves a run that is at worst one event behind; watching it is still right.
        self.run.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn stage_of(run: &Run) -> Stage {
    match (run.is_decided(), run.closed) {
        (_, true) => Stage::Closed,
        (true, false) => Stage::Decided,
        (false, false) => Stage::Running,
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
    /// The next thing to show. Never ends by itself: a run says `Closed` when nothing more will come. A piece of
    /// text may come after the event that ends its place; it is in the answer already then.
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

    fn catch_up(&mut self) -> Update {
        let (run, watch) = self.hub.follow(self.texts.is_some());
        *self = watch;
        Update::Snapshot(Box::new(run))
    }
}
