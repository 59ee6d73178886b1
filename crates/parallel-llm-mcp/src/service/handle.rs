//! One asker's hold on a run: watching it, waiting for it, giving it up.
//!
//! A run may have several askers, because the same question asked twice is one run. What always holds: it is given up
//! only when all of them have given it up, and dropping a handle gives up nothing.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use parallel_llm_engine::calibration::Calibration;
use parallel_llm_engine::live::{Hub, Stage, Watch};
use parallel_llm_engine::outcome::Warning;
use parallel_llm_engine::request::StoreMode;
use parallel_llm_engine::run::{Run, RunStatus};
use parallel_llm_engine::{RunId, Stop};
use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::files::FilesWatch;
use crate::output::report::{ErrorReport, FilesReport, Report};

/// A run under way, or just over. Clones are the same asker's.
#[derive(Clone)]
pub struct RunHandle {
    id: RunId,
    hub: Arc<Hub>,
    calibration: Arc<Calibration>,
    files: FilesWatch,
    interest: Arc<Interest>,
    /// The run from its first event on, for the first who follows its events.
    beginning: Arc<Mutex<Option<(Run, Watch)>>>,
    /// What the asker should know besides what the run itself tells.
    note: Option<Warning>,
    /// Keep up with a run of another process; they end with the last clone.
    tasks: Option<Arc<JoinSet<()>>>,
}

/// What somebody who asked wants of a run: that it goes on, until it is given up once.
struct Interest {
    has_given_up: AtomicBool,
    /// How many askers still want the run; `None` for whoever only looks, and where another process does it.
    wanted_by: Option<Arc<AtomicUsize>>,
    stop: Stop,
}

/// What a handle comes to for whoever may only give the run up: it keeps nothing of the run itself.
pub struct Hold {
    id: RunId,
    hub: Weak<Hub>,
    interest: Arc<Interest>,
}

impl Hold {
    /// The run's name.
    pub const fn id(&self) -> RunId {
        self.id
    }

    /// Whether there is nothing to give up any more.
    pub fn is_over(&self) -> bool {
        self.hub.upgrade().is_none_or(|hub| hub.look(|run| run.closed))
    }

    /// As [`RunHandle::cancel`].
    pub fn give_up(&self) {
        self.interest.give_up();
    }
}

impl Interest {
    fn give_up(&self) {
        let is_last = |count: &AtomicUsize| count.fetch_sub(1, Ordering::Relaxed) == 1;
        if !self.has_given_up.swap(true, Ordering::Relaxed) && self.wanted_by.as_deref().is_some_and(is_last)
        {
            self.stop.cancel();
        }
    }
}

impl RunHandle {
    /// The first asker's hold on a run that begins in this process.
    pub(super) fn here(hub: Arc<Hub>, calibration: Arc<Calibration>, stop: Stop) -> Self {
        let beginning = Some(hub.watch_events());
        let interest = Interest {
            has_given_up: AtomicBool::new(false),
            wanted_by: Some(Arc::new(AtomicUsize::new(1))),
            stop,
        };
        Self { beginning: Arc::new(Mutex::new(beginning)), ..Self::new(hub, calibration, interest) }
    }

    /// A hold on a run that is over, or that another process does; `tasks` bring into `hub` what happens there, and
    /// write its files where they are wanted here.
    pub(super) fn elsewhere(
        hub: Arc<Hub>,
        calibration: Arc<Calibration>,
        files: FilesWatch,
        tasks: JoinSet<()>,
    ) -> Self {
        let interest =
            Interest { has_given_up: AtomicBool::new(false), wanted_by: None, stop: Stop::default() };
        Self { files, tasks: Some(Arc::new(tasks)), ..Self::new(hub, calibration, interest) }
    }

    fn new(hub: Arc<Hub>, calibration: Arc<Calibration>, interest: Interest) -> Self {
        let (id, interest) = (hub.look(|run| run.plan.run_id), Arc::new(interest));
        let (files, beginning) = (FilesWatch::off(), Arc::default());
        Self { id, hub, calibration, files, interest, beginning, note: None, tasks: None }
    }

    pub(super) fn with_files(self, files: FilesWatch) -> Self {
        Self { files, ..self }
    }

    pub(super) fn with_note(self, note: Warning) -> Self {
        Self { note: Some(note), ..self }
    }

