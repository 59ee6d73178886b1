//! Runs that were done, or that another process does: found by name, listed, and watched like the ones under way.

use std::sync::Arc;
use std::time::Duration;

use parallel_llm_engine::calibration::Calibration;
use parallel_llm_engine::live::Hub;
use parallel_llm_engine::place::Place;
use parallel_llm_engine::run::Run;
use parallel_llm_engine::{Code, Event, Failure, Recorded, RunId, RunPlan, RunStatus};
use parallel_llm_store::{RunFilter, RunSummary};
use tokio::task::JoinSet;

use super::{RunHandle, Scope, Service};
use crate::clock;
use crate::files::{self, FileWriter, FilesWatch, Folder};
use crate::output::report::{FilesReport, Report};

/// As many runs as the store lists at once.
const LIST_MAX: usize = 500;
/// How often the store is asked about a run another process is doing.
const LOOK_EVERY: Duration = Duration::from_millis(500);

/// A run, wherever it is known from.
pub enum Kept {
    /// Under way in this process.
    Live(RunHandle),
    /// Read from the store; another process may still be at it.
    Past(Box<PastRun>),
}

/// A run read from the store.
pub struct PastRun {
    /// The fold of its events.
    pub run: Run,
    /// Its events.
    pub events: Vec<Recorded>,
    /// When it began, in milliseconds since 1970.
    pub created_at_ms: i64,
    /// As it was planned, before any further part.
    plan: Arc<RunPlan>,
    files: FilesReport,
    calibration: Arc<Calibration>,
    service: Service,
}

impl Service {
    /// Finds a run by its name, by a unique beginning of it, or `@` for the newest.
    pub async fn find(&self, name: &str) -> Result<Kept, Failure> {
        self.asker().check(Scope::Read)?;
        Ok(match self.seek(name).await? {
            // Whoever may only read gives nothing up.
            Kept::Live(handle) if self.asker().check(Scope::Ask).is_err() => Kept::Live(handle.observe()),
            kept => kept,
        })
    }

    /// The same for a use case that may do more than read.
    pub(super) async fn seek(&self, name: &str) -> Result<Kept, Failure> {
        let is_visible = |handle: &RunHandle| handle.look(|run| self.asker().may_see(&run.plan));
        let live = |id| self.parts.runs.made().and_then(|runs| runs.find(id)).filter(is_visible);
        if let Some(handle) = name.parse().ok().and_then(live) {
            return Ok(Kept::Live(handle));
        }
        let id = self.store().await?.find_prefix(self.asker().whose(), name).await?;
        match live(id) {
            Some(handle) => Ok(Kept::Live(handle)),
            None => self.recall(id).await.map(|past| Kept::Past(Box::new(past))),
        }
    }

    /// A look at a run, whichever process does it. Whoever only looks gives nothing up.
    pub async fn watch(&self, name: &str) -> Result<RunHandle, Failure> {
        Ok(match self.find(name).await? {
            Kept::Live(handle) => handle.observe(),
            Kept::Past(past) => past.watch(),
        })
    }

    /// Runs, newest first.
    pub async fn list(&self, filter: RunFilter) -> Result<Vec<RunSummary>, Failure> {
        self.asker().check(Scope::Read)?;
        self.store().await?.list(self.asker().whose(), filter).await
    }

    /// Runs that began since this moment, in milliseconds since 1970, and that a process which is gone left unfinished:
    /// those that can be gone on with, newest first, up to 500. None where nothing has needed the store yet.
    pub async fn interrupted_since(&self, since_ms: i64) -> Result<Vec<RunSummary>, Failure> {
        self.asker().check(Scope::Read)?;
        let Some(store) = self.parts.store.made() else { return Ok(Vec::new()) };
        let status = Some(RunStatus::Interrupted);
        let filter = RunFilter { limit: LIST_MAX, status, before: None };
        let mut runs = store.list(self.asker().whose(), filter).await?;
        // Without its question a run cannot be gone on with.
        runs.retain(|run| run.created_at_ms >= since_ms && run.question_excerpt.is_some());
        Ok(runs)
    }

    /// A run as the store has it.
    pub async fn load(&self, id: RunId) -> Result<PastRun, Failure> {
        self.asker().check(Scope::Read)?;
        self.recall(id).await
    }

