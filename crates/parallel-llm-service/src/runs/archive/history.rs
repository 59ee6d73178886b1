//! Stored runs and runs of other processes: found by id, listed and watched.

use std::path::PathBuf;
use std::sync::Arc;

use futures_util::future::{BoxFuture, FutureExt as _};
use parallel_llm_engine::call::hub::Hub;
use parallel_llm_engine::run::Run;
use parallel_llm_engine::run::calibration::Calibration;
use parallel_llm_engine::run::event::EventPhase;
use parallel_llm_engine::{Code, Failure, Recorded, RunId, RunPlan, RunStatus};
use parallel_llm_store::{RunFilter, RunSummary, Store};
use tokio::task::{AbortHandle, JoinSet};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::access::{Principal, Scope};
use crate::lazy::Lazy;
use crate::report::{FilesReport, Report};
use crate::runs::files::{self, FileWriter, FilesWatch, Folder};
use crate::runs::measures::calibration::CalibrationFile;
use crate::runs::progress::handle::RunHandle;
use crate::runs::progress::live::Runs;
use crate::runs::progress::relay::Relay;
use parallel_llm_settings::clock;

/// The most runs that the store lists at once.
const LIST_MAX: usize = 500;

/// A run from this process or from the store.
pub enum KnownRun {
    /// In progress in this process.
    Live(RunHandle),
    /// Read from the store; another process may still work on it.
    Past(Box<PastRun>),
}

/// A run read from the store.
pub struct PastRun {
    /// The fold of its events.
    pub run: Run,
    /// Its events.
    pub events: Vec<Recorded>,
    /// Its start, in milliseconds since 1970.
    pub created_at_ms: i64,
    /// The original plan, without further parts.
    plan: Arc<RunPlan>,
    files: FilesReport,
    calibration: Arc<Calibration>,
    history: History,
}

/// The runs that a principal may see.
#[derive(Clone)]
pub struct History {
    pub(crate) store: Arc<Lazy<Store>>,
    pub(crate) live: Arc<Lazy<Runs>>,
    pub(crate) calibration: Arc<CalibrationFile>,
    /// The parent of the runs' folders.
    pub(crate) output_dir: PathBuf,
    pub(crate) principal: Principal,
}

impl History {
    /// Finds a run by its name, as in [`History::run_id`].
    pub fn find<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<KnownRun, Failure>> {
        async move {
            self.principal.check(Scope::Read)?;
            Ok(match self.seek(name).await? {
                // A principal that may only read cannot give a run up.
                KnownRun::Live(handle) if self.principal.check(Scope::Ask).is_err() => {
                    KnownRun::Live(handle.observe())
                }
                kept => kept,
            })
        }
        .boxed()
    }

    /// The same without the check of the scope, which the use case has done.
    pub(crate) fn seek<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<KnownRun, Failure>> {
        async move {
            let is_visible = |handle: &RunHandle| handle.with_run(|run| self.principal.may_see(&run.plan));
            let live = |id| self.live.made().and_then(|runs| runs.find(id)).filter(is_visible);
            if let Some(handle) = name.parse().ok().and_then(live) {
                return Ok(KnownRun::Live(handle));
            }
            let id = self.resolve(name).await?;
            match live(id) {
                Some(handle) => Ok(KnownRun::Live(handle)),
                None => self.read(id).await.map(|past| KnownRun::Past(Box::new(past))),
            }
        }
        .boxed()
    }

    /// An observer's handle on a run of any process. It cannot give the run up.
    pub async fn watch(&self, name: &str) -> Result<RunHandle, Failure> {
        Ok(match self.find(name).await? {
            KnownRun::Live(handle) => handle.observe(),
            KnownRun::Past(past) => past.watch(),
        })
    }

