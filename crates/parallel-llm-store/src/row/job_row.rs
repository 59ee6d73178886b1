//! Rows of batches and their jobs.

use parallel_llm_engine::{BatchId, Failure, PicoUsd};

use super::checksum::Checksum;
use super::compressed::TextBody;
use super::integer;
use super::ownership::{LeaseRule, Ownership};
use crate::batch::{JobCost, JobState, NewJob};

/// A job to be inserted.
#[derive(Debug)]
pub(crate) struct NewJobRow {
    pub(crate) line: i64,
    pub(crate) custom_id: Option<String>,
    pub(crate) request: Option<TextBody>,
    pub(crate) checksum: Option<i64>,
    pub(crate) worst_case: PicoUsd,
    /// Why the line cannot be used, as JSON.
    pub(crate) failure: Option<String>,
}

impl NewJobRow {
    pub(crate) fn of(batch_id: BatchId, job: NewJob) -> Self {
        let NewJob { line, custom_id, content } = job;
        let (request, worst_case, failure) = match content {
            Ok(request) => (Some(request.json), request.worst_case, None),
            Err(failure) => (None, PicoUsd::ZERO, Some(failure_json(&failure))),
        };
        let line = integer(line);
        let checksum = request.as_ref().map(|json| checksum(batch_id, line, json).finish());
        let request = request.map(|json| TextBody::of(&json.into()));
        Self { line, custom_id, request, checksum, worst_case, failure }
    }

    pub(crate) const fn state(&self) -> JobState {
        if self.request.is_some() { JobState::Waiting } else { JobState::Bad }
    }
}

/// A job as its claim and its end need it.
#[derive(Clone, Debug)]
pub(crate) struct JobRow {
    pub(crate) line: i64,
    pub(crate) state: JobState,
    /// Empty once the job is answered.
    pub(crate) request: String,
    pub(crate) checksum: Option<i64>,
    pub(crate) worst_case: PicoUsd,
    pub(crate) is_reserved: bool,
    pub(crate) claim: i64,
    pub(crate) attempts: i64,
    pub(crate) resend: bool,
    pub(crate) run_id: Option<String>,
    pub(crate) cost: JobCost,
}

impl JobRow {
    /// Whether its request is what was written.
    pub(crate) fn is_sound(&self, batch_id: BatchId) -> bool {
        is_sound(batch_id, self.line, &self.request, self.checksum)
    }
}

/// A job after the end of its claim.
#[derive(Debug)]
pub(crate) struct JobEndRow<'a> {
    pub(crate) state: JobState,
    pub(crate) not_before_ms: i64,
    pub(crate) attempts: i64,
    pub(crate) run_id: Option<String>,
    pub(crate) cost: JobCost,
    pub(crate) worst_case: PicoUsd,
    pub(crate) failure: Option<&'a str>,
}

/// What is added to the sums of a batch.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct BatchSums {
    pub(crate) jobs: i64,
    pub(crate) bad: i64,
    pub(crate) answered: i64,
    pub(crate) partial: i64,
    pub(crate) failed: i64,
    pub(crate) spent_pico_usd: i64,
    pub(crate) unknown_pico_usd: i64,
    pub(crate) unbounded: i64,
    pub(crate) reserved_pico_usd: i64,
}

/// A process with claims, and the latest end of their leases.
#[derive(Debug)]
pub(crate) struct ClaimOwner {
    pub(crate) owner: String,
    pub(crate) lease_until_ms: i64,
    pub(crate) rule: LeaseRule,
}

impl ClaimOwner {
    /// Whether the process works no more, as far as can be seen from here.
    pub(crate) fn is_gone(&self, now_ms: i64) -> bool {
        let Self { owner, lease_until_ms, rule } = self;
        let (lease_until_ms, rule) = (*lease_until_ms, *rule);
        Ownership { owner: owner.clone(), lease_until_ms, is_closed: false, rule }.is_interrupted(now_ms)
    }
}

/// A failure as it is stored.
pub(crate) fn failure_json(failure: &Failure) -> String {
    serde_json::to_string(failure).expect("a failure is plain data")
}

/// Whether this is the request that was written for this line of a batch, whose id may be damaged.
pub(crate) fn is_of_line(batch_id: &str, line: i64, request: &str, checksum: Option<i64>) -> bool {
    batch_id.parse().is_ok_and(|batch_id| is_sound(batch_id, line, request, checksum))
}

fn is_sound(batch_id: BatchId, line: i64, request: &str, stored: Option<i64>) -> bool {
    stored.is_some() && checksum(batch_id, line, request).matches(stored)
}

fn checksum(batch_id: BatchId, line: i64, request: &str) -> Checksum {
    Checksum::of("batch_jobs").text(Some(&batch_id.to_string())).number(Some(line)).text(Some(request))
}
