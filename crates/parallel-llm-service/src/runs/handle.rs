//! One principal's hold on a run: watching it, waiting for it, giving it up.
//!
//! A run may have several principals, because the same question asked twice is one run. What always holds: it is given up
//! only when all of them have given it up, and dropping a handle gives up nothing.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};
use std::time::Duration;

use parallel_llm_engine::call::hub::{Hub, Stage, Watch};
use parallel_llm_engine::request::StoreMode;
use parallel_llm_engine::run::calibration::Calibration;
use parallel_llm_engine::run::{Run, RunStatus};
use parallel_llm_engine::value::warning::Warning;
use parallel_llm_engine::{PicoUsd, RunId, Stop};
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout_at};

use crate::report::{ErrorReport, FilesReport, Report};
use crate::runs::files::FilesWatch;
use parallel_llm_settings::clock;

/// How long an answer is held back for its files: those of a usual run take milliseconds, those on a network drive a
/// second or two. A folder that does not answer keeps nobody from what was paid for.
const FILES_MAX: Duration = Duration::from_secs(5);

/// A run under way, or just over. Clones are the same principal's.
#[derive(Clone)]
pub struct RunHandle {
    id: RunId,
    hub: Arc<Hub>,
    calibration: Arc<Calibration>,
    files: FilesWatch,
    interest: Arc<Interest>,
    /// The run from its first event on, for the first who follows its events.
    beginning: Arc<Mutex<Option<(Run, Watch)>>>,
    /// What the principal should know besides what the run itself tells.
    note: Option<Warning>,
    /// What the run had cost before this principal wanted it, where it was over then.
    cost_before: Option<PicoUsd>,
    /// Keep up with a run of another process; they end with the last clone.
    tasks: Option<Arc<JoinSet<()>>>,
}

/// What somebody who asked wants of a run: that it goes on, until it is given up once.
struct Interest {
    has_given_up: AtomicBool,
    /// How many principals still want the run; `None` for whoever only looks, and where another process does it.
    wanted_by: Option<Arc<AtomicUsize>>,
    stop: Stop,
    /// The same run as this process continues it, once it does; for whoever asked what another process was at.
    heir: OnceLock<RunHandle>,
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
        self.hub.upgrade().is_none_or(|hub| hub.with_run(|run| run.closed))
    }

    /// As [`RunHandle::cancel`].
    pub fn give_up(&self) {
        self.interest.give_up();
    }
}

impl Interest {
    fn new(wanted_by: Option<Arc<AtomicUsize>>, stop: Stop) -> Self {
        Self { has_given_up: AtomicBool::new(false), wanted_by, stop, heir: OnceLock::new() }
    }

    /// Of somebody who can give nothing up.
    fn of_none() -> Self {
        Self::new(None, Stop::default())
    }

    fn give_up(&self) {
        let is_last = |count: &AtomicUsize| count.fetch_sub(1, Ordering::Relaxed) == 1;
        if self.has_given_up.swap(true, Ordering::Relaxed) {
            return;
        }
        if self.wanted_by.as_deref().is_some_and(is_last) {
            self.stop.cancel();
        }
        if let Some(heir) = self.heir.get() {
            heir.cancel();
        }
    }
}

/// Takes up, for somebody who asked, a run that another has given up or left.
pub(crate) struct Heirship(Arc<Interest>);

impl Heirship {
    /// Whether the run is wanted still.
    pub(crate) fn is_wanted(&self) -> bool {
        !self.0.has_given_up.load(Ordering::Relaxed)
    }

    /// The run is done here now.
    pub(crate) fn pass_to(&self, heir: RunHandle) {
        let heir = self.0.heir.get_or_init(|| heir);
        // Whoever asked may have left while it was begun.
        if !self.is_wanted() {
            heir.cancel();
        }
    }
}

impl RunHandle {
    /// The first principal's hold on a run that begins in this process.
    pub(crate) fn here(hub: Arc<Hub>, calibration: Arc<Calibration>, stop: Stop) -> Self {
        let beginning = Some(hub.watch_events());
        let interest = Interest::new(Some(Arc::new(AtomicUsize::new(1))), stop);
        Self { beginning: Arc::new(Mutex::new(beginning)), ..Self::new(hub, calibration, interest) }
    }

    /// A hold on a run that is over, or that another process does; `tasks` bring into `hub` what happens there, and
    /// write its files where they are wanted here.
    pub(crate) fn elsewhere(
        hub: Arc<Hub>,
        calibration: Arc<Calibration>,
        files: FilesWatch,
        tasks: JoinSet<()>,
    ) -> Self {
        let handle = Self::new(hub, calibration, Interest::of_none());
        Self { files, tasks: Some(Arc::new(tasks)), ..handle }
    }

    /// What takes the run up for this principal, should whoever does it give it up or be gone.
    pub(crate) fn heirship(&self) -> Heirship {
        Heirship(Arc::clone(&self.interest))
    }

    fn new(hub: Arc<Hub>, calibration: Arc<Calibration>, interest: Interest) -> Self {
        let (id, interest) = (hub.with_run(|run| run.plan.run_id), Arc::new(interest));
        let (files, beginning) = (FilesWatch::off(), Arc::default());
        Self { id, hub, calibration, files, interest, beginning, note: None, cost_before: None, tasks: None }
    }

    pub(crate) fn with_files(self, files: FilesWatch) -> Self {
        Self { files, ..self }
    }

