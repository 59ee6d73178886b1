//! The runs under way. A run belongs to nobody who asked for it: dropping a handle cancels nothing.

use std::collections::{BTreeMap, VecDeque};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use parallel_llm_engine::engine::Underway;
use parallel_llm_engine::live::{Hub, Stage, Watch};
use parallel_llm_engine::request::StoreMode;
use parallel_llm_engine::run::Run;
use parallel_llm_engine::{Code, Engine, Failure, RunId, RunPlan};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::files::{FileWriter, FilesWatch, Folder};
use crate::output::report::Report;
use crate::telemetry;

/// Runs one process does at once. Each may hold 64 streams; past this a caller is better told to wait.
const RUNS_MAX: usize = 1_000;
/// Closed runs that are remembered here because no store has their texts: enough for a caller that was answered
/// before the end to fetch the rest.
const UNSTORED_MAX: usize = 16;

/// The runs under way in this process.
#[derive(Clone)]
pub struct Runs {
    engine: Engine,
    live: Arc<Mutex<BTreeMap<RunId, RunHandle>>>,
    /// The newest closed runs whose texts are stored nowhere, oldest first.
    unstored: Arc<Mutex<VecDeque<RunHandle>>>,
    tasks: TaskTracker,
}

/// A run under way, or just over.
#[derive(Clone)]
pub struct RunHandle {
    id: RunId,
    hub: Arc<Hub>,
    cancel: CancellationToken,
    files: FilesWatch,
}

impl Runs {
    /// No runs yet.
    pub fn new(engine: Engine) -> Self {
        Self { engine, live: Arc::default(), unstored: Arc::default(), tasks: TaskTracker::new() }
    }

    /// Begins a run, with its files in a folder inside `output_dir` where the plan wants files.
    pub async fn start(&self, plan: RunPlan, output_dir: PathBuf) -> Result<RunHandle, Failure> {
        self.check_room()?;
        let folder = if plan.files { Some(Folder::create(&output_dir, plan.run_id)?) } else { None };
        let hub = Arc::new(Hub::new(Arc::new(plan)));
        let cancel = CancellationToken::new();
        match self.engine.open(Arc::clone(&hub), cancel.clone()).await {
            Ok(underway) => Ok(self.follow(underway, hub, cancel, folder)),
            Err(failure) => {
                folder.iter().for_each(Folder::discard);
                Err(failure)
            }
        }
    }

    /// Takes up a run that was interrupted. Nothing it has is asked for again.
    pub async fn resume(&self, run: Run, output_dir: PathBuf) -> Result<RunHandle, Failure> {
        self.check_room()?;
        let folder = run.plan.files.then(|| Folder::of(&output_dir, run.plan.run_id));
        let hub = Arc::new(Hub::of(run));
        let cancel = CancellationToken::new();
        let underway = self.engine.reopen(Arc::clone(&hub), cancel.clone()).await?;
        Ok(self.follow(underway, hub, cancel, folder))
    }

    fn check_room(&self) -> Result<(), Failure> {
        if self.live().len() < RUNS_MAX {
            return Ok(());
        }
        Err(Failure::new(Code::Busy, format!("{RUNS_MAX} runs are under way")))
    }

    /// Lets a run go on by itself, its files and its log lines with it.
    fn follow(
        &self,
        underway: Underway,
        hub: Arc<Hub>,
        cancel: CancellationToken,
        folder: Option<Folder>,
    ) -> RunHandle {
        let id = hub.look(|run| run.plan.run_id);
        let files = match folder {
            Some(folder) => {
                let (writer, watch) = FileWriter::new(folder, Arc::clone(&hub));
                self.tasks.spawn(writer.follow());
                watch
            }
            None => FilesWatch::off(),
        };
        if telemetry::is_wanted() {
            let (run, watch) = hub.watch_events();
            self.tasks.spawn(telemetry::follow(run, watch));
        }
        let handle = RunHandle { id, hub, cancel, files };
        self.live().insert(id, handle.clone());
        let runs = self.clone();
        self.tasks.spawn(async move {
            underway.finish().await;
            runs.retire(id);
        });
        handle
    }

    /// A run is over: the store answers for it from now on, where it has its texts.
    fn retire(&self, id: RunId) {
        let Some(handle) = self.live().remove(&id) else { return };
        if handle.hub.look(|run| run.plan.store == StoreMode::Full) {
            return;
        }
        let mut unstored = self.unstored();
        if unstored.len() == UNSTORED_MAX {
            unstored.pop_front();
        }
        unstored.push_back(handle);
    }

    /// The handle of a run under way, or of one that is remembered nowhere else.
    pub fn find(&self, id: RunId) -> Option<RunHandle> {
        let live = self.live().get(&id).cloned();
        live.or_else(|| self.unstored().iter().find(|handle| handle.id == id).cloned())
    }

    /// Waits until every run has ended, but no longer than this.
    pub async fn drain(&self, limit: Duration) {
        self.tasks.close();
        if tokio::time::timeout(limit, self.tasks.wait()).await.is_err() {
            tracing::warn!("runs under way did not end in time; what they had is kept");
        }
    }

    fn unstored(&self) -> MutexGuard<'_, VecDeque<RunHandle>> {
        self.unstored.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn live(&self) -> MutexGuard<'_, BTreeMap<RunId, RunHandle>> {
        self.live.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl RunHandle {
    /// The run's name.
    pub const fn id(&self) -> RunId {
        self.id
    }

    /// Whether nothing more will happen.
    pub fn is_closed(&self) -> bool {
        self.hub.look(|run| run.closed)
    }

    /// The run as it stands, and everything after.
    pub fn watch(&self) -> (Run, Watch) {
        self.hub.watch()
    }

    /// The run as it stands, and every event after.
    pub fn watch_events(&self) -> (Run, Watch) {
        self.hub.watch_events()
    }

    /// The run as it stands.
    pub fn snapshot(&self) -> Run {
        self.hub.snapshot()
    }

    /// Waits for the run's answer, or until this moment; the run goes on either way.
    pub async fn wait(&self, until: Option<Instant>) -> Report {
        let decided = self.hub.reached(Stage::Decided);
        if let Some(until) = until {
            if tokio::time::timeout_at(until, decided).await.is_err() {
                return Report::of(&self.snapshot(), self.files.now());
            }
        } else {
            decided.await;
        }
        Report::of(&self.snapshot(), self.files.clone().settled().await)
    }

    /// Waits until late seats are in or given up, too.
    pub async fn wait_closed(&self) -> Report {
        self.hub.reached(Stage::Closed).await;
        Report::of(&self.snapshot(), self.files.clone().settled().await)
    }

    /// Gives the run up: connections to providers are closed, what has come is kept.
    pub fn cancel(&self) {
        self.cancel.cancel();
    }
}
