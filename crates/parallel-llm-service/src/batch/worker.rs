//! Works through batches: claims jobs, asks each as a run, and settles it.
//!
//! Any number of workers share the batches of a database. A worker that is gone loses its claims with its leases; the next
//! one goes on with the runs. Invariants: a job is asked under its own key, so whoever claims it again gets the same run;
//! and a claim ends only once its end is stored.

use std::collections::BTreeMap;
use std::panic::AssertUnwindSafe;
use std::time::Duration;

use futures_util::FutureExt as _;
use parallel_llm_engine::run::{Run, SeatView};
use parallel_llm_engine::value::answer::by_reason;
use parallel_llm_engine::{BatchId, Code, Failure, PicoUsd, RunId, RunStatus, SeatStatus};
use parallel_llm_store::{Batch, BatchState, Claim, ClaimedJob, JobCost, JobEnd, JobResult, Store};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, sleep_until};
use tokio_util::sync::CancellationToken;

use super::{Batches, question};
use crate::ask::{Asking, Continuation, Order, Quote, QuotedCost};
use crate::runs::{KnownRun, RunHandle};

/// How often a worker looks for jobs while it has room and found none, and whether its batches were cancelled.
const LOOK_EVERY: Duration = Duration::from_millis(500);
/// How often lost claims are given back. With the lease of twelve seconds, a job is claimed again within fifteen.
const RELEASE_EVERY: Duration = Duration::from_secs(3);
/// How often the end of a job is tried to be stored, while the database cannot be reached. Until it is, or this process ends,
/// the claim is held.
const SETTLE_PAUSE: Duration = Duration::from_millis(500);
/// How often a job is put off before it fails for good. With the waits below that is five minutes: longer than most
/// outages, and not long enough to hold up the end of a batch.
const PUT_OFF_MAX: u32 = 4;
/// The first wait of a job that is put off, in milliseconds; each further one is four times as long.
const PUT_OFF_MS: u64 = 4_000;
/// The longest wait that a provider may ask of a job, in milliseconds.
const PUT_OFF_MS_MAX: u64 = 3_600_000;
/// The wait of a job for which there is no room yet, in milliseconds.
const NO_ROOM_MS: u64 = 1_000;

/// The batches that a worker works on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WorkScope {
    /// One, until it is finished, paused or cancelled.
    One(BatchId),
    /// All there are and come, until the worker is stopped.
    All,
}

/// A worker.
pub struct Worker {
    asking: Asking,
    store: Store,
    scope: WorkScope,
    concurrency: usize,
    /// Ends the claiming of further jobs.
    stop: CancellationToken,
    /// The batches that jobs in progress belong to, and what gives their runs up.
    cancels: BTreeMap<BatchId, CancellationToken>,
    /// The batch that was claimed from last, so that all have their turn.
    last: Option<BatchId>,
    jobs: JoinSet<Result<(), Failure>>,
}

impl Batches {
    /// A worker for up to `concurrency` jobs at once. After `stop` it claims no further job and ends with those that it
    /// has.
    pub async fn worker(
        &self,
        scope: WorkScope,
        concurrency: usize,
        stop: CancellationToken,
    ) -> Result<Worker, Failure> {
        Ok(Worker {
            asking: self.asking.clone(),
            store: self.store().await?.clone(),
            scope,
            concurrency,
            stop,
            cancels: BTreeMap::new(),
            last: None,
            jobs: JoinSet::new(),
        })
    }
}

impl Worker {
    /// Works until the scope is done, or the worker is stopped and its jobs have ended. Fails if the database cannot be
    /// used, for a reason that does not pass.
    pub async fn run(mut self) -> Result<(), Failure> {
        let worked = self.work().await;
        // The claims of jobs in progress would last as long as this process.
        while self.jobs.join_next().await.is_some() {}
        worked
    }

    async fn work(&mut self) -> Result<(), Failure> {
        let mut release_at = Instant::now();
        loop {
            if Instant::now() >= release_at {
                release_at = Instant::now() + RELEASE_EVERY;
                passing(self.store.release_lost_jobs().await)?;
            }
            let has_more =
                if self.stop.is_cancelled() { false } else { passing(self.fill().await)?.unwrap_or(true) };
            if self.jobs.is_empty() && !has_more {
                return Ok(());
            }
            let stop = self.stop.clone();
            tokio::select! {
                biased;
                Some(ended) = self.jobs.join_next() => {
                    passing(ended.unwrap_or_else(|_| Err(defect())))?;
                }
                () = stop.cancelled(), if !self.stop.is_cancelled() => {}
                () = sleep_until(release_at.min(Instant::now() + LOOK_EVERY)) => passing(self.heed_cancels().await)?.unwrap_or_default(),
            }
        }
    }

