//! The runs in progress. A run does not belong to its callers: dropping a handle cancels nothing.

use std::collections::{BTreeMap, VecDeque};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::{BoxFuture, FutureExt as _};
use parallel_llm_engine::call::hub::{Hub, Phase};
use parallel_llm_engine::engine::Underway;
use parallel_llm_engine::run::Run;
use parallel_llm_engine::run::calibration::Calibration;
use parallel_llm_engine::value::next::Operation;
use parallel_llm_engine::{Code, Engine, Failure, Reopening, RunId, RunPlan, RunStatus, Stop};
use parallel_llm_store::Store;
use parking_lot::Mutex;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::departures::Departures;
use super::handle::{self, RunHandle};
use super::relay::Relay;
use crate::lazy::Lazy;
use crate::runs::files::{self, AroundFiles, FileWriter, FilesWatch, Folder};
use crate::telemetry::Telemetry;

/// The most runs without an answer in one process. Each may hold 64 streams; beyond this a caller had better wait.
const RUNS_MAX: usize = 1_000;
/// The most of them of one principal other than the owner, so that none takes all.
const OF_ONE_MAX: usize = RUNS_MAX / 2;
/// The most runs in one process, answered ones included until they are closed. Some of those still read late seats.
const LIVE_MAX: usize = 2 * RUNS_MAX;
/// The most closed runs kept in memory because no store has their texts: enough for callers that were answered before
/// the end to fetch the rest.
const UNSTORED_MAX: usize = 16;

/// The longest wait for the last events of runs that were given up: a commit takes milliseconds, on a network drive a second
/// or two, and a disk that does not answer must not hold up whoever closes.
const GIVING_UP_MAX: Duration = Duration::from_secs(3);
/// The longest wait for the files of closed runs at the end of the process.
const WRITING_MAX: Duration = Duration::from_secs(1);

/// The runs in progress in this process.
#[derive(Clone)]
pub struct Runs {
    engine: Engine,
    /// The table that turns agreement into confidence.
    calibration: Arc<Calibration>,
    /// How long a run that was given up may read replies that are paid for anyway.
    drain: Duration,
    live: Arc<Mutex<BTreeMap<RunId, Live>>>,
    /// The newest closed runs whose texts are stored nowhere, oldest first.
    unstored: Arc<Mutex<VecDeque<RunHandle>>>,
    tasks: TaskTracker,
    /// The tasks that write files.
    writing: TaskTracker,
    /// Set when the process is about to end: tasks that follow runs of other processes stop.
    leaving: CancellationToken,
    /// A wrapper around the writing of each file.
    around_files: Option<AroundFiles>,
    /// Where runs are read that another process took over; `None` if no other process can.
    store: Option<Arc<Lazy<Store>>>,
    /// What is told of each run.
    telemetry: Arc<Telemetry>,
    /// When runs have ended.
    departures: Arc<Mutex<Departures>>,
}

/// A run in progress or about to begin.
struct Live {
    hub: Arc<Hub>,
    stop: Stop,
    /// `None` until it has begun.
    handle: Option<RunHandle>,
}

type Opening = BoxFuture<'static, Result<Underway, Failure>>;

impl Runs {
    /// No runs. A run that is given up may read paid replies for `drain`.
    pub fn new(engine: Engine, drain: Duration, telemetry: Arc<Telemetry>) -> Self {
        Self {
            engine,
            telemetry,
            calibration: Arc::default(),
            drain,
            live: Arc::default(),
            unstored: Arc::default(),
            tasks: TaskTracker::new(),
            writing: TaskTracker::new(),
            leaving: CancellationToken::new(),
            around_files: None,
            store: None,
            departures: Arc::default(),
        }
    }

    /// The same with a wrapper around the writing of each file.
    #[must_use]
    pub fn with_around_files(self, around_files: Option<AroundFiles>) -> Self {
        Self { around_files, ..self }
    }

    /// The same with this store, in which other processes may take over its runs.
    #[must_use]
    pub fn with_store(self, store: Arc<Lazy<Store>>) -> Self {
        Self { store: Some(store), ..self }
    }

