//! Statements for batches and their jobs.

use parallel_llm_engine::{BatchId, Failure, PicoUsd};

use super::parts::columns::text;
use super::parts::session::{Reader, Row, Session};
use super::parts::value::{damaged, values};
use crate::batch::{Batch, BatchJob, BatchState, JobCost, JobFilter, JobState, JobsPage, NewBatch};
use crate::row::job_row::{BatchSums, ClaimOwner, JobEndRow, JobRow, NewJobRow};
use crate::row::ownership::Stamp;
use crate::row::{count, integer};
use crate::system::error::DatabaseResult as Result;

/// The columns that [`batch`] reads.
macro_rules! batch_columns {
    () => {
        "batch_id, name, state, pause, budget_pico_usd, created_at_ms, settled_at_ms, jobs, bad, answered, partial, failed, \
         spent_pico_usd, unknown_pico_usd, unbounded, reserved_pico_usd, \
         (SELECT COUNT(*) FROM batch_jobs AS job WHERE job.batch_id = batches.batch_id AND job.state = 'running'), \
         (SELECT COUNT(DISTINCT owner) FROM batch_jobs AS job \
          WHERE job.batch_id = batches.batch_id AND job.state = 'running')"
    };
}

/// The columns that [`job_row`] reads.
macro_rules! job_row_columns {
    () => {
        "line, state, COALESCE(request, ''), checksum, worst_case_pico_usd, is_reserved, claim, attempts, resend, run_id, \
         cost_pico_usd, unknown_pico_usd, unbounded"
    };
}

/// A page of jobs. Each variant uses its own index.
macro_rules! jobs {
    ($which:literal) => {
        concat!(
            "SELECT line, custom_id, state, run_id, cost_pico_usd, unknown_pico_usd, unbounded, failure FROM batch_jobs ",
            "WHERE batch_id = $1 AND line > $2 AND ",
            $which,
            " ORDER BY line LIMIT $3"
        )
    };
}

impl Reader<'_> {
    /// The batches, newest first.
    pub(crate) fn batches(&self, limit: usize) -> Result<Vec<Batch>> {
        let sql = concat!("SELECT ", batch_columns!(), " FROM batches ORDER BY batch_id DESC LIMIT $1");
        self.session.rows(sql, &values![integer(limit as u64)], batch)
    }

    /// The batches with jobs that are or will be claimed, oldest first.
    pub(crate) fn open_batches(&self, limit: usize) -> Result<Vec<Batch>> {
        let sql = concat!(
            "SELECT ",
            batch_columns!(),
            " FROM batches WHERE state = 'running' AND jobs > bad + answered + failed ORDER BY batch_id LIMIT $1"
        );
        self.session.rows(sql, &values![integer(limit as u64)], batch)
    }

    /// A batch.
    pub(crate) fn batch(&self, batch_id: BatchId) -> Result<Option<Batch>> {
        let sql = concat!("SELECT ", batch_columns!(), " FROM batches WHERE batch_id = $1");
        self.session.first(sql, &values![batch_id], batch)
    }

    /// A page of the jobs of a batch.
    pub(crate) fn batch_jobs(&self, page: &JobsPage) -> Result<Vec<BatchJob>> {
        let sql = match page.filter {
            JobFilter::All => jobs!("TRUE"),
            JobFilter::Failed => jobs!("state = 'failed'"),
            JobFilter::Bad => jobs!("state = 'bad'"),
        };
        let values = values![page.batch_id, integer(page.after_line), integer(page.limit as u64)];
        self.session.rows(sql, &values, job)
    }

    /// A job.
    pub(crate) fn job(&self, batch_id: BatchId, line: i64) -> Result<Option<JobRow>> {
        let sql =
            concat!("SELECT ", job_row_columns!(), " FROM batch_jobs WHERE batch_id = $1 AND line = $2");
        self.session.first(sql, &values![batch_id, line], job_row)
    }

    /// The processes with claims.
    pub(crate) fn claim_owners(&self) -> Result<Vec<ClaimOwner>> {
        let sql = "SELECT owner, MAX(lease_until_ms) FROM batch_jobs WHERE state = 'running' GROUP BY owner";
        self.session.rows(sql, &[], |row| {
            Ok(ClaimOwner { owner: row.get(0)?, lease_until_ms: row.get(1)?, rule: row.dialect.lease_rule })
        })
    }
}

