//! Statements for batches and their jobs.

use parallel_llm_engine::{BatchId, PicoUsd};
use rusqlite::types::FromSqlError;
use rusqlite::{Row, params};

use super::connection::{Reader, Transaction};
use super::row::text;
use crate::batch::{Batch, BatchJob, BatchState, JobFilter, JobState, JobsPage, NewBatch};
use crate::error::DatabaseError;
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
        "line, state, IFNULL(request, ''), checksum, worst_case_pico_usd, is_reserved, claim, attempts, resend, run_id, \
         cost_pico_usd"
    };
}

/// A page of jobs. Each variant uses its own index.
macro_rules! jobs {
    ($which:literal) => {
        concat!(
            "SELECT line, custom_id, state, run_id, cost_pico_usd, failure FROM batch_jobs ",
            "WHERE batch_id = ? AND line > ? AND ",
            $which,
            " ORDER BY line LIMIT ?"
        )
    };
}

impl Reader<'_> {
    /// The batches, newest first.
    pub(crate) fn batches(&self, limit: usize) -> Result<Vec<Batch>, DatabaseError> {
        let sql = concat!("SELECT ", batch_columns!(), " FROM batches ORDER BY batch_id DESC LIMIT ?");
        self.rows(sql, [integer(limit as u64)], batch)
    }

    /// The batches with jobs that are or will be claimed, oldest first.
    pub(crate) fn open_batches(&self, limit: usize) -> Result<Vec<Batch>, DatabaseError> {
        let sql = concat!(
            "SELECT ",
            batch_columns!(),
            " FROM batches WHERE state = 'running' AND jobs > bad + answered + failed ORDER BY batch_id LIMIT ?"
        );
        self.rows(sql, [integer(limit as u64)], batch)
    }

    /// A batch.
    pub(crate) fn batch(&self, batch_id: BatchId) -> Result<Option<Batch>, DatabaseError> {
        let sql = concat!("SELECT ", batch_columns!(), " FROM batches WHERE batch_id = ?");
        self.first(sql, [batch_id.to_string()], batch)
    }

    /// A page of the jobs of a batch.
    pub(crate) fn batch_jobs(&self, page: &JobsPage) -> Result<Vec<BatchJob>, DatabaseError> {
        let sql = match page.filter {
            JobFilter::All => jobs!("TRUE"),
            JobFilter::Failed => jobs!("state = 'failed'"),
            JobFilter::Bad => jobs!("state = 'bad'"),
        };
        let values = (page.batch_id.to_string(), integer(page.after_line), integer(page.limit as u64));
        self.rows(sql, values, job)
    }

    /// A job.
    pub(crate) fn job(&self, batch_id: BatchId, line: i64) -> Result<Option<JobRow>, DatabaseError> {
        let sql = concat!("SELECT ", job_row_columns!(), " FROM batch_jobs WHERE batch_id = ? AND line = ?");
        self.first(sql, (batch_id.to_string(), line), job_row)
    }

    /// The processes with claims.
    pub(crate) fn claim_owners(&self) -> Result<Vec<ClaimOwner>, DatabaseError> {
        let sql = "SELECT owner, MAX(lease_until_ms) FROM batch_jobs WHERE state = 'running' GROUP BY owner";
        self.rows(sql, (), |row| {
            Ok(ClaimOwner {
                owner: row.get(0)?,
                lease_until_ms: row.get(1)?,
                rule: LeaseRule::AliveOwnerKeeps,
            })
        })
    }
}

impl Transaction {
    /// Inserts a batch; `false` if there is one of its id.
    pub(crate) fn insert_batch(&mut self, new: &NewBatch, now_ms: i64) -> Result<bool, DatabaseError> {
        let sql = "INSERT INTO batches (batch_id, name, state, budget_pico_usd, created_at_ms) \
                   VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING";
        let state = BatchState::Reading.word();
        Ok(self.execute(sql, (new.id.to_string(), &new.name, state, new.budget.0, now_ms))? == 1)
    }

    /// Sets what is decided about a batch as a whole.
    pub(crate) fn set_batch(
        &mut self,
        batch_id: BatchId,
        state: BatchState,
        pause: Option<&str>,
        budget: PicoUsd,
    ) -> Result<(), DatabaseError> {
        let sql = "UPDATE batches SET state = ?, pause = ?, budget_pico_usd = ? WHERE batch_id = ?";
        self.execute(sql, (state.word(), pause, budget.0, batch_id.to_string())).map(drop)
    }

