//! Statements for the rows of runs.

use std::time::Duration;

use parallel_llm_engine::{RunId, RunPlan};
use sqlx::Row as _;

use super::connection::{Reader, Transaction, WriteConnection};
use super::row::{RUN_COLUMNS, ownership, ownership_columns, plan_column, run_columns, run_id, run_row};
use crate::error::DatabaseError;
use crate::row::compressed::decompressed;
use crate::row::filter::{RunPage, SameQuestion};
use crate::row::new_run::{NewRun, keeps_texts, mode_name};
use crate::row::ownership::{Ownership, Stamp};
use crate::row::run_row::{
    KeyedRun, ListedRun, RunMoment, RunRecord, RunRow, SimilarRun, StoredRow, plan_checksum,
};
use crate::row::{count, integer};

/// Sorts after every run id, which consists of digits and upper-case letters.
const AFTER_ALL: &str = "~";

macro_rules! page {
    ($status:literal, $whose:literal) => {
        concat!(
            "SELECT ",
            ownership_columns!(),
            ", ",
            run_columns!(),
            ", EXISTS (SELECT 1 FROM calls WHERE calls.run_id = runs.run_id AND calls.cost_pico_usd IS NULL) ",
            "FROM runs WHERE run_id < ?1 ",
            $status,
            $whose,
            " ORDER BY run_id DESC LIMIT ?2"
        )
    };
}

/// The newest runs whose id begins with a prefix.
macro_rules! beginning {
    ($whose:literal) => {
        concat!(
            "SELECT run_id FROM runs WHERE run_id >= ?1 AND run_id < ?1 || ?2 AND ",
            $whose,
            " ORDER BY run_id DESC LIMIT ?4"
        )
    };
}

/// The run that is so many runs older than the newest.
macro_rules! before_newest {
    ($whose:literal) => {
        concat!("SELECT run_id FROM runs WHERE ", $whose, " ORDER BY run_id DESC LIMIT 1 OFFSET ?2")
    };
}