impl dyn Session + '_ {
    /// Inserts a batch; `false` if there is one of its id.
    pub(crate) fn insert_batch(&self, new: &NewBatch, now_ms: i64) -> Result<bool> {
        let sql = "INSERT INTO batches (batch_id, name, state, budget_pico_usd, created_at_ms) \
                   VALUES ($1, $2, $3, $4, $5) ON CONFLICT DO NOTHING";
        let values = values![new.id, &new.name, BatchState::Reading.word(), new.budget, now_ms];
        Ok(self.execute(sql, &values)? == 1)
    }

    /// Sets what is decided about a batch as a whole.
    pub(crate) fn set_batch(
        &self,
        batch_id: BatchId,
        state: BatchState,
        pause: Option<&str>,
        budget: PicoUsd,
    ) -> Result<()> {
        let sql = "UPDATE batches SET state = $1, pause = $2, budget_pico_usd = $3 WHERE batch_id = $4";
        self.execute(sql, &values![state.word(), pause, budget, batch_id]).map(drop)
    }

    /// Adds to the sums of a batch; `settled_at_ms` is when a job of it ended.
    pub(crate) fn add_to_batch(
        &self,
        batch_id: BatchId,
        sums: &BatchSums,
        settled_at_ms: Option<i64>,
    ) -> Result<()> {
        let sql = "UPDATE batches SET jobs = jobs + $1, bad = bad + $2, answered = answered + $3, partial = partial + $4, \
                   failed = failed + $5, spent_pico_usd = spent_pico_usd + $6, \
                   unknown_pico_usd = unknown_pico_usd + $7, unbounded = unbounded + $8, \
                   reserved_pico_usd = reserved_pico_usd + $9, settled_at_ms = COALESCE($10, settled_at_ms) \
                   WHERE batch_id = $11";
        let values = values![
            sums.jobs,
            sums.bad,
            sums.answered,
            sums.partial,
            sums.failed,
            sums.spent_pico_usd,
            sums.unknown_pico_usd,
            sums.unbounded,
            sums.reserved_pico_usd,
            settled_at_ms,
            batch_id,
        ];
        self.execute(sql, &values).map(drop)
    }

    /// Removes a batch with its jobs; `false` if there is none.
    pub(crate) fn delete_batch(&self, batch_id: BatchId) -> Result<bool> {
        Ok(self.execute("DELETE FROM batches WHERE batch_id = $1", &values![batch_id])? == 1)
    }

    /// Inserts a job; `false` if its line or its own name is taken.
    pub(crate) fn insert_job(&self, batch_id: BatchId, job: &NewJobRow) -> Result<bool> {
        let sql = "INSERT INTO batch_jobs (batch_id, line, custom_id, state, request, checksum, worst_case_pico_usd, \
                   failure) VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT DO NOTHING";
        let values = values![
            batch_id,
            job.line,
            &job.custom_id,
            job.state().word(),
            &job.request,
            job.checksum,
            job.worst_case,
            &job.failure,
        ];
        Ok(self.execute(sql, &values)? == 1)
    }

    /// The first jobs of a batch that may be claimed now, and that money is kept back for or this much is enough for, and that no
    /// other process is claiming.
    pub(crate) fn waiting_jobs(
        &self,
        batch_id: BatchId,
        now_ms: i64,
        room: PicoUsd,
        limit: usize,
    ) -> Result<Vec<JobRow>> {
        let sql = format!(
            "SELECT {} FROM batch_jobs WHERE batch_id = $1 AND state = 'waiting' AND not_before_ms <= $2 \
             AND (is_reserved OR worst_case_pico_usd <= $3) ORDER BY not_before_ms, line LIMIT $4{}",
            job_row_columns!(),
            self.dialect().lock_free
        );
        self.rows(&sql, &values![batch_id, now_ms, room, integer(limit as u64)], job_row)
    }

    /// Gives jobs to the process of this stamp.
    pub(crate) fn claim_jobs(&self, batch_id: BatchId, lines: &[i64], stamp: &Stamp) -> Result<()> {
        let sql = "UPDATE batch_jobs SET state = 'running', is_reserved = TRUE, claim = claim + 1, owner = $1, \
                   lease_until_ms = $2 WHERE batch_id = $3 AND line = $4";
        let job = |line| values![&stamp.owner, stamp.lease_until_ms, batch_id, line];
        self.execute_each(sql, lines.iter().map(job))
    }

    /// Ends the claim of a job.
    pub(crate) fn end_job(&self, batch_id: BatchId, line: i64, end: &JobEndRow<'_>) -> Result<()> {
        let sql = "UPDATE batch_jobs SET state = $1, is_reserved = FALSE, not_before_ms = $2, attempts = $3, \
                   run_id = COALESCE($4, run_id), cost_pico_usd = $5, unknown_pico_usd = $6, unbounded = $7, \
                   failure = $8, owner = '', worst_case_pico_usd = $9, \
                   request = CASE WHEN $1 = 'answered' THEN NULL ELSE request END, \
                   resend = CASE WHEN $1 = 'waiting' THEN resend ELSE FALSE END WHERE batch_id = $10 AND line = $11";
        let values = values![
            end.state.word(),
            end.not_before_ms,
            end.attempts,
            &end.run_id,
            end.cost.most(),
            end.cost.unknown_max,
            integer(end.cost.unbounded),
            end.failure,
            end.worst_case,
            batch_id,
            line,
        ];
        self.execute(sql, &values).map(drop)
    }

    /// Lets the failed jobs of a batch wait again, and returns their number.
    pub(crate) fn retry_failed(&self, batch_id: BatchId, resend: bool) -> Result<u64> {
        let sql = "UPDATE batch_jobs SET state = 'waiting', not_before_ms = 0, attempts = 0, resend = $1 \
                   WHERE batch_id = $2 AND state = 'failed'";
        self.execute(sql, &values![resend, batch_id])
    }

    /// Gives back the claims of a process on jobs of a batch, but for these lines.
    pub(crate) fn give_back_jobs(&self, batch_id: BatchId, owner: &str, but: &[i64]) -> Result<()> {
        let sql = format!(
            "UPDATE batch_jobs SET state = 'waiting', not_before_ms = 0, owner = '' \
             WHERE batch_id = $1 AND state = 'running' AND owner = $2 \
             AND line NOT IN (SELECT CAST(value AS BIGINT) FROM {} AS kept)",
            self.dialect().entries("$3")
        );
        let but = serde_json::to_string(but).expect("a list of numbers");
        self.execute(&sql, &values![batch_id, owner, but]).map(drop)
    }

    /// Gives back the claims of a process whose leases end as they did, but for those that are being ended.
    pub(crate) fn release_jobs(&self, lost: &ClaimOwner) -> Result<()> {
        let sql = format!(
            "UPDATE batch_jobs SET state = 'waiting', not_before_ms = 0, owner = '' FROM (SELECT batch_id AS b, \
             line AS l FROM batch_jobs WHERE state = 'running' AND owner = $1 AND lease_until_ms <= $2{}) AS lost \
             WHERE batch_id = lost.b AND line = lost.l",
            self.dialect().lock_free
        );
        self.execute(&sql, &values![&lost.owner, lost.lease_until_ms]).map(drop)
    }
}

