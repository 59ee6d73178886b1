//! Runs that were done, or that another process does: found by name, listed, and watched like the ones under way.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use parallel_llm_engine::call::hub::Hub;
use parallel_llm_engine::plan::caller_slot::Place;
use parallel_llm_engine::run::Run;
use parallel_llm_engine::run::calibration::Calibration;
use parallel_llm_engine::value::warning::Warning;
use parallel_llm_engine::{Code, Event, Failure, PicoUsd, Recorded, RunId, RunPlan, RunStatus};
use parallel_llm_store::{Look, RunFilter, RunSummary};
use tokio::task::{AbortHandle, JoinSet};

use crate::render::report::{FilesReport, Report};
use crate::runs::files::{self, FileWriter, FilesWatch, Folder};
use crate::runs::handle::Heirship;
use crate::{RunHandle, Scope, Service};
use parallel_llm_settings::clock;

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
    pub(crate) async fn seek(&self, name: &str) -> Result<Kept, Failure> {
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
    pub(crate) async fn recall(&self, id: RunId) -> Result<PastRun, Failure> {
        let stored = self.store().await?.load(self.asker().whose(), id).await?;
        let stored = stored.ok_or_else(|| missing(id))?;
        let run = stored.run();
        let files = files::look_up(&self.output_dir(), &run).await;
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
        let (service, is_running) = (self.service.clone(), self.run.status == RunStatus::Running);
        let id = self.run.plan.run_id;
        let Held { hub, mut tasks, files, calibration, .. } = self.hold(None);
        if is_running {
            tasks.spawn(relay_from(service, id, Arc::clone(&hub)));
        } else {
            // Nobody will close it any more, so nobody is to wait for that.
            hub.lose();
        }
        RunHandle::elsewhere(hub, calibration, files, tasks)
    }

    /// A hold on the run for one who asks the same: its files are written to the output folder of this process too,
    /// where they are not there or on their way. Where whoever does it gives it up or is gone, this process goes on with
    /// it, and that part may cost as much as `budget`.
    pub async fn join(mut self, budget: PicoUsd) -> Result<RunHandle, Failure> {
        let (service, id) = (self.service.clone(), self.run.plan.run_id);
        let base = service.output_dir();
        let claimed = base.clone();
        let folder = if self.run.plan.files {
            files::in_time(&base, move || Folder::claim(&claimed, id)).await?
        } else {
            None
        };
        let is_over = self.run.closed || matches!(self.run.status, RunStatus::Interrupted);
        if !is_over && self.run.status == RunStatus::Cancelled {
            // Somebody else's word: whoever asks now waits for what it comes to.
            self.run = Run { status: RunStatus::Running, outcome: None, decided_ms: None, ..self.run };
        }
        let Held { hub, tasks, files, calibration, writer } = self.hold(folder);
        if is_over {
            hub.lose();
        }
        let handle = RunHandle::elsewhere(Arc::clone(&hub), calibration, files, tasks);
        if !is_over {
            let heirship = handle.heirship();
            let following = Following { service: service.clone(), id, hub, heirship, writer, budget };
            // It goes on without its asker: a run belongs to nobody who asked for it.
            service.runs().await?.beside(following.follow());
        }
        Ok(handle)
    }

    fn hold(mut self, folder: Option<Folder>) -> Held {
        if self.run.status == RunStatus::Running {
            self.run.elapsed_ms = self.elapsed_ms();
        }
        // The files of a run that has just closed are written a moment later.
        let theirs = if self.run.status == RunStatus::Interrupted {
            FilesWatch::settled_as(self.files)
        } else {
            FilesWatch::of_another(&self.service.output_dir(), &self.run, self.files)
        };
        let (hub, mut tasks) = (Arc::new(Hub::elsewhere(self.run)), JoinSet::new());
        let calibration = self.calibration;
        let ours = folder.map(|folder| FileWriter::new(folder, Arc::clone(&hub), Arc::clone(&calibration)));
        let (files, writer) = match ours {
            Some((writer, files)) => (files, Some(tasks.spawn(writer.follow()))),
            None => (theirs, None),
        };
        Held { hub, tasks, files, calibration, writer }
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

/// What a hold on a run of another process is made of.
struct Held {
    hub: Arc<Hub>,
    tasks: JoinSet<()>,
    files: FilesWatch,
    calibration: Arc<Calibration>,
    /// What writes its files here.
    writer: Option<AbortHandle>,
}

/// Brings what the store has of a run to those who watch it here, until it is over or its process is gone.
async fn relay_from(service: Service, id: RunId, hub: Arc<Hub>) {
    while !hub.look(|run| run.closed) {
        let is_lost = match next_look(&service, id, &hub).await {
            Some(Seen::Look(look)) => bring(&hub, *look),
            Some(Seen::Nothing) => true,
            // A store that cannot be read now may be read at the next look; whoever waits has a limit of their own.
            None => false,
        };
        if is_lost {
            return hub.lose();
        }
    }
}

/// What a look at a run finds.
enum Seen {
    /// What is new in it.
    Look(Box<Look>),
    /// It was purged meanwhile.
    Nothing,
}

async fn next_look(service: &Service, id: RunId, hub: &Hub) -> Option<Seen> {
    tokio::time::sleep(LOOK_EVERY).await;
    let seq = hub.look(|run| run.seq);
    let look = service.store().await.ok()?.follow(id, seq).await.ok()?;
    Some(look.map_or(Seen::Nothing, |look| Seen::Look(Box::new(look))))
}

/// Whether a run is further than this look at it, or was gone on with since the look before.
fn is_past(look: &Look, run: &Run) -> bool {
    let reopened = |recorded: &Recorded| matches!(recorded.event, Event::Reopened { .. });
    look.events.last().is_some_and(|last| last.seq < run.seq) || look.events.iter().any(reopened)
}

/// Tells what is new in a run, and whether its process is gone.
fn bring(hub: &Hub, look: Look) -> bool {
    let texts: Vec<(Place, String)> =
        look.checkpoints.into_iter().map(|one| (one.attempt.place, one.text)).collect();
    hub.relay(look.events, texts);
    look.interrupted
}

/// Follows a run of another asker for somebody who asked the same, and takes it up where the other gave it up or is gone.
struct Following {
    service: Service,
    id: RunId,
    hub: Arc<Hub>,
    heirship: Heirship,
    /// What writes its files here until this process does the run.
    writer: Option<AbortHandle>,
    budget: PicoUsd,
}

impl Following {
    /// Boxed, because what takes the run up may come to follow it again.
    fn follow(self) -> BoxFuture<'static, ()> {
        Box::pin(self.until_it_is_over())
    }

    async fn until_it_is_over(self) {
        while self.heirship.is_wanted() && !self.hub.look(|run| run.closed) {
            let look = match next_look(&self.service, self.id, &self.hub).await {
                Some(Seen::Look(look)) => look,
                Some(Seen::Nothing) => return self.hub.lose(),
                None => continue,
            };
            if look.events.is_empty() && !look.interrupted {
                bring(&self.hub, *look);
                continue;
            }
            // How the run stands says whether its asker has left it: that is not passed on.
            let Ok(past) = self.service.recall(self.id).await else { continue };
            match past.run.status {
                RunStatus::Interrupted => return self.take_up(past.run).await,
                RunStatus::Cancelled if past.run.closed => return self.take_up(past.run).await,
                // What is paid for anyway is still being read: its end is near, and whatever comes is taken.
                RunStatus::Cancelled => {}
                // Somebody has left it, and somebody else goes on with it: that it was left is not passed on either.
                _ if is_past(&look, &past.run) => self.hub.renew(past.run),
                _ => {
                    if bring(&self.hub, *look) {
                        return self.hub.lose();
                    }
                }
            }
        }
        relay_from(self.service, self.id, self.hub).await;
    }

    /// Goes on with the run in this process.
    async fn take_up(self, mut left: Run) {
        let heir = match self.service.take_up(self.id, self.budget).await {
            Ok(heir) => heir,
            Err(failure) => {
                let warning = Warning::of("the run was left, and could not be gone on with", &failure);
                Arc::make_mut(&mut left.plan).warnings.push(warning);
                self.hub.renew(left);
                return self.hub.lose();
            }
        };
        // From here on they are written by whoever does the run.
        self.writer.iter().for_each(AbortHandle::abort);
        self.heirship.pass_to(heir.clone());
        let (run, mut watch) = heir.watch();
        self.hub.renew(run);
        let mut over = std::pin::pin!(heir.closed());
        loop {
            tokio::select! {
                biased;
                update = watch.next() => self.hub.pass_on(update),
                () = &mut over => break,
            }
        }
        self.hub.renew(heir.snapshot());
        if !heir.is_closed() {
            self.hub.lose();
        }
    }
}
