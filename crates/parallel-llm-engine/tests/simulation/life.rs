//! The life of one process: it opens the run or goes on with it, and closes it, is refused, or is gone in between.

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
use crate::script::{Asked, Line, Models, Reply};
use crate::simulation::disk::{Disk, Durable, Held, Seen};

/// Longer than this after its deadline no run takes: looking up costs is bounded by ten seconds.
const GRACE: Duration = Duration::from_secs(60);

/// The last line of a process that is gone. In which order its connections are closed then is nobody's choice.
const GONE: &str = "gone";

/// What happens in the life of a process.
pub(super) struct Part {
    pub(super) replies: Vec<(&'static str, Reply)>,
    pub(super) at_once: usize,
    pub(super) commit_ms: u64,
    pub(super) crash: Option<Crash>,
    pub(super) breaks_at: Option<usize>,
    pub(super) stopping: Option<Stopping>,
    /// When the caller wants the answers so far.
    pub(super) hurry_ms: Option<u64>,
    /// The seats the caller skips, and when.
    pub(super) skips: Vec<(u64, SeatNumber)>,
    /// How it goes on with the run; `None` where there is none yet.
    pub(super) reopening: Option<Reopening>,
}

impl Part {
    pub(super) fn is_troubled(&self) -> bool {
        self.crash.is_some() || self.breaks_at.is_some()
    }
}

/// When the caller gives the run up.
#[derive(Clone, Copy)]
pub(super) struct Stopping {
    pub(super) cancel_ms: Option<u64>,
    pub(super) abort_ms: Option<u64>,
}

/// When a process is gone.
#[derive(Clone, Copy)]
pub(super) enum Crash {
    At { ms: u64 },
    Commit { commit: usize, kind: Kind, ms: u64 },
}

/// How far the commit is at which a process is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Nothing of it is durable.
    Before,
    /// It was under way for a while, and is lost.
    MiddleLost,
    /// It was under way for a while and is durable, but nobody heard.
    MiddleKept,
    /// It is durable, and the process dies as it hears so.
    After,
}

/// How a process ended.
pub(super) enum End {
    Closed,
    Refused(Failure),
    Crashed(&'static str),
}

/// What was seen of the life of a process.
pub(super) struct Lived {
    pub(super) end: End,
    /// What it found.
    pub(super) before: Option<Run>,
    /// What it showed last.
    pub(super) live: Run,
    pub(super) asked: Vec<Asked>,
    pub(super) ledger: Vec<String>,
    pub(super) broke: bool,
    pub(super) complaints: Vec<String>,
}

impl Lived {
    /// Whether a request left after the run had been given up, or its answer was durable.
    pub(super) fn left_unwanted(&self) -> bool {
        let is_over = |line: &String| line.ends_with("given up") || line.ends_with(" decided");
        let stopped = self.ledger.iter().position(is_over);
        stopped.is_some_and(|at| self.ledger[at..].iter().any(|line| line.contains(" request ")))
    }

    /// Whether an answer came that was read on after the run had been given up.
    pub(super) fn drained(&self) -> bool {
        let stopped = self.ledger.iter().position(|line| line.ends_with("given up"));
        let answered = |line: &String| line.contains("answered");
        stopped.is_some_and(|at| self.ledger[at..].iter().any(answered))
    }
}

/// Lives through a part in a paused world of its own, that is dropped whole when it is over.
pub(super) fn live(plan: &Arc<RunPlan>, before: Option<Run>, part: &Part, durable: &Durable) -> Lived {
    let world = Builder::new_current_thread().enable_time().start_paused(true).build().expect("it is built");
    let run = before.clone().unwrap_or_else(|| Run::new(Arc::clone(plan)));
    let hub = Arc::new(Hub::of(run));
    let (end, disk, models, ledger) = world.block_on(async {
        let ledger = Ledger::new();
        let models = Models::new(&ledger, &part.replies, part.at_once);
        let disk = Arc::new(Disk {
            durable: durable.clone(),
            ledger: ledger.clone(),
            commit_ms: part.commit_ms,
            breaks_at: part.breaks_at,
            crash: part.crash,
            gone: Arc::new(Notify::new()),
            seen: Mutex::new(Seen::default()),
        });
        let end = until_it_is_gone(part, &hub, &disk, &models).await;
        (end, disk, models, ledger)
    });
    drop(world);
    assert_eq!(models.under_way(), 0, "no reply outlives its process");
    let complaints = disk.seen().complaints.clone();
    let broke = disk.seen().broke;
    let ledger = ledger.lines().into_iter().take_while(|line| !line.ends_with(GONE)).collect();
    Lived { end, before, live: hub.snapshot(), asked: models.asked(), ledger, broke, complaints }
}

async fn until_it_is_gone(part: &Part, hub: &Arc<Hub>, disk: &Arc<Disk>, models: &Arc<Models>) -> End {
    let lifetime = async {
        match part.crash {
            Some(Crash::At { ms }) => sleep(Duration::from_millis(ms)).await,
            _ => std::future::pending().await,
        }
    };
    let mut life = Box::pin(whole(part, hub, disk, models));
    let kind = tokio::select! {
        biased;
        () = disk.gone.notified() => match part.crash {
            Some(Crash::Commit { kind: Kind::Before, .. }) => "before a commit",
            Some(Crash::Commit { kind: Kind::MiddleLost, .. }) => "in a commit that is lost",
            Some(Crash::Commit { kind: Kind::MiddleKept, .. }) => "in a commit that is kept",
            _ => "after a commit",
        },
        () = lifetime => "at any moment",
        end = &mut life => return end,
    };
    disk.ledger.note(GONE);
    End::Crashed(kind)
}

/// A life nothing cuts short.
async fn whole(part: &Part, hub: &Arc<Hub>, disk: &Arc<Disk>, models: &Arc<Models>) -> End {
    let engine = Engine::new(Arc::new(Line(Arc::clone(models))), Arc::new(Held(Arc::clone(disk))));
    let stop = Stop::default();
    let stopping = async {
        let Some(Stopping { cancel_ms, abort_ms }) = part.stopping else { return };
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
            part.skips.iter().map(|(ms, seat)| (*ms, Some(*seat))).collect();
        steps.extend(part.hurry_ms.map(|ms| (ms, None)));
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
        let opened = match part.reopening.clone() {
            Some(reopening) => engine.reopen(Arc::clone(hub), stop.clone(), reopening).await,
            None => engine.open(Arc::clone(hub), stop.clone()).await,
        };
        match opened {
            Ok(underway) => underway.finish().await,
            Err(failure) => return End::Refused(failure),
        }
        End::Closed
    };
    let longest = hub.with_run(|run| Duration::from_millis(run.plan.timers.run_ms)) + GRACE;
    let (end, (), ()) = tokio::join!(timeout(longest, working), stopping, steering);
    let end = end.expect("a run ends within its time");
    if matches!(end, End::Closed) {
        assert!(hub.with_run(|run| run.closed && run.is_decided()), "a run that ends is decided and closed");
    }
    end
}

impl fmt::Debug for End {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Closed => out.write_str("closed"),
            Self::Refused(failure) => write!(out, "refused: {failure}"),
            Self::Crashed(kind) => write!(out, "crashed {kind}"),
        }
    }
}