    /// Claims jobs for the free places, from each batch in turn. Returns whether there may be more later.
    async fn fill(&mut self) -> Result<bool, Failure> {
        let mut batches: Vec<Batch> = match self.scope {
            WorkScope::One(id) => self.store.batch(id).await?.into_iter().filter(is_open).collect(),
            WorkScope::All => self.store.open_batches().await?,
        };
        let has_more = self.scope == WorkScope::All || !batches.is_empty();
        // Oldest first, beginning after the one of the last turn.
        batches.sort_by_key(|batch| (Some(batch.id) <= self.last, batch.id));
        let mut left = batches.len();
        for batch in batches {
            let free = self.concurrency.saturating_sub(self.jobs.len());
            if free == 0 {
                break;
            }
            let share = free.div_ceil(left);
            left -= 1;
            let Some(claims) = self.store.claim_jobs(batch.id, share).await? else { continue };
            if !claims.jobs.is_empty() {
                self.last = Some(batch.id);
            }
            for job in claims.jobs {
                let cancel = self.cancels.entry(batch.id).or_default().clone();
                let (asking, store) = (self.asking.clone(), self.store.clone());
                self.jobs.spawn(async move { JobWork { asking, store, cancel }.run(job).await });
            }
        }
        Ok(has_more)
    }

    /// Gives up the runs of batches that were cancelled.
    async fn heed_cancels(&mut self) -> Result<(), Failure> {
        if self.jobs.is_empty() {
            self.cancels.clear();
        }
        for (id, cancel) in &self.cancels {
            let batch = self.store.batch(*id).await?;
            if batch.is_none_or(|batch| batch.state == BatchState::Cancelled) {
                cancel.cancel();
            }
        }
        Ok(())
    }
}

/// The work on one job.
struct JobWork {
    asking: Asking,
    store: Store,
    /// Gives its run up.
    cancel: CancellationToken,
}

impl JobWork {
    async fn run(self, job: ClaimedJob) -> Result<(), Failure> {
        let end = AssertUnwindSafe(self.end(&job)).catch_unwind().await;
        // One job that meets a defect must not end the others, nor keep its claim for as long as this process lives.
        let end = end.unwrap_or_else(|_| end_of_refusal(defect(), &job));
        self.settle(job.claim, end).await
    }

    /// Asks the job, and returns how it ended.
    async fn end(&self, job: &ClaimedJob) -> JobEnd {
        let RunOfJob { handle, is_held_back } = match self.begin(job).await {
            Ok(begun) => begun,
            Err(Unbegun::Refused(failure)) => return end_of_refusal(failure, job),
            Err(Unbegun::Dearer(worst_case)) => return end_of_dearer(worst_case, job),
        };
        tokio::select! {
            biased;
            () = handle.closed() => {}
            () = self.cancel.cancelled() => {
                handle.cancel();
                handle.closed().await;
            }
        }
        handle.with_run(|run| end_of_run(run, job.attempts, is_held_back))
    }

    /// Begins the run of a job, or goes on with the one that it has.
    async fn begin(&self, job: &ClaimedJob) -> Result<RunOfJob, Unbegun> {
        if let Some(id) = job.run_id
            && let Some(begun) = self.go_on(id, job).await?
        {
            return Ok(begun);
        }
        let mut question = question::of_job(job)?;
        question.request.budget.get_or_insert(self.usual_budget(job));
        match begin_reserved(self.asking.quote(question), job).await {
            // The settings have changed since it was asked first; its answers are paid for.
            Err(Unbegun::Refused(Failure { code: Code::IdempotencyConflict, run_id: Some(id), .. })) => {
                let gone = || Failure::new(Code::RunNotFound, format!("there is no run {id}"));
                Ok(self.go_on(*id, job).await?.ok_or_else(gone)?)
            }
            begun => begun,
        }
    }

    /// What a job may cost that sets no budget of its own: what the batch keeps back for it, if that is more than the settings allow.
    fn usual_budget(&self, job: &ClaimedJob) -> PicoUsd {
        if !job.is_bounded {
            return PicoUsd::MAX;
        }
        self.asking.planner.settings().budget.max(job.reserved)
    }