    /// Adds to the sums of a batch; `settled_at_ms` is when a job of it ended.
    pub(crate) fn add_to_batch(
        &mut self,
        batch_id: BatchId,
        sums: &BatchSums,
        settled_at_ms: Option<i64>,
    ) -> Result<(), DatabaseError> {
        let sql = "UPDATE batches SET jobs = jobs + ?, bad = bad + ?, answered = answered + ?, partial = partial + ?, \
                   failed = failed + ?, spent_pico_usd = spent_pico_usd + ?, reserved_pico_usd = reserved_pico_usd + ?, \
                   settled_at_ms = COALESCE(?, settled_at_ms) WHERE batch_id = ?";
        let values = params![
            sums.jobs,
            sums.bad,
            sums.answered,
            sums.partial,
            sums.failed,
            sums.spent_pico_usd,
            sums.reserved_pico_usd,
            settled_at_ms,
            batch_id.to_string(),
        ];
        self.execute(sql, values).map(drop)
    }

    /// Removes a batch with its jobs; `false` if there is none.
    pub(crate) fn delete_batch(&mut self, batch_id: BatchId) -> Result<bool, DatabaseError> {
        Ok(self.execute("DELETE FROM batches WHERE batch_id = ?", [batch_id.to_string()])? == 1)
    }

    /// Inserts a job; `false` if its line or its own name is taken.
    pub(crate) fn insert_job(&mut self, batch_id: BatchId, job: &NewJobRow) -> Result<bool, DatabaseError> {
        let sql = "INSERT INTO batch_jobs (batch_id, line, custom_id, state, request, checksum, worst_case_pico_usd, \
                   failure) VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING";
        let values = params![
            batch_id.to_string(),
            job.line,
            job.custom_id,
            job.state().word(),
            job.request,
            job.checksum,
            job.worst_case.0,
            job.failure,
        ];
        Ok(self.execute(sql, values)? == 1)
    }

    /// The first jobs of a batch that may be claimed now, and that money is kept back for or this much is enough for.
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
            " FROM batch_jobs WHERE batch_id = ? AND state = 'waiting' AND not_before_ms <= ? ",
            "AND (is_reserved = 1 OR worst_case_pico_usd <= ?) ORDER BY not_before_ms, line LIMIT ?"
        );
        self.reader().rows(sql, (batch_id.to_string(), now_ms, room.0, integer(limit as u64)), job_row)
    }

    /// Gives jobs to the process of this stamp.
    pub(crate) fn claim_jobs(
        &mut self,
        batch_id: BatchId,
        lines: &[i64],
        stamp: &Stamp,
    ) -> Result<(), DatabaseError> {
        let sql = "UPDATE batch_jobs SET state = 'running', is_reserved = 1, claim = claim + 1, owner = ?, \
                   lease_until_ms = ? WHERE batch_id = ? AND line = ?";
        for line in lines {
            self.execute(sql, (&stamp.owner, stamp.lease_until_ms, batch_id.to_string(), line))?;
        }
        Ok(())
    }

    /// Ends the claim of a job.
    pub(crate) fn end_job(
        &mut self,
        batch_id: BatchId,
        line: i64,
        end: &JobEndRow<'_>,
    ) -> Result<(), DatabaseError> {
        let sql = "UPDATE batch_jobs SET state = ?1, is_reserved = 0, not_before_ms = ?2, attempts = ?3, \
                   run_id = COALESCE(?4, run_id), cost_pico_usd = ?5, failure = ?6, owner = '', \
                   worst_case_pico_usd = ?9, \
                   request = CASE WHEN ?1 = 'answered' THEN NULL ELSE request END, \
                   resend = CASE WHEN ?1 = 'waiting' THEN resend ELSE 0 END WHERE batch_id = ?7 AND line = ?8";
        let values = params![
            end.state.word(),
            end.not_before_ms,
            end.attempts,
            end.run_id,
            end.cost.0,
            end.failure,
            batch_id.to_string(),
            line,
            end.worst_case.0,
        ];
        self.execute(sql, values).map(drop)
    }

    /// Lets the failed jobs of a batch wait again, and returns their number.
    pub(crate) fn retry_failed(&mut self, batch_id: BatchId, resend: bool) -> Result<u64, DatabaseError> {
        let sql = "UPDATE batch_jobs SET state = 'waiting', not_before_ms = 0, attempts = 0, resend = ? \
                   WHERE batch_id = ? AND state = 'failed'";
        Ok(self.execute(sql, (resend, batch_id.to_string()))? as u64)
    }

    /// Gives back the claims of a process on jobs of a batch, but for these lines.
    pub(crate) fn give_back_jobs(
        &mut self,
        batch_id: BatchId,
        owner: &str,
        but: &[i64],
    ) -> Result<(), DatabaseError> {
        let sql = "UPDATE batch_jobs SET state = 'waiting', not_before_ms = 0, owner = '' \
                   WHERE batch_id = ? AND state = 'running' AND owner = ? AND line NOT IN (SELECT value FROM json_each(?))";
        let but = serde_json::to_string(but).expect("a list of numbers");
        self.execute(sql, (batch_id.to_string(), owner, but)).map(drop)
    }

    /// Gives back the claims of a process whose leases end as they did.
    pub(crate) fn release_jobs(&mut self, lost: &ClaimOwner) -> Result<(), DatabaseError> {
        let sql = "UPDATE batch_jobs SET state = 'waiting', not_before_ms = 0, owner = '' \
                   WHERE state = 'running' AND owner = ? AND lease_until_ms <= ?";
        self.execute(sql, (&lost.owner, lost.lease_until_ms)).map(drop)
    }
}

