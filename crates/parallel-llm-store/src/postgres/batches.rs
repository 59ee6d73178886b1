//! Statements for batches and their jobs.

use parallel_llm_engine::{BatchId, Failure, PicoUsd};
use tokio_postgres::Row;

use super::connection::{Reader, Transaction};
use super::row::{damaged, get, money, text};
use super::session::Parameters;
use crate::batch::{Batch, BatchJob, BatchState, JobFilter, JobState, JobsPage, NewBatch};
use crate::error::DatabaseError;
use crate::row::compressed::TextBody;
use crate::row::job_row::{BatchSums, ClaimOwner, JobEndRow, JobRow, NewJobRow};
use crate::row::ownership::{LeaseRule, Stamp};
use crate::row::{count, integer};

/// The columns that [`batch`] reads.
macro_rules! batch_columns {
    () => {
        "batch_id, name, state, pause, budget_pico_usd, created_at_ms, settled_at_ms, jobs, bad, answered, partial, failed, \
         spent_pico_usd, reserved_pico_usd, \
         (SELECT COUNT(*) FROM batch_jobs AS job WHERE job.batch_id = batches.batch_id AND job.state = 'running'), \
         (SELECT COUNT(DISTINCT owner) FROM batch_jobs AS job \
          WHERE job.batch_id = batches.batch_id AND job.state = 'running')"
    };
}

/// The columns that [`job_row`] reads.
macro_rules! job_row_columns {
    () => {
        "line, state, COALESCE(request, ''), checksum, worst_case_pico_usd, is_reserved, claim, attempts, resend, run_id, \
         cost_pico_usd"
    };
}

/// A page of jobs. Each variant uses its own index.
macro_rules! jobs {
    ($which:literal) => {
        concat!(
            "SELECT line, custom_id, state, run_id, cost_pico_usd, failure FROM batch_jobs ",
            "WHERE batch_id = $1 AND line > $2 AND ",
            $which,
            " ORDER BY line LIMIT $3"
        )
    };
}

impl Reader<'_> {
    /// The batches, newest first.
    pub(crate) fn batches(&self, limit: usize) -> Result<Vec<Batch>, DatabaseError> {
        let sql = concat!("SELECT ", batch_columns!(), " FROM batches ORDER BY batch_id DESC LIMIT $1");
        self.session.rows(sql, &[&integer(limit as u64)], batch)
    }

    /// The batches with jobs that are or will be claimed, oldest first.
    pub(crate) fn open_batches(&self, limit: usize) -> Result<Vec<Batch>, DatabaseError> {
        let sql = concat!(
            "SELECT ",
            batch_columns!(),
            " FROM batches WHERE state = 'running' AND jobs > bad + answered + failed ORDER BY batch_id LIMIT $1"
        );
        self.session.rows(sql, &[&integer(limit as u64)], batch)
    }

    /// A batch.
    pub(crate) fn batch(&self, batch_id: BatchId) -> Result<Option<Batch>, DatabaseError> {
        let sql = concat!("SELECT ", batch_columns!(), " FROM batches WHERE batch_id = $1");
        self.session.first(sql, &[&batch_id.to_string()], batch)
    }

    /// A page of the jobs of a batch.
    pub(crate) fn batch_jobs(&self, page: &JobsPage) -> Result<Vec<BatchJob>, DatabaseError> {
        let sql = match page.filter {
            JobFilter::All => jobs!("TRUE"),
            JobFilter::Failed => jobs!("state = 'failed'"),
            JobFilter::Bad => jobs!("state = 'bad'"),
        };
        let (after, limit) = (integer(page.after_line), integer(page.limit as u64));
        self.session.rows(sql, &[&page.batch_id.to_string(), &after, &limit], job)
    }

    /// A job.
    pub(crate) fn job(&self, batch_id: BatchId, line: i64) -> Result<Option<JobRow>, DatabaseError> {
        let sql =
            concat!("SELECT ", job_row_columns!(), " FROM batch_jobs WHERE batch_id = $1 AND line = $2");
        self.session.first(sql, &[&batch_id.to_string(), &line], job_row)
    }

    /// The processes with claims.
    pub(crate) fn claim_owners(&self) -> Result<Vec<ClaimOwner>, DatabaseError> {
        let sql = "SELECT owner, MAX(lease_until_ms) FROM batch_jobs WHERE state = 'running' GROUP BY owner";
        let read = |row: &Row| {
            let (owner, lease_until_ms) = (get(row, 0)?, get(row, 1)?);
            Ok(ClaimOwner { owner, lease_until_ms, rule: LeaseRule::LeaseDecides })
        };
        self.session.rows(sql, &[], read)
    }
}

impl Transaction {
    /// Keeps other processes from changing these batches until the transaction has ended. Called once, before any other
    /// row is locked, so that no two processes wait for each other.
    pub(crate) fn lock_batches(&mut self, batch_ids: &[String]) -> Result<(), DatabaseError> {
        let sql = "SELECT 1 FROM batches WHERE batch_id = ANY($1) ORDER BY batch_id FOR UPDATE";
        self.execute(sql, &[&batch_ids]).map(drop)
    }