impl Reader<'_> {
    /// A page of the list, newest first.
    pub(crate) async fn run_page(&mut self, page: &RunPage<'_>) -> Result<Vec<ListedRun>, DatabaseError> {
        // Four variants, so that each uses its own index. The `+` keeps SQLite from using the index of one column when
        // the other selects fewer rows.
        let sql = match (page.status, page.asked_by) {
            (Some(_), None) => page!("AND status = ?3", " AND ?4 IS NULL"),
            (None, None) => page!("AND ?3 IS NULL", " AND ?4 IS NULL"),
            (Some(_), Some(_)) => page!("AND +status = ?3", " AND asked_by = ?4"),
            (None, Some(_)) => page!("AND ?3 IS NULL", " AND asked_by = ?4"),
        };
        let before = page.before.map_or_else(|| AFTER_ALL.to_owned(), |run_id| run_id.to_string());
        let query = sqlx::query(sql).bind(before).bind(integer(page.rows as u64));
        let query = query.bind(page.status).bind(page.asked_by);
        let mut listed = Vec::new();
        for row in query.fetch_all(&mut *self.connection).await? {
            listed.push(ListedRun {
                ownership: ownership(&row, 0)?,
                stored: run_row(&row, 3)?,
                cost_lacks_calls: row.try_get(3 + RUN_COLUMNS)?,
            });
        }
        Ok(listed)
    }

    /// The run that is so many runs older than the newest.
    pub(crate) async fn run_before_newest(
        &mut self,
        back: u32,
        asked_by: Option<&str>,
    ) -> Result<Option<RunId>, DatabaseError> {
        let sql = match asked_by {
            None => before_newest!("?1 IS NULL"),
            Some(_) => before_newest!("asked_by = ?1"),
        };
        let query = sqlx::query(sql).bind(asked_by).bind(back);
        let row = query.fetch_optional(&mut *self.connection).await?;
        Ok(row.map(|row| run_id(&row, 0)).transpose()?)
    }

    /// The newest runs whose id begins with this prefix, at most `limit`.
    pub(crate) async fn runs_beginning(
        &mut self,
        prefix: &str,
        asked_by: Option<&str>,
        limit: usize,
    ) -> Result<Vec<RunId>, DatabaseError> {
        let sql = match asked_by {
            None => beginning!("?3 IS NULL"),
            Some(_) => beginning!("asked_by = ?3"),
        };
        let query = sqlx::query(sql).bind(prefix).bind(AFTER_ALL).bind(asked_by).bind(integer(limit as u64));
        let rows = query.fetch_all(&mut *self.connection).await?;
        Ok(rows.iter().map(|row| run_id(row, 0)).collect::<Result<_, _>>()?)
    }

    /// A run with its plan.
    pub(crate) async fn run(&mut self, run_id: RunId) -> Result<Option<RunRecord>, DatabaseError> {
        let sql = concat!(
            "SELECT ",
            ownership_columns!(),
            ", epoch, ",
            plan_column!(),
            ", plan_checksum, ",
            run_columns!(),
            " FROM runs WHERE run_id = ?"
        );
        let found = sqlx::query(sql).bind(run_id.to_string()).fetch_optional(&mut *self.connection).await?;
        let Some(row) = found else { return Ok(None) };
        Ok(Some(RunRecord {
            ownership: ownership(&row, 0)?,
            epoch: count(row.try_get(3)?),
            plan_json: decompressed(row.try_get(4)?),
            plan_checksum: row.try_get(5)?,
            stored: run_row(&row, 6)?,
        }))
    }

    /// The row of a run.
    pub(crate) async fn run_row(&mut self, run_id: RunId) -> Result<Option<StoredRow>, DatabaseError> {
        let sql = concat!("SELECT ", run_columns!(), " FROM runs WHERE run_id = ?");
        let found = sqlx::query(sql).bind(run_id.to_string()).fetch_optional(&mut *self.connection).await?;
        Ok(found.as_ref().map(|row| run_row(row, 0)).transpose()?)
    }

    /// The owner of a run.
    pub(crate) async fn ownership(&mut self, run_id: RunId) -> Result<Option<Ownership>, DatabaseError> {
        let sql = concat!("SELECT ", ownership_columns!(), " FROM runs WHERE run_id = ?");
        let found = sqlx::query(sql).bind(run_id.to_string()).fetch_optional(&mut *self.connection).await?;
        Ok(found.as_ref().map(|row| ownership(row, 0)).transpose()?)
    }

    /// The current epoch of a run.
    pub(crate) async fn epoch(&mut self, run_id: RunId) -> Result<Option<u64>, DatabaseError> {
        let query = sqlx::query_scalar::<_, i64>("SELECT epoch FROM runs WHERE run_id = ?");
        Ok(query.bind(run_id.to_string()).fetch_optional(&mut *self.connection).await?.map(count))
    }

    /// The run with this idempotency key.
    pub(crate) async fn run_of_key(
        &mut self,
        plan: &RunPlan,
        key: &str,
    ) -> Result<Option<KeyedRun>, DatabaseError> {
        let sql = "SELECT run_id, plan_hash FROM runs WHERE IFNULL(asked_by, '') = ? AND idempotency_key = ?";
        let query = sqlx::query(sql).bind(plan.asked_by.as_deref().unwrap_or_default()).bind(key);
        let Some(row) = query.fetch_optional(&mut *self.connection).await? else { return Ok(None) };
        Ok(Some(KeyedRun { run_id: run_id(&row, 0)?, plan_hash: row.try_get(1)? }))
    }

    /// Running, interrupted or cancelled runs of the same question, newest first.
    pub(crate) async fn unfinished_runs(
        &mut self,
        question: &SameQuestion<'_>,
        except: RunId,
    ) -> Result<Vec<SimilarRun>, DatabaseError> {
        let sql = concat!(
            "SELECT ",
            ownership_columns!(),
            ", run_id, status, created_at_ms, ",
            // A later run with an answer means that the question was asked again on purpose.
            "store_mode = 'full' AND NOT EXISTS (SELECT 1 FROM runs AS newer WHERE newer.plan_hash = ?1 ",
            "AND newer.status IN ('complete', 'partial') AND newer.store_mode = 'full' ",
            "AND newer.asked_by IS ?2 AND newer.run_id > runs.run_id) ",
            // Each half uses its own index. Cancelled runs are many, and their ids begin with their start time.
            "FROM runs WHERE run_id IN (SELECT run_id FROM runs WHERE status = 'running' AND plan_hash = ?1 ",
            "UNION ALL SELECT run_id FROM runs WHERE status = 'cancelled' AND run_id >= ?3 AND plan_hash = ?1) ",
            "AND run_id <> ?4 AND asked_by IS ?2 AND created_at_ms >= ?5 ORDER BY run_id DESC LIMIT ?6"
        );
        let named_since = RunId::from_parts(u64::try_from(question.since_ms).unwrap_or_default(), 0);
        let rows = sqlx::query(sql)
            .bind(question.plan_hash)
            .bind(question.asked_by)
            .bind(named_since.to_string())
            .bind(except.to_string())
            .bind(question.since_ms)
            .bind(question.runs_max)
            .fetch_all(&mut *self.connection)
            .await?;
        let mut runs = Vec::new();
        for row in rows {
            runs.push(SimilarRun {
                ownership: ownership(&row, 0)?,
                run_id: run_id(&row, 3)?,
                status: row.try_get(4)?,
                created_at_ms: row.try_get(5)?,
                is_of_use: row.try_get(6)?,
            });
        }
        Ok(runs)
    }

    /// Runs of the same question with a stored answer, newest first.
    pub(crate) async fn answered_runs(
        &mut self,
        question: &SameQuestion<'_>,
    ) -> Result<Vec<RunId>, DatabaseError> {
        let sql = "SELECT run_id FROM runs WHERE plan_hash = ? AND status IN ('complete', 'partial') \
                   AND store_mode = 'full' AND asked_by IS ? AND decided_at_ms >= ? ORDER BY run_id DESC LIMIT ?";
        let query = sqlx::query(sql).bind(question.plan_hash).bind(question.asked_by);
        let query = query.bind(question.since_ms).bind(question.runs_max);
        let rows = query.fetch_all(&mut *self.connection).await?;
        Ok(rows.iter().map(|row| run_id(row, 0)).collect::<Result<_, _>>()?)
    }
}