    /// A look at the same run, which neither wants it nor gives it up.
    pub(super) fn observe(&self) -> Self {
        let interest =
            Interest { has_given_up: AtomicBool::new(false), wanted_by: None, stop: Stop::default() };
        self.of(interest)
    }

    /// The hold of another asker on the same run.
    pub(super) fn join(&self) -> Self {
        let wanted_by = self.interest.wanted_by.clone();
        if let Some(count) = &wanted_by {
            count.fetch_add(1, Ordering::Relaxed);
        }
        let interest =
            Interest { has_given_up: AtomicBool::new(false), wanted_by, stop: self.interest.stop.clone() };
        self.of(interest)
    }

    /// The same run, held by another.
    fn of(&self, interest: Interest) -> Self {
        let handle = Self::new(Arc::clone(&self.hub), Arc::clone(&self.calibration), interest);
        Self { files: self.files.clone(), tasks: self.tasks.clone(), ..handle }
    }

    /// The run's name.
    pub const fn id(&self) -> RunId {
        self.id
    }

    /// What the asker should know besides what the run itself tells: that it joined one that was there already.
    pub const fn note(&self) -> Option<&Warning> {
        self.note.as_ref()
    }

    /// What is needed to give the run up later, without the run.
    pub fn hold(&self) -> Hold {
        Hold { id: self.id, hub: Arc::downgrade(&self.hub), interest: Arc::clone(&self.interest) }
    }

    /// Whether giving it up can end the run: it is done by this process, and wanted through this handle.
    pub fn is_here(&self) -> bool {
        self.interest.wanted_by.is_some()
    }

    /// Whether the run was read from the store: another process does it, or nobody does.
    pub const fn is_elsewhere(&self) -> bool {
        self.tasks.is_some()
    }

    /// Whether this process alone knows what came of the run.
    pub fn is_unstored(&self) -> bool {
        self.hub.is_unstored() || self.hub.look(|run| run.plan.store != StoreMode::Full)
    }

    /// Whether nothing more will happen.
    pub fn is_closed(&self) -> bool {
        self.hub.look(|run| run.closed)
    }

    /// How old a run under way is now, in milliseconds from its start on the clock of its events.
    pub fn age_ms(&self) -> u64 {
        self.hub.age_ms()
    }

    /// The run as it stands, and everything after.
    pub fn watch(&self) -> (Run, Watch) {
        self.hub.watch()
    }

    /// The run and every event after: from the first event on for whoever asks first, else as it stands.
    pub fn watch_events(&self) -> (Run, Watch) {
        self.beginning().unwrap_or_else(|| self.hub.watch_events())
    }

    /// The run before the first event of what was begun here, and every event after, for whoever asks first.
    pub fn beginning(&self) -> Option<(Run, Watch)> {
        self.beginning.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// The run as it stands.
    pub fn snapshot(&self) -> Run {
        self.hub.snapshot()
    }

    /// Looks at the run without copying it.
    pub fn look<T>(&self, look: impl FnOnce(&Run) -> T) -> T {
        self.hub.look(look)
    }

    /// Waits for the run's answer, or until this moment; the run goes on either way.
    pub async fn wait(&self, until: Option<Instant>) -> Report {
        let decided = self.hub.reached(Stage::Decided);
        if let Some(until) = until {
            if tokio::time::timeout_at(until, decided).await.is_err() {
                return self.report();
            }
        } else {
            decided.await;
        }
        self.report_with(self.files.settled().await)
    }

    /// Waits until late seats are in or given up, too.
    pub async fn wait_closed(&self) -> Report {
        self.hub.reached(Stage::Closed).await;
        self.report_with(self.files.settled().await)
    }

    /// The run's report as it stands.
    pub fn report(&self) -> Report {
        self.report_with(self.files.now())
    }

    fn report_with(&self, files: FilesReport) -> Report {
        let mut report = self.look(|run| Report::of(run, files, &self.calibration));
        if self.look(|run| run.status == RunStatus::Running) {
            // Its newest event may be long ago.
            report.elapsed_ms = self.age_ms();
        }
        report.warnings.extend(self.note.as_ref().map(ErrorReport::of_warning));
        report
    }

    /// Gives the run up, for this asker: connections are closed where that stops their cost, what has come is kept.
    pub fn cancel(&self) {
        self.interest.give_up();
    }

    /// Gives the run up and closes every connection at once, unless others still want it.
    pub fn abort(&self) {
        self.cancel();
        if self.interest.stop.is_cancelled() {
            self.interest.stop.abort();
        }
    }
}