    /// The same with this calibration table.
    #[must_use]
    pub fn calibrated(self, calibration: Arc<Calibration>) -> Self {
        Self { calibration, ..self }
    }

    /// Begins a run, with a folder inside `output_dir` if the plan writes files. On return the run is stored and in
    /// progress; a failure has cost nothing.
    pub fn start(&self, plan: RunPlan, output_dir: PathBuf) -> BoxFuture<'_, Result<RunHandle, Failure>> {
        async move {
            // Every new run passes here, whoever named its models and through whichever door.
            plan.worst_case.check("the run", plan.budget)?;
            let (base, run_id) = (output_dir.clone(), plan.run_id);
            let folder = if plan.files {
                Some(files::in_time(&output_dir, move || Folder::create(&base, run_id)).await?)
            } else {
                None
            };
            let hub = Arc::new(Hub::new(Arc::new(plan)));
            let new_folder = folder.clone();
            let opening = |hub, stop| self.engine.open(hub, stop);
            let begun = self.begin(hub, folder, opening).await;
            if let (true, Some(folder)) = (begun.is_err(), new_folder) {
                // An empty folder left behind does no harm.
                let _ = files::in_time(&output_dir, move || {
                    folder.discard();
                    Ok(())
                })
                .await;
            }
            begun
        }
        .boxed()
    }

    /// Continues a run that has stopped. Asks only the seats that `reopening` names.
    pub async fn reopen(
        &self,
        run: Run,
        reopening: Reopening,
        output_dir: PathBuf,
    ) -> Result<RunHandle, Failure> {
        // Every further part of a run passes here.
        reopening.check(run.so_far())?;
        let (base, run_id) = (output_dir.clone(), run.plan.run_id);
        let folder = if run.plan.files {
            Some(files::in_time(&output_dir, move || Ok(Folder::of(&base, run_id))).await?)
        } else {
            None
        };
        let opening = |hub, stop| self.engine.reopen(hub, stop, reopening);
        // New followers must not take it for closed.
        let running = Run { status: RunStatus::Running, closed: false, ..run };
        self.begin(Arc::new(Hub::of(running)), folder, opening).await
    }

    /// Registers a run before it begins: two calls may try to continue the same run at once.
    fn claim(&self, hub: Arc<Hub>, stop: &Stop) -> Result<Claim, Failure> {
        let id = hub.with_run(|run| run.plan.run_id);
        let mut live = self.live.lock();
        // A closed run may not be removed yet.
        let is_taken = |live: &Live| !live.handle.as_ref().is_some_and(RunHandle::is_closed);
        if live.get(&id).is_some_and(is_taken) {
            let message = format!("the run {id} is being continued already");
            return Err(Failure::new(Code::Busy, message).with_run(id).with_next(Operation::WaitForRun));
        }
        self.check_room_in(&live, hub.with_run(|run| run.plan.asked_by.clone()).as_deref())?;
        live.insert(id, Live { hub: Arc::clone(&hub), stop: stop.clone(), handle: None });
        Ok(Claim { runs: self.clone(), id, hub })
    }

    /// Begins a run in a task of its own, which goes on if the caller is dropped.
    async fn begin(
        &self,
        hub: Arc<Hub>,
        folder: Option<Folder>,
        opening: impl FnOnce(Arc<Hub>, Stop) -> Opening,
    ) -> Result<RunHandle, Failure> {
        let stop = Stop::default();
        let claim = self.claim(Arc::clone(&hub), &stop)?;
        let opening = opening(Arc::clone(&hub), stop.clone());
        // Watched before it opens, so that no event is missed.
        let told = self.telemetry.is_wanted().then(|| hub.watch_events());
        let handle = RunHandle::here(Arc::clone(&hub), Arc::clone(&self.calibration), stop.clone());
        let (sender, begun_or_failed) = oneshot::channel();
        let runs = self.clone();
        self.tasks.spawn(async move {
            let underway = match opening.await {
                Ok(underway) => underway,
                // If the caller has left, no one needs the failure.
                Err(failure) => return drop(sender.send(Err(failure))),
            };
            if let Some((run, watch)) = told {
                let (telemetry, hub) = (Arc::clone(&runs.telemetry), Arc::clone(&hub));
                runs.tasks.spawn(async move {
                    tokio::select! {
                        () = telemetry.follow(run, watch) => {}
                        () = handle::stopped(&hub) => {}
                    }
                });
            }
            let handle = handle.with_files(runs.write_files(folder, Arc::clone(&hub)));
            runs.beside(runs.clone().follow_successor(claim.id, hub));
            claim.hold(handle.clone());
            drop(sender.send(Ok(handle)));
            // Boxed, because a task is moved several times when it is spawned and ended, and this is most of its size.
            Box::pin(finish(underway, &stop, runs.drain)).await;
            drop(claim);
        });
        begun_or_failed
            .await
            .unwrap_or_else(|_| Err(Failure::new(Code::Internal, "a defect stopped the run as it began")))
    }

    /// Shows what the store has of a run once another process has taken it over, to everybody who waits for it here.
    async fn follow_successor(self, id: RunId, hub: Arc<Hub>) {
        tokio::select! {
            () = hub.handed_over() => {}
            () = hub.reached(Phase::Closed) => return,
        }
        let Some(store) = &self.store else { return };
        tracing::warn!("run {id}: another server has taken it over, and is followed from here");
        // Whoever asks for the run from now on gets what is stored.
        self.retire(id, &hub);
        Relay::new(Arc::clone(store), id, hub).begin().await;
    }

    fn write_files(&self, folder: Option<Folder>, hub: Arc<Hub>) -> FilesWatch {
        let Some(folder) = folder else { return FilesWatch::off() };
        let (writer, watch) =
            FileWriter::new(folder, hub, Arc::clone(&self.calibration), self.writing.clone());
        self.writing.spawn(writer.within(self.around_files.clone()).follow(self.leaving.clone()));
        watch
    }

    /// Removes a closed run. The store answers for it from now on, if it has the texts.
    fn retire(&self, id: RunId, hub: &Arc<Hub>) {
        self.departures.lock().note();
        let mut live = self.live.lock();
        if !live.get(&id).is_some_and(|live| Arc::ptr_eq(&live.hub, hub)) {
            return;
        }
        let handle = live.remove(&id).and_then(|live| live.handle);
        drop(live);
        let Some(handle) = handle.filter(RunHandle::is_unstored) else { return };
        let mut unstored = self.unstored.lock();
        if unstored.len() < UNSTORED_MAX || make_room(&mut unstored, &handle) {
            unstored.push_back(handle);
        }
    }

    /// Fails if there is no room for another run of this principal; `None` for the owner.
    pub(crate) fn check_room(&self, asked_by: Option<&str>) -> Result<(), Failure> {
        self.check_room_in(&self.live.lock(), asked_by)
    }

    fn check_room_in(&self, live: &BTreeMap<RunId, Live>, asked_by: Option<&str>) -> Result<(), Failure> {
        if live.len() < OF_ONE_MAX {
            return Ok(());
        }
        let is_open = |run: &Run| !run.is_decided();
        let unanswered = live.values().filter(|live| live.hub.with_run(is_open)).count();
        let is_full = live.len() >= LIVE_MAX || unanswered >= RUNS_MAX;
        let is_own = |run: &Run| is_open(run) && run.plan.asked_by.as_deref() == asked_by;
        let own = || live.values().filter(|live| live.hub.with_run(is_own)).count();
        let message = if is_full {
            format!("{} runs are under way", live.len())
        } else if asked_by.is_some() && own() >= OF_ONE_MAX {
            format!("{OF_ONE_MAX} runs of this caller are under way")
        } else {
            return Ok(());
        };
        // A refused run does not exist, so the failure names none.
        Err(Failure::new(Code::Busy, message).with_retry_after(Some(self.departures.lock().retry_after())))
    }

    /// The handle of a run in progress, or of a closed one that is not stored.
    pub fn find(&self, id: RunId) -> Option<RunHandle> {
        let live = self.live.lock().get(&id).and_then(|live| live.handle.clone());
        live.or_else(|| self.unstored.lock().iter().find(|handle| handle.id() == id).cloned())
    }

    /// The handles of the runs that are not closed, oldest first; at most two thousand.
    pub(crate) fn in_progress(&self) -> Vec<RunHandle> {
        self.live.lock().values().filter_map(|live| live.handle.clone()).collect()
    }

    /// The files being written.
    pub(crate) fn writing(&self) -> TaskTracker {
        self.writing.clone()
    }

    /// Runs a task beside the runs, until it ends or the process is about to end.
    pub(crate) fn beside(&self, work: impl Future<Output = ()> + Send + 'static) {
        self.tasks.spawn(self.leaving.clone().run_until_cancelled_owned(work));
    }

    /// Gives every run up and closes all connections at once, whoever still wants an answer. Returns at once; the tasks
    /// end by themselves.
    pub(crate) fn abort(&self) {
        self.leaving.cancel();
        self.live.lock().values().for_each(|live| live.stop.abort());
    }

    /// Waits until every run has ended, at most `limit`.
    pub async fn drain(&self, limit: Duration) {
        if !self.all_end(limit).await {
            tracing::warn!("runs in progress did not end in time; their answers so far are kept");
        }
        self.files_end(limit).await;
    }

    /// Like [`Runs::drain`], and gives up the runs that do not end in time, so that their last events are stored.
    pub async fn drain_or_give_up(&self, limit: Duration) {
        if !self.all_end(limit).await && !self.given_up(GIVING_UP_MAX).await {
            tracing::warn!(
                "the ends of some runs could not be stored in time; their answers so far are kept"
            );
        }
        self.files_end(limit).await;
    }

    /// Gives every run up and waits until all have ended, at most `limit`. Returns whether they have.
    pub(crate) async fn given_up(&self, limit: Duration) -> bool {
        self.abort();
        self.all_end(limit).await
    }

    /// Waits until every run has ended, at most `limit`. Returns whether they have.
    async fn all_end(&self, limit: Duration) -> bool {
        self.leaving.cancel();
        self.tasks.close();
        tokio::time::timeout(limit, self.tasks.wait()).await.is_ok()
    }

    /// Waits for the files of closed runs, at most `limit`. Missing files can be made again; a folder that does not answer
    /// must not delay the end of the process.
    async fn files_end(&self, limit: Duration) {
        self.writing.close();
        if tokio::time::timeout(limit.min(WRITING_MAX), self.writing.wait()).await.is_err() {
            tracing::warn!("not all files of the newest runs are written; `runs export` recreates them");
        }
    }
}