impl Transaction {
    /// Inserts a new run with its plan; `false` if the run exists.
    pub(crate) async fn insert_run(
        &mut self,
        new: &NewRun,
        epoch: u64,
        stamp: &Stamp,
    ) -> Result<bool, DatabaseError> {
        let sql = "INSERT INTO runs (run_id, plan, plan_hash, store_mode, created_at_ms, owner, epoch, lease_until_ms, \
                   question_excerpt, strategy, seats, asked_by, idempotency_key, is_indexed, plan_checksum) \
                   VALUES (?, '', ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING; \
                   INSERT INTO texts (run_id, hash, body) VALUES (?, '', ?) ON CONFLICT DO NOTHING";
        let plan = &*new.plan;
        let run_id = plan.run_id.to_string();
        let done = sqlx::query(sql)
            .bind(&*run_id)
            .bind(&*plan.plan_hash)
            .bind(mode_name(plan.store))
            .bind(stamp.now_ms)
            .bind(&*stamp.owner)
            .bind(integer(epoch))
            .bind(stamp.lease_until_ms)
            .bind(new.question_excerpt.as_deref())
            .bind(plan.strategy.name())
            .bind(integer(plan.seats.len() as u64))
            .bind(plan.asked_by.as_deref())
            .bind(plan.idempotency_key.as_deref())
            .bind(!keeps_texts(plan))
            .bind(plan_checksum(&run_id, &new.plan_json).finish())
            .bind(&*run_id)
            .bind(new.plan_body.clone())
            .execute(&mut self.connection)
            .await?;
        Ok(done.rows_affected() > 0)
    }

