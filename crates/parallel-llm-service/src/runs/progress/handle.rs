//! Run handles: one caller's view of a run, to watch it, wait for it and give it up.
//!
//! A run may have several callers, because the same question asked twice is one run. Invariants: the run is
//! given up only when all of them have given it up, and dropping a handle gives up nothing.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;

use futures_util::future::{BoxFuture, FutureExt as _};
use parallel_llm_engine::call::hub::{Hub, Phase, Watch};
use parallel_llm_engine::request::StoreMode;
use parallel_llm_engine::run::calibration::Calibration;
use parallel_llm_engine::run::{Run, RunStatus};
use parallel_llm_engine::value::warning::Warning;
use parallel_llm_engine::{PicoUsd, RunId, SeatNumber, Stop};
use parking_lot::Mutex;
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout_at};

use crate::report::{ErrorReport, Report};
use crate::runs::files::FilesWatch;
use parallel_llm_settings::clock;

/// The longest wait for the files of a decided run: usually they take milliseconds, on a network drive a second or two.
/// A folder that does not answer must not hold back a paid answer.
const FILES_MAX: Duration = Duration::from_secs(5);

/// A run in progress or just closed. Clones belong to the same caller.
#[derive(Clone)]
pub struct RunHandle {
    id: RunId,
    hub: Arc<Hub>,
    calibration: Arc<Calibration>,
    files: FilesWatch,
    interest: Arc<Interest>,
    /// The run from its first event on, for the first follower of its events.
    beginning: Arc<Mutex<Option<(Run, Watch)>>>,
    /// A note for this caller, beside the run's own warnings: that it joined a run that was there already.
    note: Option<Warning>,
    /// The cost of the run before this caller asked, if it was closed by then.
    cost_before: Option<PicoUsd>,
    /// Tasks that follow a run of another process; they end with the last clone.
    tasks: Option<Arc<JoinSet<()>>>,
}

/// A caller's interest in a run: it goes on until the caller gives it up, once.
struct Interest {
    has_given_up: AtomicBool,
    /// The number of callers that still want the run; `None` for observers and for runs of another process.
    wanted_by: Option<Arc<AtomicUsize>>,
    stop: Stop,
    /// The same run after this process took it over, for a caller that asked while another process worked on it.
    successor: OnceLock<RunHandle>,
}

/// A handle reduced to giving the run up: it keeps nothing of the run itself.
pub struct Hold {
    id: RunId,
    hub: Weak<Hub>,
    interest: Arc<Interest>,
}

impl Hold {
    /// The run's id.
    pub const fn id(&self) -> RunId {
        self.id
    }

    /// Whether the run is closed, so that there is nothing to give up.
    pub fn is_over(&self) -> bool {
        self.hub.upgrade().is_none_or(|hub| hub.with_run(|run| run.closed))
    }

    /// See [`RunHandle::cancel`].
    pub fn give_up(&self) {
        self.interest.give_up();
    }
}

impl Interest {
    fn new(wanted_by: Option<Arc<AtomicUsize>>, stop: Stop) -> Self {
        Self { has_given_up: AtomicBool::new(false), wanted_by, stop, successor: OnceLock::new() }
    }

    /// The interest of an observer, who can give nothing up.
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
        if let Some(successor) = self.successor.get() {
            successor.cancel();
        }
    }
}

/// Takes a run over for a caller, after another process gave it up or ended.
pub(crate) struct Takeover(Arc<Interest>);

impl Takeover {
    /// Whether the caller still wants the run.
    pub(crate) fn is_wanted(&self) -> bool {
        !self.0.has_given_up.load(Ordering::Relaxed)
    }

    /// Passes the interest on to the run that continues here.
    pub(crate) fn pass_to(&self, successor: RunHandle) {
        let successor = self.0.successor.get_or_init(|| successor);
        // The caller may have left while it began.
        if !self.is_wanted() {
            successor.cancel();
        }
    }
}

impl RunHandle {
    /// The first handle on a run that begins in this process.
    pub(crate) fn here(hub: Arc<Hub>, calibration: Arc<Calibration>, stop: Stop) -> Self {
        let beginning = Some(hub.watch_events());
        let interest = Interest::new(Some(Arc::new(AtomicUsize::new(1))), stop);
        Self { beginning: Arc::new(Mutex::new(beginning)), ..Self::new(hub, calibration, interest) }
    }