/// Drops an unstored run to make room for the newest: the oldest of the same principal, else of any token holder, else
/// of the owner. A token holder's run never replaces one of the owner's.
fn make_room(unstored: &mut VecDeque<RunHandle>, newest: &RunHandle) -> bool {
    let principal = |handle: &RunHandle| handle.with_run(|run| run.plan.asked_by.clone());
    let of_newest = principal(newest);
    let oldest = |is_meant: &dyn Fn(&Option<String>) -> bool| {
        unstored.iter().position(|handle| is_meant(&principal(handle)))
    };
    // A token holder's run may replace none of the owner's, so only the owner falls back to the oldest of all.
    let of_same = oldest(&|principal| *principal == of_newest);
    let of_anybody = || if of_newest.is_none() { Some(0) } else { None };
    let index = match &of_newest {
        Some(_) => of_same.or_else(|| oldest(&Option::is_some)),
        None => oldest(&Option::is_some).or(of_same),
    };
    index.or_else(of_anybody).and_then(|index| unstored.remove(index)).is_some()
}

/// The registration of a run. Dropping it retires the run, however it ended: also if a defect stopped it, so that whoever
/// waits for it learns that nothing more comes.
struct Claim {
    runs: Runs,
    id: RunId,
    hub: Arc<Hub>,
}

