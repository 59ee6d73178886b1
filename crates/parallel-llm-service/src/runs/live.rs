//! The runs under way. A run belongs to nobody who asked for it: dropping a handle cancels nothing.

use std::collections::{BTreeMap, VecDeque};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::future::BoxFuture;
use parallel_llm_engine::call::hub::Hub;
use parallel_llm_engine::engine::Underway;
use parallel_llm_engine::run::Run;
use parallel_llm_engine::run::calibration::Calibration;
use parallel_llm_engine::value::next::Operation;
use parallel_llm_engine::{Code, Engine, Failure, Reopening, RunId, RunPlan, RunStatus, Stop};
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::runs::files::{self, AroundFiles, FileWriter, FilesWatch, Folder};
use crate::runs::handle::RunHandle;
use crate::telemetry;

/// Runs one process does at once. Each may hold 64 streams; past this a caller is better told to wait.
const RUNS_MAX: usize = 1_000;
/// Closed runs that are remembered here because no store has their texts: enough for a caller that was answered
/// before the end to fetch the rest.
const UNSTORED_MAX: usize = 16;

/// How long the last files of runs that are over are waited for.
const WRITING_MAX: Duration = Duration::from_secs(1);

/// The runs under way in this process.
#[derive(Clone)]
pub struct Runs {
    engine: Engine,
    /// How often such answers are right.
    calibration: Arc<Calibration>,
    /// How long a run that was given up may read replies that are paid for anyway.
    drain: Duration,
    live: Arc<Mutex<BTreeMap<RunId, Live>>>,
    /// The newest closed runs whose texts are stored nowhere, oldest first.
    unstored: Arc<Mutex<VecDeque<RunHandle>>>,
    tasks: TaskTracker,
    /// What writes the files of runs.
    writing: TaskTracker,
    /// The process is about to leave: whoever follows the runs of others stops.
    leaving: CancellationToken,
    /// What stands around the writing of each file.
    around_files: Option<AroundFiles>,
}

/// A run that is under way or about to be.
struct Live {
    hub: Arc<Hub>,
    /// `None` until it has begun.
    handle: Option<RunHandle>,
}

type Opening = BoxFuture<'static, Result<Underway, Failure>>;

impl Runs {
    /// No runs yet. One that is given up has `drain` to read on what is paid for anyway.
    pub fn new(engine: Engine, drain: Duration) -> Self {
        Self {
            engine,
            calibration: Arc::default(),
            drain,
            live: Arc::default(),
            unstored: Arc::default(),
            tasks: TaskTracker::new(),
            writing: TaskTracker::new(),
            leaving: CancellationToken::new(),
            around_files: None,
        }
    }

    /// The same with something of the caller's around each file that is written.
    #[must_use]
    pub fn with_around_files(self, around_files: Option<AroundFiles>) -> Self {
        Self { around_files, ..self }
    }

    /// The same, telling with their answers how often such are right.
    #[must_use]
    pub fn calibrated(self, calibration: Arc<Calibration>) -> Self {
        Self { calibration, ..self }
    }

    /// Begins a run, with its files in a folder inside `output_dir` where the plan wants files. When it returns, the
    /// run is durable and on its way; a failure has cost nothing.
    pub async fn start(&self, plan: RunPlan, output_dir: PathBuf) -> Result<RunHandle, Failure> {
        let (base, run_id) = (output_dir.clone(), plan.run_id);
        let folder = if plan.files {
            Some(files::in_time(&output_dir, move || Folder::create(&base, run_id)).await?)
        } else {
            None
        };
        let hub = Arc::new(Hub::new(Arc::new(plan)));
        let (engine, new_folder) = (self.engine.clone(), folder.clone());
        let opening = |hub, stop| -> Opening { Box::pin(async move { engine.open(hub, stop).await }) };
        let begun = self.begin(hub, folder, opening).await;
        if let (true, Some(folder)) = (begun.is_err(), new_folder) {
            // An empty folder that is left behind is no harm.
            let _ = files::in_time(&output_dir, move || {
                folder.discard();
                Ok(())
            })
            .await;
        }
        begun
    }

    /// Continues a run that is at a stand. Nothing it has is asked for again but what `reopening` names.
    pub async fn reopen(
        &self,
        run: Run,
        reopening: Reopening,
        output_dir: PathBuf,
    ) -> Result<RunHandle, Failure> {
        let (base, run_id) = (output_dir.clone(), run.plan.run_id);
        let folder = if run.plan.files {
            Some(files::in_time(&output_dir, move || Ok(Folder::of(&base, run_id))).await?)
        } else {
            None
        };
        let engine = self.engine.clone();
        let opening =
            |hub, stop| -> Opening { Box::pin(async move { engine.reopen(hub, stop, reopening).await }) };
        // Whoever follows it from here on must not take it for over.
        let going_on = Run { status: RunStatus::Running, closed: false, ..run };
        self.begin(Arc::new(Hub::of(going_on)), folder, opening).await
    }

