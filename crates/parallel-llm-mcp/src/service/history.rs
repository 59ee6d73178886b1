//! Runs that were done: found by name, listed, and told like the ones under way.

use std::time::Duration;

use parallel_llm_engine::run::Run;
use parallel_llm_engine::{Code, Failure, Recorded, RunId, RunStatus};
use parallel_llm_store::{RunFilter, RunSummary, StoredRun};
use tokio::time::Instant;

use super::{RunHandle, Service};
use crate::files;
use crate::output::report::{FilesReport, Report};

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
    files: FilesReport,
    service: Service,
}

impl Service {
    /// Finds a run by its name, by a unique beginning of it, or `@` for the newest.
    pub async fn find(&self, name: &str) -> Result<Kept, Failure> {
        let live = |id| self.0.runs.made().and_then(|runs| runs.find(id));
        if let Some(handle) = name.parse().ok().and_then(live) {
            return Ok(Kept::Live(handle));
        }
        let id = self.store().await?.find_prefix(name).await?;
        match live(id) {
            Some(handle) => Ok(Kept::Live(handle)),
            None => self.load(id).await.map(|past| Kept::Past(Box::new(past))),
        }
    }

    /// Runs, newest first.
    pub async fn list(&self, filter: RunFilter) -> Result<Vec<RunSummary>, Failure> {
        self.store().await?.list(filter).await
    }

    /// A run as the store has it.
    pub async fn load(&self, id: RunId) -> Result<PastRun, Failure> {
        let missing = || Failure::new(Code::RunNotFound, format!("there is no run `{id}`"));
        let stored = self.store().await?.load(id).await?.ok_or_else(missing)?;
        let run = fold(&stored);
        let files = files::look_up(&self.output_dir(), &run);
        Ok(PastRun {
            run,
            events: stored.events,
            created_at_ms: stored.created_at_ms,
            files,
            service: self.clone(),
        })
    }
}

/// The run as the store knows it: its events, the texts that were on their way, and whether it was left.
fn fold(stored: &StoredRun) -> Run {
    let mut run = Run::fold(stored.plan.clone(), &stored.events);
    for checkpoint in &stored.checkpoints {
        if let Some(seat) = run.place_mut(checkpoint.attempt.place) {
            seat.partial.clone_from(&checkpoint.text);
        }
    }
    if stored.interrupted {
        run.interrupt();
    }
    run
}

impl Kept {
    /// The run as it stands.
    pub fn run(&self) -> Run {
        match self {
            Self::Live(handle) => handle.snapshot(),
            Self::Past(past) => past.run.clone(),
        }
    }

    /// Waits for the run's answer, or until this moment.
    pub async fn wait(self, until: Option<Instant>) -> Result<Report, Failure> {
        match self {
            Self::Live(handle) => Ok(handle.wait(until).await),
            Self::Past(past) => past.wait(until).await,
        }
    }
}

impl PastRun {
    async fn wait(mut self, until: Option<Instant>) -> Result<Report, Failure> {
        while self.run.status == RunStatus::Running && until.is_none_or(|until| Instant::now() < until) {
            tokio::time::sleep(LOOK_EVERY).await;
            let service = self.service.clone();
            self = service.load(self.run.plan.run_id).await?;
        }
        Ok(self.report())
    }

    /// The run's report.
    pub fn report(&self) -> Report {
        Report::of(&self.run, self.files.clone())
    }
}