    /// Updates a run's row to its newest event; `false` if the run is not at `from` any more, because another process
    /// has taken it over or written to it.
    pub(crate) async fn advance_run(
        &mut self,
        row: &RunRow,
        from: RunMoment,
        stamp: &Stamp,
    ) -> Result<bool, DatabaseError> {
        let sql = "UPDATE runs SET last_seq = ?, status = ?, strategy = ?, seats = ?, answered = ?, cost_pico_usd = ?, \
                   cost_is_estimate = ?, lease_until_ms = ?, decided_at_ms = ?, closed_at_ms = ?, checksum = ? \
                   WHERE run_id = ? AND epoch = ? AND last_seq = ?";
        let done = sqlx::query(sql)
            .bind(row.last_seq)
            .bind(&*row.status)
            .bind(&*row.strategy)
            .bind(row.seats)
            .bind(row.answered)
            .bind(row.cost_pico_usd)
            .bind(row.cost_is_estimate)
            .bind(stamp.lease_until_ms)
            .bind(row.decided_at_ms)
            .bind(row.closed_at_ms)
            .bind(row.checksum().finish())
            .bind(&*row.run_id)
            .bind(integer(from.epoch))
            .bind(integer(from.seq))
            .execute(&mut self.connection)
            .await?;
        Ok(done.rows_affected() == 1)
    }

    /// Gives a run to the process of this stamp and reopens it; returns the new epoch.
    pub(crate) async fn take_over(&mut self, row: &RunRow, stamp: &Stamp) -> Result<u64, DatabaseError> {
        let sql = "UPDATE runs SET epoch = epoch + 1, owner = ?, lease_until_ms = ?, closed_at_ms = NULL, checksum = ?, \
                   is_indexed = (store_mode <> 'full') WHERE run_id = ? RETURNING epoch";
        let query = sqlx::query_scalar(sql).bind(&*stamp.owner).bind(stamp.lease_until_ms);
        let query = query.bind(row.checksum().finish()).bind(&*row.run_id);
        Ok(count(query.fetch_one(&mut self.connection).await?))
    }

    /// Releases a run with the status of this row, if its epoch is still the same. `stored.checksum` is written as it
    /// is, so that a damaged row stays recognizable.
    pub(crate) async fn release_run(&mut self, stored: &StoredRow, epoch: u64) -> Result<(), DatabaseError> {
        let sql = "UPDATE runs SET owner = '', lease_until_ms = 0, closed_at_ms = ?, checksum = ? \
                   WHERE run_id = ? AND epoch = ?";
        let query = sqlx::query(sql).bind(stored.row.closed_at_ms).bind(stored.checksum);
        query.bind(&*stored.row.run_id).bind(integer(epoch)).execute(&mut self.connection).await?;
        Ok(())
    }
}

impl WriteConnection {
    /// Extends the leases of this process's open runs, and returns their number. A single statement is its own
    /// transaction, so no one waits for a process that is suspended in the middle.
    pub(crate) async fn extend_leases(
        &mut self,
        stamp: &Stamp,
        wait: Duration,
    ) -> Result<u64, DatabaseError> {
        let sql = "UPDATE runs SET lease_until_ms = ? WHERE owner = ? AND closed_at_ms IS NULL";
        let mut connection = self.take(wait).await?;
        let query = sqlx::query(sql).bind(stamp.lease_until_ms).bind(&*stamp.owner);
        let done = query.execute(&mut connection).await?;
        self.put_back(connection);
        Ok(done.rows_affected())
    }
}