    /// Notes that a run begins. Two calls may want to continue the same one at the same moment.
    fn claim(&self, hub: Arc<Hub>) -> Result<Claim, Failure> {
        let id = hub.with_run(|run| run.plan.run_id);
        let mut live = self.live();
        // One that is over may not have been let go of yet.
        let is_taken = |live: &Live| !live.handle.as_ref().is_some_and(RunHandle::is_closed);
        if live.get(&id).is_some_and(is_taken) {
            let message = format!("the run {id} is being gone on with already");
            return Err(Failure::new(Code::Busy, message).with_run(id).with_next(Operation::WaitForRun));
        }
        // What is refused here has no run, so none is named.
        let is_full = || Failure::new(Code::Busy, format!("{RUNS_MAX} runs are under way"));
        if live.len() >= RUNS_MAX {
            return Err(is_full());
        }
        live.insert(id, Live { hub: Arc::clone(&hub), handle: None });
        Ok(Claim { runs: self.clone(), id, hub })
    }

    /// Lets a run begin and go on by itself, whether or not the caller stays to hear of it.
    async fn begin(
        &self,
        hub: Arc<Hub>,
        folder: Option<Folder>,
        opening: impl FnOnce(Arc<Hub>, Stop) -> Opening,
    ) -> Result<RunHandle, Failure> {
        let claim = self.claim(Arc::clone(&hub))?;
        let stop = Stop::default();
        let opening = opening(Arc::clone(&hub), stop.clone());
        // Whoever follows the run sees it from its first event on.
        let logged = telemetry::is_wanted().then(|| hub.watch_events());
        let handle = RunHandle::here(Arc::clone(&hub), Arc::clone(&self.calibration), stop.clone());
        let (sender, begun_or_failed) = oneshot::channel();
        let runs = self.clone();
        self.tasks.spawn(async move {
            let underway = match opening.await {
                Ok(underway) => underway,
                // The caller may have gone; then nobody needs to know.
                Err(failure) => return drop(sender.send(Err(failure))),
            };
            if let Some((run, watch)) = logged {
                runs.tasks.spawn(telemetry::follow(run, watch));
            }
            let handle = handle.with_files(runs.write_files(folder, hub));
            claim.hold(handle.clone());
            drop(sender.send(Ok(handle)));
            // Boxed, because a task is copied several times while it is spawned and ended, and this is most of it.
            Box::pin(finish(underway, &stop, runs.drain)).await;
            drop(claim);
        });
        begun_or_failed
            .await
            .unwrap_or_else(|_| Err(Failure::new(Code::Internal, "a defect stopped the run as it began")))
    }

    fn write_files(&self, folder: Option<Folder>, hub: Arc<Hub>) -> FilesWatch {
        let Some(folder) = folder else { return FilesWatch::off() };
        let (writer, watch) = FileWriter::new(folder, hub, Arc::clone(&self.calibration));
        self.writing.spawn(writer.within(self.around_files.clone()).follow());
        watch
    }

    /// A run is over: the store answers for it from now on, where it has its texts.
    fn retire(&self, id: RunId, hub: &Arc<Hub>) {
        let mut live = self.live();
        if !live.get(&id).is_some_and(|live| Arc::ptr_eq(&live.hub, hub)) {
            return;
        }
        let handle = live.remove(&id).and_then(|live| live.handle);
        drop(live);
        let Some(handle) = handle.filter(RunHandle::is_unstored) else { return };
        let mut unstored = self.unstored();
        if unstored.len() < UNSTORED_MAX || make_room(&mut unstored, &handle) {
            unstored.push_back(handle);
        }
    }

    /// The handle of a run under way, or of one that is remembered nowhere else.
    pub fn find(&self, id: RunId) -> Option<RunHandle> {
        let live = self.live().get(&id).and_then(|live| live.handle.clone());
        live.or_else(|| self.unstored().iter().find(|handle| handle.id() == id).cloned())
    }

    /// Does something beside the runs, until it is done or the process leaves.
    pub(crate) fn beside(&self, work: impl Future<Output = ()> + Send + 'static) {
        self.tasks.spawn(self.leaving.clone().run_until_cancelled_owned(work));
    }