    /// A handle on a run that is closed or that another process does; `tasks` follow it into `hub` and write its files
    /// if they are wanted here.
    pub(crate) fn elsewhere(
        hub: Arc<Hub>,
        calibration: Arc<Calibration>,
        files: FilesWatch,
        tasks: JoinSet<()>,
    ) -> Self {
        let handle = Self::new(hub, calibration, Interest::of_none());
        Self { files, tasks: Some(Arc::new(tasks)), ..handle }
    }

    /// The takeover of the run for this caller.
    pub(crate) fn takeover(&self) -> Takeover {
        Takeover(Arc::clone(&self.interest))
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

    /// The same for a caller who gets answers that had cost this much before.
    pub(crate) fn spending_since(self, cost_before: PicoUsd) -> Self {
        Self { cost_before: Some(cost_before), ..self }
    }

    /// An observer's handle on the same run, which cannot give it up.
    pub(crate) fn observe(&self) -> Self {
        self.of(Interest::of_none())
    }

    /// Another caller's handle on the same run; `None` if all have given it up and no answer will come.
    pub(crate) fn join(&self) -> Option<Self> {
        let wanted_by = self.interest.wanted_by.clone();
        let has_answer = self.with_run(|run| run.is_decided() && run.status != RunStatus::Cancelled);
        if let Some(count) = &wanted_by {
            // In one atomic step, so that no caller joins a run that another gives up at the same moment.
            let one_more = |count: usize| (count > 0 || has_answer).then_some(count + 1);
            count.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_more).ok()?;
        }
        Some(self.of(Interest::new(wanted_by, self.interest.stop.clone())))
    }

    /// Whether any caller still wants the run, as far as this process knows.
    pub(crate) fn is_wanted(&self) -> bool {
        self.interest.wanted_by.as_ref().is_none_or(|count| count.load(Ordering::Relaxed) > 0)
    }

    /// The same run with another interest.
    fn of(&self, interest: Interest) -> Self {
        let handle = Self::new(Arc::clone(&self.hub), Arc::clone(&self.calibration), interest);
        Self { files: self.files.clone(), tasks: self.tasks.clone(), ..handle }
    }

    /// The run's id.
    pub const fn id(&self) -> RunId {
        self.id
    }

    /// A note for this caller, beside the run's own warnings: that it joined a run that was there already.
    pub const fn note(&self) -> Option<&Warning> {
        self.note.as_ref()
    }

    /// A hold that can give the run up later.
    pub fn hold(&self) -> Hold {
        Hold { id: self.id, hub: Arc::downgrade(&self.hub), interest: Arc::clone(&self.interest) }
    }

    /// Whether giving up this handle can end the run: this process does the run, and this handle counts.
    pub fn is_here(&self) -> bool {
        self.interest.wanted_by.is_some() || self.interest.successor.get().is_some()
    }

    /// Whether the run was read from the store.
    pub const fn is_elsewhere(&self) -> bool {
        self.tasks.is_some()
    }

    /// Whether only this process holds the run's texts.
    pub fn is_unstored(&self) -> bool {
        let of_successor = self.interest.successor.get().is_some_and(Self::is_unstored);
        of_successor || self.hub.is_unstored() || self.hub.with_run(|run| run.plan.store != StoreMode::Full)
    }

    /// Whether the run is closed.
    pub fn is_closed(&self) -> bool {
        self.hub.with_run(|run| run.closed)
    }

    /// The age of a run in progress in milliseconds, from its start on the clock of its events.
    pub fn age_ms(&self) -> u64 {
        self.hub.age_ms()
    }

    /// A snapshot, and every later update.
    pub fn watch(&self) -> (Run, Watch) {
        self.hub.watch()
    }

    /// A run and every later event: from the first event on for the first caller, else from a snapshot.
    pub fn watch_events(&self) -> (Run, Watch) {
        self.beginning().unwrap_or_else(|| self.hub.watch_events())
    }

    /// The run before its first event in this process, and every event, for the first caller only.
    pub fn beginning(&self) -> Option<(Run, Watch)> {
        self.beginning.lock().take()
    }

    /// A snapshot of the run.
    pub fn snapshot(&self) -> Run {
        self.hub.snapshot()
    }