    /// Inserts a batch; `false` if there is one of its id.
    pub(crate) fn insert_batch(&mut self, new: &NewBatch, now_ms: i64) -> Result<bool, DatabaseError> {
        let sql = "INSERT INTO batches (batch_id, name, state, budget_pico_usd, created_at_ms) \
                   VALUES ($1, $2, $3, $4, $5) ON CONFLICT DO NOTHING";
        let state = BatchState::Reading.word();
        let id = new.id.to_string();
        Ok(self.execute(sql, &[&id, &new.name, &state, &new.budget.0, &now_ms])? == 1)
    }

    /// Sets what is decided about a batch as a whole.
    pub(crate) fn set_batch(
        &mut self,
        batch_id: BatchId,
        state: BatchState,
        pause: Option<&str>,
        budget: PicoUsd,
    ) -> Result<(), DatabaseError> {
        let sql = "UPDATE batches SET state = $1, pause = $2, budget_pico_usd = $3 WHERE batch_id = $4";
        self.execute(sql, &[&state.word(), &pause, &budget.0, &batch_id.to_string()]).map(drop)
    }

    /// Adds to the sums of a batch; `settled_at_ms` is when a job of it ended.
    pub(crate) fn add_to_batch(
        &mut self,
        batch_id: BatchId,
        sums: &BatchSums,
        settled_at_ms: Option<i64>,
    ) -> Result<(), DatabaseError> {
        let sql = "UPDATE batches SET jobs = jobs + $1, bad = bad + $2, answered = answered + $3, partial = partial + $4, \
                   failed = failed + $5, spent_pico_usd = spent_pico_usd + $6, \
                   reserved_pico_usd = reserved_pico_usd + $7, settled_at_ms = COALESCE($8, settled_at_ms) \
                   WHERE batch_id = $9";
        let values: Parameters<'_> = &[
            &sums.jobs,
            &sums.bad,
            &sums.answered,
            &sums.partial,
            &sums.failed,
            &sums.spent_pico_usd,
            &sums.reserved_pico_usd,
            &settled_at_ms,
            &batch_id.to_string(),
        ];
        self.execute(sql, values).map(drop)
    }

    /// Removes a batch with its jobs; `false` if there is none.
    pub(crate) fn delete_batch(&mut self, batch_id: BatchId) -> Result<bool, DatabaseError> {
        Ok(self.execute("DELETE FROM batches WHERE batch_id = $1", &[&batch_id.to_string()])? == 1)
    }

    /// Inserts a job; `false` if its line or its own name is taken.
    pub(crate) fn insert_job(&mut self, batch_id: BatchId, job: &NewJobRow) -> Result<bool, DatabaseError> {
        let sql = "INSERT INTO batch_jobs (batch_id, line, custom_id, state, request, checksum, worst_case_pico_usd, \
                   failure) VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT DO NOTHING";
        let request = job.request.as_ref().map(TextBody::bytes);
        let values: Parameters<'_> = &[
            &batch_id.to_string(),
            &job.line,
            &job.custom_id,
            &job.state().word(),
            &request,
            &job.checksum,
            &job.worst_case.0,
            &job.failure,
        ];
        Ok(self.execute(sql, values)? == 1)
    }

    /// The first jobs of a batch that may be claimed now, and that money is kept back for or this much is enough for, and that no
    /// other process is claiming.
    pub(crate) fn waiting_jobs(
        &mut self,
        batch_id: BatchId,
        now_ms: i64,
        room: PicoUsd,
        limit: usize,
    ) -> Result<Vec<JobRow>, DatabaseError> {
        let sql = concat!(
            "SELECT ",
            job_row_columns!(),
            " FROM batch_jobs WHERE batch_id = $1 AND state = 'waiting' AND not_before_ms <= $2 ",
            "AND (is_reserved OR worst_case_pico_usd <= $3) ORDER BY not_before_ms, line LIMIT $4 FOR UPDATE SKIP LOCKED"
        );
        self.session.rows(sql, &[&batch_id.to_string(), &now_ms, &room.0, &integer(limit as u64)], job_row)
    }

    /// Gives jobs to the process of this stamp.
    pub(crate) fn claim_jobs(
        &mut self,
        batch_id: BatchId,
        lines: &[i64],
        stamp: &Stamp,
    ) -> Result<(), DatabaseError> {
        let sql = "UPDATE batch_jobs SET state = 'running', is_reserved = TRUE, claim = claim + 1, owner = $1, \
                   lease_until_ms = $2 WHERE batch_id = $3 AND line = ANY($4)";
        let batch_id = batch_id.to_string();
        self.execute(sql, &[&stamp.owner, &stamp.lease_until_ms, &batch_id, &lines]).map(drop)
    }

    /// Ends the claim of a job.
    pub(crate) fn end_job(
        &mut self,
        batch_id: BatchId,
        line: i64,
        end: &JobEndRow<'_>,
    ) -> Result<(), DatabaseError> {
        let sql = "UPDATE batch_jobs SET state = $1, is_reserved = FALSE, not_before_ms = $2, attempts = $3, \
                   run_id = COALESCE($4, run_id), cost_pico_usd = $5, failure = $6, owner = '', \
                   worst_case_pico_usd = $9, \
                   request = CASE WHEN $1 = 'answered' THEN NULL ELSE request END, \
                   resend = CASE WHEN $1 = 'waiting' THEN resend ELSE FALSE END WHERE batch_id = $7 AND line = $8";
        let values: Parameters<'_> = &[
            &end.state.word(),
            &end.not_before_ms,
            &end.attempts,
            &end.run_id,
            &end.cost.0,
            &end.failure,
            &batch_id.to_string(),
            &line,
            &end.worst_case.0,
        ];
        self.execute(sql, values).map(drop)
    }

    /// Lets the failed jobs of a batch wait again, and returns their number.
    pub(crate) fn retry_failed(&mut self, batch_id: BatchId, resend: bool) -> Result<u64, DatabaseError> {
        let sql = "UPDATE batch_jobs SET state = 'waiting', not_before_ms = 0, attempts = 0, resend = $1 \
                   WHERE batch_id = $2 AND state = 'failed'";
        self.execute(sql, &[&resend, &batch_id.to_string()])
    }

    /// Gives back the claims of a process on jobs of a batch, but for these lines.
    pub(crate) fn give_back_jobs(
        &mut self,
        batch_id: BatchId,
        owner: &str,
        but: &[i64],
    ) -> Result<(), DatabaseError> {
        let sql = "UPDATE batch_jobs SET state = 'waiting', not_before_ms = 0, owner = '' \
                   WHERE batch_id = $1 AND state = 'running' AND owner = $2 AND NOT line = ANY($3)";
        self.execute(sql, &[&batch_id.to_string(), &owner, &but]).map(drop)
    }

    /// Gives back the claims of a process whose leases end as they did, but for those that are being ended.
    pub(crate) fn release_jobs(&mut self, lost: &ClaimOwner) -> Result<(), DatabaseError> {
        let sql = "UPDATE batch_jobs SET state = 'waiting', not_before_ms = 0, owner = '' FROM (SELECT batch_id AS b, \
                   line AS l FROM batch_jobs WHERE state = 'running' AND owner = $1 AND lease_until_ms <= $2 \
                   FOR UPDATE SKIP LOCKED) AS lost WHERE batch_id = lost.b AND line = lost.l";
        self.execute(sql, &[&lost.owner, &lost.lease_until_ms]).map(drop)
    }
}