    /// The same for a use case that may do more than read.
    pub(super) async fn recall(&self, id: RunId) -> Result<PastRun, Failure> {
        let stored = self.store().await?.load(self.asker().whose(), id).await?;
        let stored = stored.ok_or_else(|| missing(id))?;
        let run = stored.run();
        let files = files::look_up(&self.output_dir(), &run);
        let calibration = self.parts.calibration.get().await;
        let (events, created_at_ms) = (stored.events, stored.created_at_ms);
        let (plan, service) = (stored.plan, self.clone());
        Ok(PastRun { run, events, created_at_ms, plan, files, calibration, service })
    }
}

fn missing(name: impl std::fmt::Display) -> Failure {
    Failure::new(Code::RunNotFound, format!("there is no run `{name}`"))
}

impl Kept {
    /// The run as it stands.
    pub fn run(&self) -> Run {
        match self {
            Self::Live(handle) => handle.snapshot(),
            Self::Past(past) => past.run.clone(),
        }
    }
}

impl PastRun {
    /// Tells each event, with the run as it stood then.
    pub fn retell(&self, mut tell: impl FnMut(&Run, &Recorded)) {
        let mut run = Run::new(Arc::clone(&self.plan));
        for recorded in &self.events {
            run.apply(recorded);
            tell(&run, recorded);
        }
    }

    /// A hold on the run, which another process may still be doing.
    pub fn watch(self) -> RunHandle {
        self.hold(None)
    }

    /// A hold on the run for one who asks the same: its files are written to the output folder of this process too,
    /// where they are not there or on their way.
    pub fn join(self) -> Result<RunHandle, Failure> {
        let claim = || Folder::claim(&self.service.output_dir(), self.run.plan.run_id);
        let folder = if self.run.plan.files { claim()? } else { None };
        Ok(self.hold(folder))
    }

    fn hold(mut self, folder: Option<Folder>) -> RunHandle {
        let (id, status) = (self.run.plan.run_id, self.run.status);
        if status == RunStatus::Running {
            self.run.elapsed_ms = self.elapsed_ms();
        }
        // The files of a run that has just closed are written a moment later.
        let theirs = if status == RunStatus::Interrupted {
            FilesWatch::settled_as(self.files)
        } else {
            FilesWatch::of_another(&self.service.output_dir(), &self.run)
        };
        let hub = Arc::new(Hub::elsewhere(self.run));
        let mut tasks = JoinSet::new();
        let calibration = self.calibration;
        let ours = folder.map(|folder| FileWriter::new(folder, Arc::clone(&hub), Arc::clone(&calibration)));
        let files = ours.map_or(theirs, |(writer, files)| {
            tasks.spawn(writer.follow());
            files
        });
        if status == RunStatus::Running {
            tasks.spawn(relay_from(self.service, id, Arc::clone(&hub)));
        } else {
            // Nobody will close it any more, so nobody is to wait for that.
            hub.lose();
        }
        RunHandle::elsewhere(hub, calibration, files, tasks)
    }

    /// From the start to now, for a run under way. One that has stood still does not tell for how long, so there it is
    /// the time of its newest event.
    fn elapsed_ms(&self) -> u64 {
        let has_stood = self.events.iter().any(|recorded| matches!(recorded.event, Event::Reopened { .. }));
        let began_ms = u64::try_from(self.created_at_ms).ok().filter(|_| !has_stood);
        let since_ms = began_ms.map_or(0, |began_ms| clock::unix_ms().saturating_sub(began_ms));
        self.run.elapsed_ms.max(since_ms)
    }

    /// The run's report.
    pub fn report(&self) -> Report {
        Report::of(&self.run, self.files.clone(), &self.calibration)
    }
}

/// Brings what the store has of a run to those who watch it here, until it is over or its process is gone.
async fn relay_from(service: Service, id: RunId, hub: Arc<Hub>) {
    while !hub.look(|run| run.closed) {
        tokio::time::sleep(LOOK_EVERY).await;
        let seq = hub.look(|run| run.seq);
        let look = match service.store().await {
            Ok(store) => store.follow(id, seq).await,
            Err(failure) => Err(failure),
        };
        let look = match look {
            Ok(Some(look)) => look,
            // Purged meanwhile.
            Ok(None) => return hub.lose(),
            // A store that cannot be read now may be read at the next look; whoever waits has a limit of their own.
            Err(_) => continue,
        };
        let texts: Vec<(Place, String)> =
            look.checkpoints.into_iter().map(|one| (one.attempt.place, one.text)).collect();
        hub.relay(look.events, texts);
        if look.interrupted {
            return hub.lose();
        }
    }
}
