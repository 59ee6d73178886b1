//! One process of a simulated run: it opens or continues the run, then closes it, is refused, or dies.

use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use parallel_llm_engine::call::hub::Hub;
use parallel_llm_engine::plan::RunPlan;
use parallel_llm_engine::{Engine, Failure, Reopening, Run, SeatNumber, Stop};
use tokio::runtime::Builder;
use tokio::sync::Notify;
use tokio::time::{Instant, sleep, sleep_until, timeout};

use crate::ledger::Ledger;
use crate::script::{Models, Reply, ScriptedCaller, SentCall};
use crate::simulation::disk::{Disk, DiskState, Durable, ProcessJournal};

/// No run takes longer than this after its deadline: looking up costs is bounded by ten seconds.
const GRACE: Duration = Duration::from_secs(60);

/// The last ledger line of a process that died. The order in which its connections close after that is arbitrary.
const DIED: &str = "the process died";

/// Everything that happens to a process.
pub(super) struct ProcessPlan {
    pub(super) replies: Vec<(&'static str, Reply)>,
    pub(super) in_flight_max: usize,
    pub(super) commit_ms: u64,
    pub(super) crash: Option<Crash>,
    pub(super) breaks_at: Option<usize>,
    pub(super) cancellation: Option<Cancellation>,
    /// When the caller asks for a decision with the answers so far.
    pub(super) hurry_ms: Option<u64>,
    /// The seats the caller skips, and when in milliseconds.
    pub(super) skips: Vec<(u64, SeatNumber)>,
    /// How the process continues the run; `None` if there is no run yet.
    pub(super) reopening: Option<Reopening>,
}

impl ProcessPlan {
    pub(super) fn fails(&self) -> bool {
        self.crash.is_some() || self.breaks_at.is_some()
    }
}

/// When the caller cancels or aborts the run.
#[derive(Clone, Copy)]
pub(super) struct Cancellation {
    pub(super) cancel_ms: Option<u64>,
    pub(super) abort_ms: Option<u64>,
}

/// When a process dies.
#[derive(Clone, Copy)]
pub(super) enum Crash {
    At { ms: u64 },
    Commit { commit: usize, kind: CrashMoment, ms: u64 },
}

/// How far a commit gets when its process dies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CrashMoment {
    /// Nothing becomes durable.
    Before,
    /// It takes a while and is lost.
    MiddleLost,
    /// It takes a while and becomes durable, but is never acknowledged.
    MiddleKept,
    /// It is durable, and the process dies when this is acknowledged.
    After,
}

/// How a process ended.
pub(super) enum ProcessEnd {
    Closed,
    Refused(Failure),
    Crashed(&'static str),
}

/// What was observed of a process.
pub(super) struct ProcessResult {
    pub(super) end: ProcessEnd,
    /// The run that it found.
    pub(super) before: Option<Run>,
    /// The run as it last showed it.
    pub(super) live: Run,
    pub(super) asked: Vec<SentCall>,
    pub(super) ledger: Vec<String>,
    pub(super) broke: bool,
    pub(super) complaints: Vec<String>,
}

impl ProcessResult {
    /// Whether a request was sent after the run had been given up or decided.
    pub(super) fn sent_after_end(&self) -> bool {
        let is_over = |line: &String| line.ends_with("given up") || line.ends_with(" decided");
        let stopped = self.ledger.iter().position(is_over);
        stopped.is_some_and(|at| self.ledger[at..].iter().any(|line| line.contains(" request ")))
    }