fn batch(row: &Row) -> Result<Batch, DatabaseError> {
    Ok(Batch {
        id: get::<&str>(row, 0)?.parse().map_err(|cause: String| damaged(cause))?,
        name: get(row, 1)?,
        state: known(row, 2, BatchState::by_word)?,
        pause: failure(row, 3)?,
        budget: money(row, 4)?,
        created_at_ms: get(row, 5)?,
        settled_at_ms: get(row, 6)?,
        jobs: count(get(row, 7)?),
        bad: count(get(row, 8)?),
        answered: count(get(row, 9)?),
        partial: count(get(row, 10)?),
        failed: count(get(row, 11)?),
        spent: money(row, 12)?,
        reserved: money(row, 13)?,
        running: count(get(row, 14)?),
        workers: count(get(row, 15)?),
    })
}

fn job(row: &Row) -> Result<BatchJob, DatabaseError> {
    let run_id: Option<&str> = get(row, 3)?;
    Ok(BatchJob {
        line: count(get(row, 0)?),
        custom_id: get(row, 1)?,
        state: known(row, 2, JobState::by_word)?,
        run_id: run_id.map(str::parse).transpose().map_err(|cause: String| damaged(cause))?,
        cost: money(row, 4)?,
        failure: failure(row, 5)?,
    })
}

fn job_row(row: &Row) -> Result<JobRow, DatabaseError> {
    Ok(JobRow {
        line: get(row, 0)?,
        state: known(row, 1, JobState::by_word)?,
        request: text(row, 2)?,
        checksum: get(row, 3)?,
        worst_case: money(row, 4)?,
        is_reserved: get(row, 5)?,
        claim: get(row, 6)?,
        attempts: get(row, 7)?,
        resend: get(row, 8)?,
        run_id: get(row, 9)?,
        cost: money(row, 10)?,
    })
}

/// Reads a state.
fn known<T>(row: &Row, column: usize, by_word: fn(&str) -> Option<T>) -> Result<T, DatabaseError> {
    let word: &str = get(row, column)?;
    by_word(word).ok_or_else(|| damaged(format!("`{word}` is no state")))
}

/// Reads a failure that may be missing.
fn failure(row: &Row, column: usize) -> Result<Option<Failure>, DatabaseError> {
    let json: Option<&str> = get(row, column)?;
    json.map(serde_json::from_str).transpose().map_err(damaged)
}