fn batch(row: &Row<'_>) -> rusqlite::Result<Batch> {
    let id = row.get_ref(0)?.as_str()?;
    Ok(Batch {
        id: id.parse().map_err(|cause: String| FromSqlError::Other(cause.into()))?,
        name: row.get(1)?,
        state: known(row, 2, BatchState::by_word)?,
        pause: failure(row, 3)?,
        budget: PicoUsd(row.get(4)?),
        created_at_ms: row.get(5)?,
        settled_at_ms: row.get(6)?,
        jobs: count(row.get(7)?),
        bad: count(row.get(8)?),
        answered: count(row.get(9)?),
        partial: count(row.get(10)?),
        failed: count(row.get(11)?),
        spent: PicoUsd(row.get(12)?),
        reserved: PicoUsd(row.get(13)?),
        running: count(row.get(14)?),
        workers: count(row.get(15)?),
    })
}

fn job(row: &Row<'_>) -> rusqlite::Result<BatchJob> {
    let run_id: Option<String> = row.get(3)?;
    let run_id = run_id.map(|id| id.parse()).transpose();
    Ok(BatchJob {
        line: count(row.get(0)?),
        custom_id: row.get(1)?,
        state: known(row, 2, JobState::by_word)?,
        run_id: run_id.map_err(|cause: String| FromSqlError::Other(cause.into()))?,
        cost: PicoUsd(row.get(4)?),
        failure: failure(row, 5)?,
    })
}

fn job_row(row: &Row<'_>) -> rusqlite::Result<JobRow> {
    Ok(JobRow {
        line: row.get(0)?,
        state: known(row, 1, JobState::by_word)?,
        request: text(row, 2)?,
        checksum: row.get(3)?,
        worst_case: PicoUsd(row.get(4)?),
        is_reserved: row.get(5)?,
        claim: row.get(6)?,
        attempts: row.get(7)?,
        resend: row.get(8)?,
        run_id: row.get(9)?,
        cost: PicoUsd(row.get(10)?),
    })
}

/// Reads a state.
fn known<T>(row: &Row<'_>, column: usize, by_word: fn(&str) -> Option<T>) -> rusqlite::Result<T> {
    let word = row.get_ref(column)?.as_str()?;
    let unknown = || FromSqlError::Other(format!("`{word}` is no state").into());
    Ok(by_word(word).ok_or_else(unknown)?)
}

/// Reads a failure that may be missing.
fn failure(row: &Row<'_>, column: usize) -> rusqlite::Result<Option<parallel_llm_engine::Failure>> {
    let json = row.get_ref(column)?.as_str_or_null()?;
    Ok(json.map(serde_json::from_str).transpose().map_err(FromSqlError::other)?)
}