    /// Whether an answer was read to its end after the run had been given up.
    pub(super) fn drained(&self) -> bool {
        let stopped = self.ledger.iter().position(|line| line.ends_with("given up"));
        let answered = |line: &String| line.contains("answered");
        stopped.is_some_and(|at| self.ledger[at..].iter().any(answered))
    }
}

/// Executes a process in a paused runtime of its own, which is dropped as a whole at the end.
pub(super) fn run_process(
    plan: &Arc<RunPlan>,
    before: Option<Run>,
    process_plan: &ProcessPlan,
    durable: &Durable,
) -> ProcessResult {
    let runtime =
        Builder::new_current_thread().enable_time().start_paused(true).build().expect("the runtime starts");
    let run = before.clone().unwrap_or_else(|| Run::new(Arc::clone(plan)));
    let hub = Arc::new(Hub::of(run));
    let (end, disk, models, ledger) = runtime.block_on(async {
        let ledger = Ledger::new();
        let models = Models::new(&ledger, &process_plan.replies, process_plan.in_flight_max);
        let disk = Arc::new(Disk {
            durable: durable.clone(),
            ledger: ledger.clone(),
            commit_ms: process_plan.commit_ms,
            breaks_at: process_plan.breaks_at,
            crash: process_plan.crash,
            died: Arc::new(Notify::new()),
            state: Mutex::new(DiskState::default()),
        });
        let end = run_until_crash(process_plan, &hub, &disk, &models).await;
        (end, disk, models, ledger)
    });
    drop(runtime);
    assert_eq!(models.in_flight(), 0, "no reply outlives its process");
    let complaints = disk.state().complaints.clone();
    let broke = disk.state().broke;
    let ledger = ledger.lines().into_iter().take_while(|line| !line.ends_with(DIED)).collect();
    ProcessResult { end, before, live: hub.snapshot(), asked: models.asked(), ledger, broke, complaints }
}

async fn run_until_crash(
    process_plan: &ProcessPlan,
    hub: &Arc<Hub>,
    disk: &Arc<Disk>,
    models: &Arc<Models>,
) -> ProcessEnd {
    let lifetime = async {
        match process_plan.crash {
            Some(Crash::At { ms }) => sleep(Duration::from_millis(ms)).await,
            _ => std::future::pending().await,
        }
    };
    let mut life = Box::pin(run_to_end(process_plan, hub, disk, models));
    let kind = tokio::select! {
        biased;
        () = disk.died.notified() => match process_plan.crash {
            Some(Crash::Commit { kind: CrashMoment::Before, .. }) => "before a commit",
            Some(Crash::Commit { kind: CrashMoment::MiddleLost, .. }) => "in a commit that is lost",
            Some(Crash::Commit { kind: CrashMoment::MiddleKept, .. }) => "in a commit that is kept",
            _ => "after a commit",
        },
        () = lifetime => "at any moment",
        end = &mut life => return end,
    };
    disk.ledger.note(DIED);
    ProcessEnd::Crashed(kind)
}

/// Executes a process that does not crash.
async fn run_to_end(
    process_plan: &ProcessPlan,
    hub: &Arc<Hub>,
    disk: &Arc<Disk>,
    models: &Arc<Models>,
) -> ProcessEnd {
    let engine =
        Engine::new(Arc::new(ScriptedCaller(Arc::clone(models))), Arc::new(ProcessJournal(Arc::clone(disk))));
    let stop = Stop::default();
    let stopping = async {
        let Some(Cancellation { cancel_ms, abort_ms }) = process_plan.cancellation else { return };
        let begun = cancel_ms.unwrap_or(0);
        if let Some(ms) = cancel_ms {
            sleep(Duration::from_millis(ms)).await;
            disk.ledger.note("given up");
            stop.cancel();
        }
        if let Some(ms) = abort_ms {
            sleep(Duration::from_millis(ms - begun)).await;
            disk.ledger.note("given up");
            stop.abort();
        }
    };
    let steering = async {
        let mut steps: Vec<(u64, Option<SeatNumber>)> =
            process_plan.skips.iter().map(|(ms, seat)| (*ms, Some(*seat))).collect();
        steps.extend(process_plan.hurry_ms.map(|ms| (ms, None)));
        steps.sort_unstable();
        let begun = Instant::now();
        for (ms, skipped) in steps {
            sleep_until(begun + Duration::from_millis(ms)).await;
            match skipped {
                Some(seat) => stop.skip(seat),
                None => stop.hurry(),
            }
        }
    };
    let working = async {
        let opened = match process_plan.reopening.clone() {
            Some(reopening) => engine.reopen(Arc::clone(hub), stop.clone(), reopening).await,
            None => engine.open(Arc::clone(hub), stop.clone()).await,
        };
        match opened {
            Ok(underway) => underway.finish().await,
            Err(failure) => return ProcessEnd::Refused(failure),
        }
        ProcessEnd::Closed
    };
    let longest = hub.with_run(|run| Duration::from_millis(run.plan.timers.run_ms)) + GRACE;
    let (end, (), ()) = tokio::join!(timeout(longest, working), stopping, steering);
    let end = end.expect("a run ends within its time");
    if matches!(end, ProcessEnd::Closed) {
        assert!(hub.with_run(|run| run.closed && run.is_decided()), "a run that ends is decided and closed");
    }
    end
}

impl fmt::Debug for ProcessEnd {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Closed => out.write_str("closed"),
            Self::Refused(failure) => write!(out, "refused: {failure}"),
            Self::Crashed(kind) => write!(out, "crashed {kind}"),
        }
    }
}