    /// The run of an earlier claim, continued if it lacks something; `None` if it was removed.
    async fn go_on(&self, id: RunId, job: &ClaimedJob) -> Result<Option<RunOfJob>, Unbegun> {
        let name = id.to_string();
        let facts = |run: &Run| (run.status, run.cost_max());
        let (status, spent) = match self.asking.history.seek(&name).await {
            Err(failure) if failure.code == Code::RunNotFound => return Ok(None),
            Err(failure) => return Err(failure.into()),
            Ok(KnownRun::Live(handle)) => handle.with_run(facts),
            Ok(KnownRun::Past(past)) => facts(&past.run),
        };
        let past = || async {
            Ok(self
                .asking
                .history
                .watch(&name)
                .await
                .map(|handle| Some(RunOfJob { handle, is_held_back: false }))?)
        };
        // The run's own budget may be what was kept back for it first.
        let own = question::of_job(job)?.request.budget.unwrap_or_else(|| self.usual_budget(job));
        let budget = Some(if own.is_unlimited() { own } else { own.minus(spent) });
        let continuation = match status {
            RunStatus::Complete => return past().await,
            // A server may be continuing it at this moment.
            RunStatus::Interrupted if !job.resend => Continuation::TakeOver { budget },
            _ => Continuation::Resume { resend: job.resend, budget },
        };
        match begin_reserved(self.asking.quote(Order::on(name.as_str(), continuation)), job).await {
            Ok(begun) => Ok(Some(begun)),
            // Nothing of it can be asked again, or another process is at it.
            Err(Unbegun::Refused(failure)) if matches!(failure.code, Code::Usage | Code::Busy) => {
                past().await
            }
            Err(unbegun) => Err(unbegun),
        }
    }

    /// Stores the end of a claim, also if the database is away for a while.
    async fn settle(&self, claim: Claim, end: JobEnd) -> Result<(), Failure> {
        loop {
            match self.store.settle_job(claim, end.clone()).await {
                // The lease was lost meanwhile, and the job is another worker's.
                Err(failure) if failure.code == Code::Busy => return Ok(()),
                Err(failure) if failure.retryable => sleep(SETTLE_PAUSE).await,
                settled => return settled,
            }
        }
    }
}

/// A run of a job.
struct RunOfJob {
    handle: RunHandle,
    /// Whether it may spend less than its own budget allows.
    is_held_back: bool,
}

/// Why a job's run did not begin.
enum Unbegun {
    /// It was refused.
    Refused(Failure),
    /// It may cost this much, more than is kept back for it: its prices have risen since it was submitted.
    Dearer(PicoUsd),
}

impl From<Failure> for Unbegun {
    fn from(failure: Failure) -> Self {
        Self::Refused(failure)
    }
}

/// Begins a run that spends no more than the batch keeps back for it, also where it asks again or asks another model instead.
async fn begin_reserved(
    quote: impl Future<Output = Result<Quote, Failure>>,
    job: &ClaimedJob,
) -> Result<RunOfJob, Unbegun> {
    let quote = quote.await?;
    let QuotedCost { worst_case, budget, .. } = quote.cost();
    if worst_case.known_part() > job.reserved {
        return Err(Unbegun::Dearer(worst_case.known_part()));
    }
    let is_held_back = budget > job.reserved && (job.is_bounded || !budget.is_unlimited());
    let quote = if is_held_back { quote.at_most(job.reserved) } else { quote };
    Ok(RunOfJob { handle: quote.begin().await?, is_held_back })
}