    pub(crate) fn with_note(self, note: Warning) -> Self {
        Self { note: Some(note), ..self }
    }

    /// The same for somebody who is given what had cost this much before.
    pub(crate) fn spending_since(self, cost_before: PicoUsd) -> Self {
        Self { cost_before: Some(cost_before), ..self }
    }

    /// A look at the same run, which neither wants it nor gives it up.
    pub(crate) fn observe(&self) -> Self {
        self.of(Interest::of_none())
    }

    /// The hold of another principal on the same run; `None` where all have given it up, so that no answer is to come of it.
    pub(crate) fn join(&self) -> Option<Self> {
        let wanted_by = self.interest.wanted_by.clone();
        let has_answer = self.with_run(|run| run.is_decided() && run.status != RunStatus::Cancelled);
        if let Some(count) = &wanted_by {
            // In one step, so that nobody joins what somebody gives up at the same moment.
            let one_more = |count: usize| (count > 0 || has_answer).then_some(count + 1);
            count.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_more).ok()?;
        }
        Some(self.of(Interest::new(wanted_by, self.interest.stop.clone())))
    }

    /// Whether somebody who asked still wants the run, as far as that is known here.
    pub(crate) fn is_wanted(&self) -> bool {
        self.interest.wanted_by.as_ref().is_none_or(|count| count.load(Ordering::Relaxed) > 0)
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

    /// What the principal should know besides what the run itself tells: that it joined one that was there already.
    pub const fn note(&self) -> Option<&Warning> {
        self.note.as_ref()
    }

    /// What is needed to give the run up later, without the run.
    pub fn hold(&self) -> Hold {
        Hold { id: self.id, hub: Arc::downgrade(&self.hub), interest: Arc::clone(&self.interest) }
    }

    /// Whether giving it up can end the run: it is done by this process, and wanted through this handle.
    pub fn is_here(&self) -> bool {
        self.interest.wanted_by.is_some() || self.interest.heir.get().is_some()
    }

    /// Whether the run was read from the store: another process does it, or nobody does.
    pub const fn is_elsewhere(&self) -> bool {
        self.tasks.is_some()
    }

    /// Whether this process alone knows what came of the run.
    pub fn is_unstored(&self) -> bool {
        let of_heir = self.interest.heir.get().is_some_and(Self::is_unstored);
        of_heir || self.hub.is_unstored() || self.hub.with_run(|run| run.plan.store != StoreMode::Full)
    }

    /// Whether nothing more will happen.
    pub fn is_closed(&self) -> bool {
        self.hub.with_run(|run| run.closed)
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

    /// Reads the run without copying it.
    pub fn with_run<T>(&self, read: impl FnOnce(&Run) -> T) -> T {
        self.hub.with_run(read)
    }

    /// Waits for the run's answer, or until this moment; the run goes on either way. Its files are waited for, too, but
    /// not beyond that moment, and not for long.
    pub async fn wait(&self, until: Option<Instant>) -> Report {
        let decided = self.hub.reached(Stage::Decided);
        if let Some(until) = until {
            if timeout_at(until, decided).await.is_err() {
                return self.report();
            }
        } else {
            decided.await;
        }
        let patience = Instant::now() + FILES_MAX;
        self.report_with(self.settled_files(until.map_or(patience, |until| until.min(patience))).await)
    }

    /// Waits until late seats are in or given up, too.
    pub async fn wait_closed(&self) -> Report {
        self.closed().await;
        self.report_with(self.settled_files(Instant::now() + FILES_MAX).await)
    }

    /// Returns when nothing more will happen, or nobody would tell it.
    pub async fn closed(&self) {
        self.hub.reached(Stage::Closed).await;
    }

    /// The files of a settled run, written or not by this moment.
    async fn settled_files(&self, until: Instant) -> FilesReport {
        let files = self.files();
        timeout_at(until, files.settled()).await.unwrap_or_else(|_| files.now())
    }

    /// Who writes the run's files.
    fn files(&self) -> &FilesWatch {
        self.interest.heir.get().map_or(&self.files, Self::files)
    }

    /// The run's report as it stands.
    pub fn report(&self) -> Report {
        self.report_with(self.files().now())
    }

    /// The report of the run as it stood at some moment.
    pub fn report_of(&self, run: &Run) -> Report {
        Report::of(run, self.files().now(), &self.calibration)
    }

    fn report_with(&self, files: FilesReport) -> Report {
        let mut report = self.with_run(|run| Report::of(run, files, &self.calibration));
        if self.with_run(|run| run.status == RunStatus::Running) {
            // Its newest event may be long ago.
            report.elapsed_ms = self.age_ms();
        }
        if let Some(before) = self.cost_before {
            report.spent_now_usd = Some(self.with_run(|run| run.cost().minus(before)).as_usd());
            report.asked_at = Some(clock::stamp(self.id.unix_ms()));
        }
        report.warnings.extend(self.note.as_ref().map(ErrorReport::of_warning));
        report
    }

    /// Gives the run up, for this principal: connections are closed where that stops their cost, what has come is kept.
    pub fn cancel(&self) {
        self.interest.give_up();
    }

    /// Gives the run up and closes every connection at once, unless others still want it.
    pub fn abort(&self) {
        self.cancel();
        if self.interest.stop.is_cancelled() {
            self.interest.stop.abort();
        }
        if let Some(heir) = self.interest.heir.get() {
            heir.abort();
        }
    }
}