fn batch(row: &Row<'_>) -> Result<Batch> {
    Ok(Batch {
        id: row.get(0)?,
        name: row.get(1)?,
        state: known(row, 2, BatchState::by_word)?,
        pause: failure(row, 3)?,
        budget: row.get(4)?,
        created_at_ms: row.get(5)?,
        settled_at_ms: row.get(6)?,
        jobs: count(row.get(7)?),
        bad: count(row.get(8)?),
        answered: count(row.get(9)?),
        partial: count(row.get(10)?),
        failed: count(row.get(11)?),
        spent: cost(row, 12)?,
        reserved: row.get(15)?,
        running: count(row.get(16)?),
        workers: count(row.get(17)?),
    })
}

fn job(row: &Row<'_>) -> Result<BatchJob> {
    Ok(BatchJob {
        line: count(row.get(0)?),
        custom_id: row.get(1)?,
        state: known(row, 2, JobState::by_word)?,
        run_id: row.get(3)?,
        cost: cost(row, 4)?,
        failure: failure(row, 7)?,
    })
}

fn job_row(row: &Row<'_>) -> Result<JobRow> {
    Ok(JobRow {
        line: row.get(0)?,
        state: known(row, 1, JobState::by_word)?,
        request: text(row, 2)?,
        checksum: row.get(3)?,
        worst_case: row.get(4)?,
        is_reserved: row.get(5)?,
        claim: row.get(6)?,
        attempts: row.get(7)?,
        resend: row.get(8)?,
        run_id: row.get(9)?,
        cost: cost(row, 10)?,
    })
}

/// Reads a cost from the columns of the most that it can be as far as that is known, of the unknown part of that, and of the
/// jobs whose cost has no bound.
fn cost(row: &Row<'_>, column: usize) -> Result<JobCost> {
    let (most, unknown_max): (PicoUsd, PicoUsd) = (row.get(column)?, row.get(column + 1)?);
    Ok(JobCost { known: most.minus(unknown_max), unknown_max, unbounded: count(row.get(column + 2)?) })
}

/// Reads a state.
fn known<T>(row: &Row<'_>, column: usize, by_word: fn(&str) -> Option<T>) -> Result<T> {
    let word: &str = row.get(column)?;
    by_word(word).ok_or_else(|| damaged(format!("`{word}` is no state")))
}

/// Reads a failure that may be missing.
fn failure(row: &Row<'_>, column: usize) -> Result<Option<Failure>> {
    let json: Option<&str> = row.get(column)?;
    json.map(serde_json::from_str).transpose().map_err(damaged)
}