/// The end of a job whose run has ended.
fn end_of_run(run: &Run, attempts: u32, is_held_back: bool) -> JobEnd {
    let failures: Vec<&Failure> = run.seats.iter().filter_map(|seat| seat.failure.as_ref()).collect();
    let pause = failures.iter().find(|failure| failure.code.stops_key()).map(|failure| (*failure).clone());
    let outcome = run.outcome.as_ref();
    let has_answer =
        outcome.is_some_and(|outcome| outcome.text.is_some()) && run.status != RunStatus::Cancelled;
    let result = if has_answer {
        JobResult::Answered { is_partial: run.status == RunStatus::Partial }
    } else {
        let why = reason(run);
        // A call whose end is unknown is not made again by itself, because it may have been paid.
        let waits = run.seats.iter().filter(|seat| seat.status == SeatStatus::Failed);
        let waits = waits.filter_map(|seat| seat.failure.as_ref()).filter(|failure| {
            // What its own budget allows is kept back for anew.
            failure.code.retryable() || (is_held_back && failure.code == Code::Budget)
        });
        let asked_ms = waits.clone().filter_map(|failure| failure.retry_after_ms).max();
        let may_pass = waits.count() > 0 && run.status != RunStatus::Cancelled;
        if pause.is_some() {
            JobResult::PutOff { why, after_ms: 0 }
        } else if (may_pass || run.status == RunStatus::Interrupted) && attempts < PUT_OFF_MAX {
            JobResult::PutOff { why, after_ms: wait_ms(attempts, asked_ms) }
        } else {
            JobResult::Failed(why)
        }
    };
    let known = run.cost();
    let unbounded = u64::from(run.cost_has_no_bound());
    let cost = JobCost { known, unknown_max: run.cost_max().minus(known), unbounded };
    JobEnd { run_id: Some(run.plan.run_id), cost: Some(cost), result, pause, worst_case: None }
}

/// Why a run has no answer, with what each model said: a list of jobs has one line for each.
fn reason(run: &Run) -> Failure {
    let is_lost = |seat: &SeatView| seat.status == SeatStatus::Unknown;
    let lost = || {
        let message = "a process ended while it asked, and whether models answered is unknown";
        Failure::new(Code::Interrupted, message)
    };
    if run.seats.iter().any(is_lost) && run.seats.iter().all(SeatView::is_settled) {
        return lost();
    }
    let Some(why) = run.outcome.as_ref().and_then(|outcome| outcome.failure.clone()) else { return lost() };
    if why.code != Code::AllFailed {
        return why;
    }
    let seats = run.plan.seats.iter().zip(&run.seats);
    let reasons = seats.filter_map(|(seat, view)| Some((&seat.model, &view.failure.as_ref()?.message)));
    Failure { message: Failure::new(why.code, by_reason(reasons)).message, ..why }
}

/// The end of a job whose run could not begin.
fn end_of_refusal(failure: Failure, job: &ClaimedJob) -> JobEnd {
    // The limit of a day is met by every other job as well. A job's own budget was checked when it was submitted.
    let pauses = failure.code.stops_key() || matches!(failure.code, Code::Budget | Code::PriceUnknown);
    let result = match failure.code {
        _ if pauses => JobResult::PutOff { why: failure.clone(), after_ms: 0 },
        Code::Busy => JobResult::PutOff { why: failure.clone(), after_ms: NO_ROOM_MS },
        _ if failure.retryable && job.attempts < PUT_OFF_MAX => JobResult::PutOff {
            why: failure.clone(),
            after_ms: wait_ms(job.attempts, failure.retry_after_ms),
        },
        _ => JobResult::Failed(failure.clone()),
    };
    let pause = pauses.then_some(failure);
    JobEnd { run_id: None, cost: None, result, pause, worst_case: None }
}

/// The end of a job that may cost more than is kept back for it: it waits until the batch has as much left.
fn end_of_dearer(worst_case: PicoUsd, job: &ClaimedJob) -> JobEnd {
    let message =
        format!("its prices have risen: it may cost {worst_case}, and {} was kept back", job.reserved);
    let result = JobResult::PutOff { why: Failure::new(Code::Budget, message), after_ms: 0 };
    JobEnd { run_id: None, cost: None, result, pause: None, worst_case: Some(worst_case) }
}

/// How long a job waits that was put off so often before.
fn wait_ms(attempts: u32, asked_ms: Option<u64>) -> u64 {
    let own_ms = PUT_OFF_MS.saturating_mul(4_u64.saturating_pow(attempts));
    own_ms.max(asked_ms.unwrap_or_default()).min(PUT_OFF_MS_MAX)
}

/// `None` for a failure of the database that may pass, such as its restart.
fn passing<T>(done: Result<T, Failure>) -> Result<Option<T>, Failure> {
    match done {
        Ok(value) => Ok(Some(value)),
        Err(failure) if failure.retryable => {
            // It is tried again twice a second.
            tracing::debug!("the batches cannot be read or written for the moment: {}", failure.message);
            Ok(None)
        }
        Err(failure) => Err(failure),
    }
}

/// Whether a batch has jobs that are or will be claimed.
fn is_open(batch: &Batch) -> bool {
    batch.state == BatchState::Running && !batch.is_finished()
}

fn defect() -> Failure {
    Failure::new(Code::Internal, "a defect ended the work on a job")
}
