//! Batches: files of questions that are worked through, each line as a run.
//!
//! A batch holds its jobs, one per line. Workers claim jobs that wait, ask each as a run under an idempotency key of its
//! own, and settle it. Invariants: one claim at a time owns a job, and only it ends the job; a claim is given back when
//! its process is gone; what the jobs of a batch have cost, and what those in progress may cost at worst, is within its
//! budget whenever a further job is claimed.

mod state;

use parallel_llm_engine::{BatchId, Failure, PicoUsd, RunId};

pub use state::{Batch, BatchJob, BatchState, JobCost, JobFilter, JobState, JobsPage};

/// A batch to be created. Its jobs follow, then [`BatchChange::Begin`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewBatch {
    /// Its id.
    pub id: BatchId,
    /// The name of its file, for people.
    pub name: String,
    /// What all its runs may cost together.
    pub budget: PicoUsd,
}

/// A line of the file of a batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewJob {
    /// Its number, from 1.
    pub line: u64,
    /// The caller's own name for it, unique in its batch.
    pub custom_id: Option<String>,
    /// What to ask, or why the line cannot be used.
    pub content: Result<JobRequest, Failure>,
}

/// What a job asks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobRequest {
    /// The question as JSON, in a form that belongs to the caller of the store.
    pub json: String,
    /// The most that its run may cost.
    pub worst_case: PicoUsd,
}

/// A change of a batch as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BatchChange {
    /// Its file is read: its jobs may be claimed from now on.
    Begin,
    /// No further job is claimed.
    Pause,
    /// Jobs are claimed again, within this budget if there is a new one.
    Resume {
        /// The new budget.
        budget: Option<PicoUsd>,
    },
    /// No further job is claimed, for good.
    Cancel,
    /// Jobs that failed wait again, and the batch goes on.
    RetryFailed {
        /// Whether calls that may have been paid are made again.
        resend: bool,
        /// The new budget.
        budget: Option<PicoUsd>,
    },
}

/// A claim of a job, by which its worker ends it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Claim {
    /// The batch.
    pub batch_id: BatchId,
    /// The line of the job.
    pub line: u64,
    /// The number of the claim.
    pub number: u64,
}

/// A job that this process has claimed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClaimedJob {
    /// The claim.
    pub claim: Claim,
    /// What to ask, as [`JobRequest::json`].
    pub request: String,
    /// The run that an earlier claim began.
    pub run_id: Option<RunId>,
    /// How often the job was put off since its user asked for it.
    pub attempts: u32,
    /// Whether calls that may have been paid are made again.
    pub resend: bool,
    /// What the batch keeps back of its budget for the job.
    pub reserved: PicoUsd,
    /// Whether the batch has a budget.
    pub is_bounded: bool,
}

/// The result of an attempt to claim jobs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claims {
    /// The claimed jobs.
    pub jobs: Vec<ClaimedJob>,
    /// The batch after it.
    pub batch: Batch,
}

/// How a claim of a job ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobEnd {
    /// Its run, if one began.
    pub run_id: Option<RunId>,
    /// What the run has cost so far, earlier claims included; `None` if that has not changed.
    pub cost: Option<JobCost>,
    /// What became of the job.
    pub result: JobResult,
    /// Why its batch is paused: every other job would meet the same failure.
    pub pause: Option<Failure>,
    /// What the job may cost by prices that are known now; `None` if that has not changed.
    pub worst_case: Option<PicoUsd>,
}

/// What became of a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JobResult {
    /// Its run has an answer.
    Answered {
        /// Whether a seat is missing.
        is_partial: bool,
    },
    /// It has no answer, and will not be asked again by itself.
    Failed(Failure),
    /// It waits, and may be claimed again after so many milliseconds.
    PutOff {
        /// Why it has no answer yet.
        why: Failure,
        /// The wait.
        after_ms: u64,
    },
}