    /// Waits until every run has ended, but no longer than this.
    pub async fn drain(&self, limit: Duration) {
        self.leaving.cancel();
        self.tasks.close();
        if tokio::time::timeout(limit, self.tasks.wait()).await.is_err() {
            tracing::warn!("runs under way did not end in time; what they had is kept");
        }
        // Whatever they lack can be made anew; a folder that does not answer does not hold the process.
        self.writing.close();
        if tokio::time::timeout(limit.min(WRITING_MAX), self.writing.wait()).await.is_err() {
            tracing::warn!("not all files of the newest runs are written; `runs export` makes them anew");
        }
    }

    fn unstored(&self) -> MutexGuard<'_, VecDeque<RunHandle>> {
        self.unstored.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn live(&self) -> MutexGuard<'_, BTreeMap<RunId, Live>> {
        self.live.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Lets go of a run that is remembered nowhere else, for one more of the same kind: the oldest of its principal, else of any
/// holder of a token, else of the owner; but a holder never takes a place of the owner's.
fn make_room(unstored: &mut VecDeque<RunHandle>, newest: &RunHandle) -> bool {
    let principal = |handle: &RunHandle| handle.with_run(|run| run.plan.asked_by.clone());
    let of_newest = principal(newest);
    let oldest = |is_meant: &dyn Fn(&Option<String>) -> bool| {
        unstored.iter().position(|handle| is_meant(&principal(handle)))
    };
    let of_same = oldest(&|principal| *principal == of_newest);
    let of_anybody = || if of_newest.is_none() { Some(0) } else { None };
    let place = match &of_newest {
        Some(_) => of_same.or_else(|| oldest(&Option::is_some)),
        None => oldest(&Option::is_some).or(of_same),
    };
    place.or_else(of_anybody).and_then(|place| unstored.remove(place)).is_some()
}

/// A run that is under way, or about to be. Dropped when it is over, however that came.
struct Claim {
    runs: Runs,
    id: RunId,
    hub: Arc<Hub>,
}

impl Claim {
    /// The run has begun.
    fn hold(&self, handle: RunHandle) {
        if let Some(live) = self.runs.live().get_mut(&self.id) {
            live.handle = Some(handle);
        }
        // What an earlier part had and could not write is not what the run goes on from.
        self.runs.unstored().retain(|earlier| earlier.id() != self.id);
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        self.runs.retire(self.id, &self.hub);
    }
}

/// Does a run to its end. One that is given up reads on what is paid for anyway, but only for so long.
async fn finish(underway: Underway, stop: &Stop, drain: Duration) {
    let mut finishing = std::pin::pin!(underway.finish());
    tokio::select! {
        biased;
        () = &mut finishing => return,
        () = async { stop.cancelled().await; tokio::time::sleep(drain).await } => stop.abort(),
    }
    finishing.await;
}

#[cfg(test)]
mod tests {
    use parallel_llm_engine::ModelRef;
    use parallel_llm_engine::port::memory::MemoryJournal;
    use parallel_llm_engine::port::{Call, Caller, Charge, Permit};

    use super::*;

    /// Nobody is called.
    struct Nobody;

    impl Caller for Nobody {
        fn admit(&self, _: Call) -> BoxFuture<'static, Result<Permit, Failure>> {
            Box::pin(std::future::pending())
        }

        fn look_up(&self, _: &ModelRef, _: &str) -> BoxFuture<'static, Result<Option<Charge>, Failure>> {
            Box::pin(std::future::pending())
        }
    }

    #[test]
    fn a_run_that_has_no_room_is_refused_without_a_name() {
        let plan = include_str!("../../../parallel-llm-engine/tests/fixtures/plan_v1.json");
        let plan: RunPlan = serde_json::from_str(plan).unwrap();
        let runs =
            Runs::new(Engine::new(Arc::new(Nobody), Arc::new(MemoryJournal::default())), Duration::ZERO);
        let hub = |number: usize| {
            let run_id = RunId::from_parts(number as u64, 1);
            Arc::new(Hub::new(Arc::new(RunPlan { run_id, ..plan.clone() })))
        };
        let claims: Vec<Claim> = (0..RUNS_MAX).map(|number| runs.claim(hub(number)).ok().unwrap()).collect();
        let full = runs.claim(hub(RUNS_MAX)).err().unwrap();
        assert_eq!((full.code, &*full.message), (Code::Busy, "1000 runs are under way"));
        assert_eq!((&*full.next_step(), &full.run_id), ("try again when a run has ended", &None));
        let taken = runs.claim(hub(0)).err().unwrap();
        assert_eq!(taken.run_id.map(|id| *id), Some(claims[0].id), "one that is under way is named");
    }
}