impl Claim {
    /// Notes the handle when the run has begun.
    fn hold(&self, handle: RunHandle) {
        if let Some(live) = self.runs.live.lock().get_mut(&self.id) {
            live.handle = Some(handle);
        }
        // The run does not continue from an earlier part that could not be stored.
        self.runs.unstored.lock().retain(|earlier| earlier.id() != self.id);
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        if !self.hub.is_handed_over() && !self.hub.with_run(|run| run.closed) {
            self.hub.mark_interrupted();
        }
        self.runs.retire(self.id, &self.hub);
    }
}

/// Drives a run to its end. A run that is given up reads paid replies for at most `drain`.
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

    /// A caller that is never called.
    struct Nobody;

    impl Caller for Nobody {
        fn admit(&self, _: Call) -> BoxFuture<'static, Result<Permit, Failure>> {
            Box::pin(std::future::pending())
        }

        fn look_up(&self, _: &ModelRef, _: &str) -> BoxFuture<'static, Result<Option<Charge>, Failure>> {
            Box::pin(std::future::pending())
        }
    }

    fn plan() -> RunPlan {
        let plan = include_str!("../../../../parallel-llm-engine/tests/fixtures/plan_v1.json");
        serde_json::from_str(plan).unwrap()
    }

    fn no_runs() -> Runs {
        let engine = Engine::new(Arc::new(Nobody), Arc::new(MemoryJournal::default()));
        Runs::new(engine, Duration::ZERO, Arc::default())
    }

    #[tokio::test]
    async fn a_run_that_a_defect_stopped_ends_for_whoever_waits() {
        let (runs, stop, hub) = (no_runs(), Stop::default(), Arc::new(Hub::new(Arc::new(plan()))));
        let claim = runs.claim(Arc::clone(&hub), &stop).unwrap();
        let handle = RunHandle::here(hub, Arc::default(), stop);
        claim.hold(handle.clone());
        drop(claim);
        let report = handle.wait(None).await;
        assert_eq!(
            (report.status.as_str(), report.error.unwrap().code.as_str()),
            ("interrupted", "interrupted")
        );
        handle.closed().await;
        assert!(runs.in_progress().is_empty());
    }

    #[test]
    fn a_run_that_has_no_room_is_refused_without_a_name() {
        let (plan, runs) = (plan(), no_runs());
        let hub_of = |number: usize, decided_ms: Option<u64>| {
            let run_id = RunId::from_parts(number as u64, 1);
            let run = Run::new(Arc::new(RunPlan { run_id, ..plan.clone() }));
            Arc::new(Hub::of(Run { decided_ms, ..run }))
        };
        let hub = |number: usize| hub_of(number, None);
        let claim = |hub| runs.claim(hub, &Stop::default());
        let full_at = |number: usize| {
            let full = claim(hub(number)).err().unwrap();
            assert_eq!((full.code, &*full.message), (Code::Busy, &*format!("{number} runs are under way")));
            assert_eq!((&*full.next_step(), &full.run_id), ("try again when a run has ended", &None));
        };
        let mut claims: Vec<Claim> = (0..RUNS_MAX).map(|number| claim(hub(number)).unwrap()).collect();
        full_at(RUNS_MAX);
        drop(claims.pop());
        // An answered run leaves room for another until there are too many of those as well.
        claims.extend((RUNS_MAX - 1..LIVE_MAX).map(|number| claim(hub_of(number, Some(1))).unwrap()));
        full_at(LIVE_MAX);
        let taken = claim(hub(0)).err().unwrap();
        assert_eq!(taken.run_id.map(|id| *id), Some(claims[0].id), "one that is under way is named");
    }

    #[test]
    fn one_principal_takes_half_of_the_room_at_most() {
        let (plan, runs) = (plan(), no_runs());
        let claim = |number: usize, asked_by: Option<&str>| {
            let (run_id, asked_by) = (RunId::from_parts(number as u64, 1), asked_by.map(str::to_owned));
            let run = Run::new(Arc::new(RunPlan { run_id, asked_by, ..plan.clone() }));
            runs.claim(Arc::new(Hub::of(run)), &Stop::default())
        };
        let mut claims: Vec<Claim> =
            (0..OF_ONE_MAX).map(|number| claim(number, Some("ci")).unwrap()).collect();
        let full = claim(OF_ONE_MAX, Some("ci")).err().unwrap();
        assert_eq!((full.code, &*full.message), (Code::Busy, "500 runs of this caller are under way"));
        assert_eq!(full.retry_after_ms, Some(60_000));
        claims.push(claim(OF_ONE_MAX, Some("other")).unwrap());
        claims.push(claim(OF_ONE_MAX + 1, None).unwrap());
    }
}