    /// Reads the run without copying it.
    pub fn with_run<T>(&self, read: impl FnOnce(&Run) -> T) -> T {
        self.hub.with_run(read)
    }

    /// Waits for the run's answer or until `until`; the run goes on either way. Also waits for its files, but never
    /// beyond that moment or [`FILES_MAX`].
    pub fn wait(&self, until: Option<Instant>) -> BoxFuture<'_, Report> {
        async move {
            let decided = self.hub.reached(Phase::Decided);
            if let Some(until) = until {
                if timeout_at(until, decided).await.is_err() {
                    return self.report();
                }
            } else {
                decided.await;
            }
            let patience = Instant::now() + FILES_MAX;
            self.report_with_files(until.map_or(patience, |until| until.min(patience))).await
        }
        .boxed()
    }

    /// Waits until late seats have answered or are given up, too.
    pub fn wait_closed(&self) -> BoxFuture<'_, Report> {
        async move {
            self.closed().await;
            self.report_with_files(Instant::now() + FILES_MAX).await
        }
        .boxed()
    }

    /// Returns when the run is closed, or its process is lost.
    pub async fn closed(&self) {
        self.hub.reached(Phase::Closed).await;
    }

    /// Returns when the run has ended without `Closed` as its last event: a defect stopped it, or its process is lost.
    pub async fn stopped(&self) {
        stopped(&self.hub).await;
    }

    /// The report with the files when they are all written, or as they are at this moment.
    async fn report_with_files(&self, until: Instant) -> Report {
        // Made while the files are written on another thread.
        let report = self.report();
        let files = self.files();
        let files = timeout_at(until, files.settled()).await.unwrap_or_else(|_| files.now());
        Report { files, ..report }
    }

    /// The files of the run, or of its continuation here.
    fn files(&self) -> &FilesWatch {
        self.interest.successor.get().map_or(&self.files, Self::files)
    }

    /// The run's report now.
    pub fn report(&self) -> Report {
        let run = self.snapshot();
        let mut report = self.report_of(&run);
        if run.status == RunStatus::Running {
            // The newest event may be old.
            report.elapsed_ms = self.age_ms();
        }
        if let Some(before) = self.cost_before {
            report.spent_now_usd = Some(run.cost().minus(before).as_usd());
            report.asked_at = Some(clock::stamp(self.id.unix_ms()));
        }
        report.warnings.extend(self.note.as_ref().map(ErrorReport::of_warning));
        report
    }

    /// The report of a snapshot.
    pub fn report_of(&self, run: &Run) -> Report {
        Report::of(run, self.files().now(), &self.calibration)
    }

    /// Lets the run decide with the answers so far, or with the first that comes.
    ///
    /// Returns `false`, and does nothing, if this caller is not alone or another process executes the run.
    pub fn hurry(&self) -> bool {
        self.steer(Stop::hurry)
    }

    /// Cancels the call of a seat, and lets the run wait for it no longer. Returns `false` as [`RunHandle::hurry`] does.
    pub fn skip(&self, seat: SeatNumber) -> bool {
        self.steer(|stop| stop.skip(seat))
    }

    fn steer(&self, steer: impl FnOnce(&Stop)) -> bool {
        if let Some(successor) = self.interest.successor.get() {
            return successor.steer(steer);
        }
        let is_alone =
            self.interest.wanted_by.as_ref().is_some_and(|count| count.load(Ordering::Relaxed) == 1);
        if is_alone {
            steer(&self.interest.stop);
        }
        is_alone
    }

    /// Gives the run up for this caller: connections are closed if that stops their cost, and all answers so far are
    /// kept.
    pub fn cancel(&self) {
        self.interest.give_up();
    }

    /// Gives the run up and closes every connection at once, unless another caller still wants it.
    pub fn abort(&self) {
        self.cancel();
        if self.interest.stop.is_cancelled() {
            self.interest.stop.abort();
        }
        if let Some(successor) = self.interest.successor.get() {
            successor.abort();
        }
    }
}

/// See [`RunHandle::stopped`].
pub(crate) async fn stopped(hub: &Hub) {
    hub.reached(Phase::Closed).await;
    if hub.with_run(|run| run.closed) {
        std::future::pending::<()>().await;
    }
}