    /// Runs, newest first.
    pub fn list(&self, filter: RunFilter) -> BoxFuture<'_, Result<Vec<RunSummary>, Failure>> {
        async move {
            self.principal.check(Scope::Read)?;
            self.store.get().await?.list(self.principal.whose(), filter).await
        }
        .boxed()
    }

    /// Interrupted runs that began since this moment (milliseconds since 1970) and can be continued, newest first, up
    /// to [`LIST_MAX`]. Empty if nothing has opened the store yet.
    pub async fn interrupted_since(&self, since_ms: i64) -> Result<Vec<RunSummary>, Failure> {
        self.principal.check(Scope::Read)?;
        let Some(store) = self.store.made() else { return Ok(Vec::new()) };
        let status = Some(RunStatus::Interrupted);
        let filter = RunFilter { limit: LIST_MAX, status, before: None };
        let mut runs = store.list(self.principal.whose(), filter).await?;
        // A run cannot be continued without its question.
        runs.retain(|run| run.created_at_ms >= since_ms && run.question_excerpt.is_some());
        Ok(runs)
    }

    /// A run from the store.
    pub fn load(&self, id: RunId) -> BoxFuture<'_, Result<PastRun, Failure>> {
        async move {
            self.principal.check(Scope::Read)?;
            self.read(id).await
        }
        .boxed()
    }

    /// The same without the check of the scope, which the use case has done.
    pub(crate) fn read(&self, id: RunId) -> BoxFuture<'_, Result<PastRun, Failure>> {
        async move {
            let stored = self.store.get().await?.load(self.principal.whose(), id).await?;
            let stored = stored.ok_or_else(|| missing(id))?;
            let run = stored.run();
            let files = files::look_up(&self.output_dir, &run).await;
            let calibration = self.calibration.get().await;
            let (events, created_at_ms) = (stored.events, stored.created_at_ms);
            let (plan, history) = (stored.plan, self.clone());
            Ok(PastRun { run, events, created_at_ms, plan, files, calibration, history })
        }
        .boxed()
    }
}

fn missing(name: impl std::fmt::Display) -> Failure {
    Failure::new(Code::RunNotFound, format!("there is no run `{name}`"))
}

impl KnownRun {
    /// A snapshot of the run.
    pub fn run(&self) -> Run {
        match self {
            Self::Live(handle) => handle.snapshot(),
            Self::Past(past) => past.run.clone(),
        }
    }
}

impl PastRun {
    /// Calls `show` with each event and the run after it.
    pub fn replay(&self, mut show: impl FnMut(&Run, &Recorded)) {
        let mut run = Run::new(Arc::clone(&self.plan));
        for recorded in &self.events {
            run.apply(recorded);
            show(&run, recorded);
        }
    }

    /// An observer's handle on the run, which another process may still do.
    pub fn watch(self) -> RunHandle {
        let (store, id) = (Arc::clone(&self.history.store), self.run.plan.run_id);
        let is_running = self.run.status == RunStatus::Running;
        let Held { hub, mut tasks, files, calibration, .. } = self.hold(None, TaskTracker::new());
        if is_running {
            tasks.spawn(Relay::new(store, id, Arc::clone(&hub)).run());
        } else {
            // No process will close it any more, so waiting for that would never end.
            hub.mark_interrupted();
        }
        RunHandle::elsewhere(hub, calibration, files, tasks)
    }

    /// The parts of a handle on the run. If `folder` is given, its files are written there, among the writes of `writing`.
    pub(crate) fn hold(mut self, folder: Option<Folder>, writing: TaskTracker) -> Held {
        if self.run.status == RunStatus::Running {
            self.run.elapsed_ms = self.elapsed_ms();
        }
        // Files of a run that has just closed are written a moment later.
        let theirs = if self.run.status == RunStatus::Interrupted {
            FilesWatch::settled_as(self.files)
        } else {
            FilesWatch::of_another(&self.history.output_dir, &self.run, self.files)
        };
        let (hub, mut tasks) = (Arc::new(Hub::remote(self.run)), JoinSet::new());
        let calibration = self.calibration;
        let ours =
            folder.map(|folder| FileWriter::new(folder, Arc::clone(&hub), Arc::clone(&calibration), writing));
        let (files, writer) = match ours {
            // Whoever drops the task ends it.
            Some((writer, files)) => (files, Some(tasks.spawn(writer.follow(CancellationToken::new())))),
            None => (theirs, None),
        };
        Held { hub, tasks, files, calibration, writer }
    }

    /// The time from the start to now, for a run in progress. A run with further parts does not say how long it was
    /// interrupted, so it counts to its newest event.
    fn elapsed_ms(&self) -> u64 {
        let was_reopened = self.events.iter().any(|recorded| recorded.event.phase() == EventPhase::Continues);
        let began_ms = u64::try_from(self.created_at_ms).ok().filter(|_| !was_reopened);
        let since_ms = began_ms.map_or(0, |began_ms| clock::unix_ms().saturating_sub(began_ms));
        self.run.elapsed_ms.max(since_ms)
    }

    /// The run's report.
    pub fn report(&self) -> Report {
        Report::of(&self.run, self.files.clone(), &self.calibration)
    }
}

/// The parts of a handle on a run of another process.
pub(crate) struct Held {
    pub(crate) hub: Arc<Hub>,
    pub(crate) tasks: JoinSet<()>,
    pub(crate) files: FilesWatch,
    pub(crate) calibration: Arc<Calibration>,
    /// The task that writes its files here.
    pub(crate) writer: Option<AbortHandle>,
}
