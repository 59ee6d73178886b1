//! Statements for the rows of runs.

use std::collections::BTreeMap;

use parallel_llm_engine::RunId;
use tokio_postgres::Row;

use super::connection::{Reader, Transaction};
use super::row::{
    RUN_COLUMNS, get, ownership, ownership_columns, plan_column, run_columns, run_id, run_row, text,
};
use crate::error::DatabaseError;
use crate::row::filter::{RunPage, SameQuestion};
use crate::row::new_run::{NewRun, keeps_texts, mode_name};
use crate::row::ownership::{Ownership, Stamp};
use crate::row::run_row::{
    KeyedRun, ListedRun, RunMoment, RunRecord, RunRow, SimilarRun, StoredRow, plan_checksum,
};
use crate::row::{count, integer};

/// Sorts after every run id, which consists of digits and upper-case letters.
pub(super) const AFTER_ALL: &str = "~";

/// The most runs that are taken for made while a clock was ahead.
const AHEAD_MAX: i64 = 1_000;

/// The run that is so many runs older than the newest, among so many of the greatest ids.
macro_rules! newest {
    ($whose:literal) => {
        concat!(
            "SELECT run_id FROM (SELECT run_id, created_at_ms FROM runs WHERE ",
            $whose,
            " ORDER BY run_id DESC LIMIT $3) AS latest ORDER BY created_at_ms DESC, run_id DESC LIMIT 1 OFFSET $2"
        )
    };
}

/// A page of the list. Each variant uses its own index.
macro_rules! page {
    ($status:literal, $whose:literal) => {
        concat!(
            "SELECT ",
            ownership_columns!(),
            ", ",
            run_columns!(),
            ", EXISTS (SELECT 1 FROM calls WHERE calls.run_id = runs.run_id AND calls.cost_pico_usd IS NULL) ",
            "FROM runs WHERE run_id < $1 AND ",
            $status,
            " AND ",
            $whose,
            " ORDER BY run_id DESC LIMIT $2"
        )
    };
}

impl Reader<'_> {
    /// A page of the list, newest first.
    pub(crate) fn run_page(&self, page: &RunPage<'_>) -> Result<Vec<ListedRun>, DatabaseError> {
        let sql = match (page.status, page.asked_by) {
            (Some(_), None) => page!("status = $3", "$4::TEXT IS NULL"),
            (None, None) => page!("$3::TEXT IS NULL", "$4::TEXT IS NULL"),
            (Some(_), Some(_)) => page!("status = $3", "asked_by = $4"),
            (None, Some(_)) => page!("$3::TEXT IS NULL", "asked_by = $4"),
        };
        let before = page.before.map_or_else(|| AFTER_ALL.to_owned(), |run_id| run_id.to_string());
        let rows = integer(page.rows as u64);
        self.session.rows(sql, &[&before, &rows, &page.status, &page.asked_by], |row| {
            Ok(ListedRun {
                ownership: ownership(row, 0)?,
                stored: run_row(row, 3)?,
                cost_lacks_calls: get(row, 3 + RUN_COLUMNS)?,
            })
        })
    }

    /// The run that is so many runs older than the newest.
    pub(crate) fn run_before_newest(
        &self,
        back: u32,
        asked_by: Option<&str>,
    ) -> Result<Option<RunId>, DatabaseError> {
        // By the clock of the server: that of the machine where a run was made may have been ahead. No index has that
        // order, so it is that of so many of the greatest ids.
        let sql = match asked_by {
            None => newest!("$1::TEXT IS NULL"),
            Some(_) => newest!("asked_by = $1"),
        };
        let (back, looked_at) = (i64::from(back), i64::from(back) + AHEAD_MAX);
        self.session.first(sql, &[&asked_by, &back, &looked_at], |row| run_id(row, 0))
    }

    /// The newest runs whose id begins with this prefix, at most `limit`.
    pub(crate) fn runs_beginning(
        &self,
        prefix: &str,
        asked_by: Option<&str>,
        limit: usize,
    ) -> Result<Vec<RunId>, DatabaseError> {
        if prefix.contains('\0') {
            // No id has this, and no parameter may.
            return Ok(Vec::new());
        }
        let sql = match asked_by {
            None => {
                "SELECT run_id FROM runs WHERE run_id >= $1 AND run_id < $2 AND $3::TEXT IS NULL \
                 ORDER BY run_id DESC LIMIT $4"
            }
            Some(_) => {
                "SELECT run_id FROM runs WHERE run_id >= $1 AND run_id < $2 AND asked_by = $3 \
                 ORDER BY run_id DESC LIMIT $4"
            }
        };
        let end = format!("{prefix}{AFTER_ALL}");
        self.session.rows(sql, &[&prefix, &end, &asked_by, &integer(limit as u64)], |row| run_id(row, 0))
    }

    /// A run with its plan.
    pub(crate) fn run(&self, run_id: RunId) -> Result<Option<RunRecord>, DatabaseError> {
        let sql = concat!(
            "SELECT ",
            ownership_columns!(),
            ", epoch, ",
            plan_column!(),
            ", plan_checksum, ",
            run_columns!(),
            " FROM runs WHERE run_id = $1"
        );
        self.session.first(sql, &[&run_id.to_string()], |row| {
            Ok(RunRecord {
                ownership: ownership(row, 0)?,
                epoch: count(get(row, 3)?),
                plan_json: text(row, 4)?,
                plan_checksum: get(row, 5)?,
                stored: run_row(row, 6)?,
            })
        })
    }

    /// The row of a run.
    pub(crate) fn run_row(&self, run_id: RunId) -> Result<Option<StoredRow>, DatabaseError> {
        let sql = concat!("SELECT ", run_columns!(), " FROM runs WHERE run_id = $1");
        self.session.first(sql, &[&run_id.to_string()], |row| run_row(row, 0))
    }

    /// The owner of a run.
    pub(crate) fn ownership(&self, run_id: RunId) -> Result<Option<Ownership>, DatabaseError> {
        let sql = concat!("SELECT ", ownership_columns!(), " FROM runs WHERE run_id = $1");
        self.session.first(sql, &[&run_id.to_string()], |row| ownership(row, 0))
    }

    /// The current epoch of a run.
    pub(crate) fn epoch(&self, run_id: RunId) -> Result<Option<u64>, DatabaseError> {
        let sql = "SELECT epoch FROM runs WHERE run_id = $1";
        self.session.first(sql, &[&run_id.to_string()], |row| Ok(count(get(row, 0)?)))
    }

    /// The current epochs of runs, and whether each is closed.
    pub(crate) fn epochs(&self, ids: &[RunId]) -> Result<BTreeMap<RunId, (u64, bool)>, DatabaseError> {
        let sql = "SELECT run_id, epoch, closed_at_ms IS NOT NULL FROM runs WHERE run_id = ANY($1)";
        let ids: Vec<String> = ids.iter().map(ToString::to_string).collect();
        let found = |row: &Row| Ok((run_id(row, 0)?, (count(get(row, 1)?), get(row, 2)?)));
        Ok(self.session.rows(sql, &[&ids], found)?.into_iter().collect())
    }

    /// Open runs that have been decided, whoever does them.
    pub(crate) fn decided_runs(&self, limit: usize) -> Result<Vec<RunId>, DatabaseError> {
        // Ended leases first: the others have somebody who closes them.
        let sql = "SELECT run_id FROM runs WHERE closed_at_ms IS NULL AND decided_at_ms IS NOT NULL AND status <> 'running' \
                   ORDER BY lease_until_ms, run_id LIMIT $1";
        self.session.rows(sql, &[&integer(limit as u64)], |row| run_id(row, 0))
    }

    /// The open runs of this owner that it is asked to give up.
    pub(crate) fn requested_cancels(&self, owner: &str) -> Result<Vec<RunId>, DatabaseError> {
        let sql =
            "SELECT run_id FROM runs WHERE owner = $1 AND closed_at_ms IS NULL AND cancel_epoch = epoch";
        self.session.rows(sql, &[&owner], |row| run_id(row, 0))
    }

    /// How many epochs ago the process of a run was asked to give it up; `None` if none was.
    pub(crate) fn owners_since_cancel(&self, run_id: RunId) -> Result<Option<u64>, DatabaseError> {
        let sql = "SELECT epoch - cancel_epoch FROM runs WHERE run_id = $1 AND cancel_epoch IS NOT NULL";
        self.session.first(sql, &[&run_id.to_string()], |row| Ok(count(get(row, 0)?)))
    }

    /// The run with this idempotency key.
    pub(crate) fn run_of_key(
        &self,
        asked_by: Option<&str>,
        key: &str,
    ) -> Result<Option<KeyedRun>, DatabaseError> {
        let sql =
            "SELECT run_id, plan_hash FROM runs WHERE COALESCE(asked_by, '') = $1 AND idempotency_key = $2";
        let asked_by = asked_by.unwrap_or_default();
        self.session.first(sql, &[&asked_by, &key.as_bytes()], |row| {
            Ok(KeyedRun { run_id: run_id(row, 0)?, plan_hash: get(row, 1)? })
        })
    }

    /// Running, interrupted or cancelled runs of the same question, newest first.
    pub(crate) fn unfinished_runs(
        &self,
        question: &SameQuestion<'_>,
        except: RunId,
    ) -> Result<Vec<SimilarRun>, DatabaseError> {
        let sql = concat!(
            "SELECT ",
            ownership_columns!(),
            ", run_id, status, created_at_ms, ",
            // A later run with an answer means that the question was asked again on purpose.
            "store_mode = 'full' AND NOT EXISTS (SELECT 1 FROM runs AS newer WHERE newer.plan_hash = $1 ",
            "AND newer.status IN ('complete', 'partial') AND newer.store_mode = 'full' ",
            "AND newer.asked_by IS NOT DISTINCT FROM $2 AND newer.run_id > runs.run_id) ",
            // Each half uses its own index. Cancelled runs are many, and their ids begin with their start time.
            "FROM runs WHERE run_id IN (SELECT run_id FROM runs WHERE status = 'running' AND plan_hash = $1 ",
            "UNION ALL SELECT run_id FROM runs WHERE status = 'cancelled' AND run_id >= $3 AND plan_hash = $1) ",
            "AND run_id <> $4 AND asked_by IS NOT DISTINCT FROM $2 AND created_at_ms >= $5 ",
            "ORDER BY run_id DESC LIMIT $6"
        );
        let named_since = RunId::from_parts(u64::try_from(question.since_ms).unwrap_or_default(), 0);
        let SameQuestion { plan_hash, asked_by, since_ms, runs_max } = question;
        let (named_since, except) = (named_since.to_string(), except.to_string());
        self.session.rows(sql, &[plan_hash, asked_by, &named_since, &except, since_ms, runs_max], |row| {
            Ok(SimilarRun {
                ownership: ownership(row, 0)?,
                run_id: run_id(row, 3)?,
                status: get(row, 4)?,
                created_at_ms: get(row, 5)?,
                is_of_use: get(row, 6)?,
            })
        })
    }

    /// Runs of the same question with a stored answer, newest first.
    pub(crate) fn answered_runs(&self, question: &SameQuestion<'_>) -> Result<Vec<RunId>, DatabaseError> {
        let sql = "SELECT run_id FROM runs WHERE plan_hash = $1 AND status IN ('complete', 'partial') \
                   AND store_mode = 'full' AND asked_by IS NOT DISTINCT FROM $2 AND decided_at_ms >= $3 \
                   ORDER BY run_id DESC LIMIT $4";
        let SameQuestion { plan_hash, asked_by, since_ms, runs_max } = question;
        self.session.rows(sql, &[plan_hash, asked_by, since_ms, runs_max], |row| run_id(row, 0))
    }
}

impl Transaction {
    /// Inserts a new run with its plan; `false` if the run exists.
    pub(crate) fn insert_run(
        &mut self,
        new: &NewRun,
        epoch: u64,
        stamp: &Stamp,
    ) -> Result<bool, DatabaseError> {
        let plan = &*new.plan;
        let run_id = plan.run_id.to_string();
        let sql = "INSERT INTO runs (run_id, plan_hash, store_mode, created_at_ms, owner, epoch, lease_until_ms, \
                   question_excerpt, strategy, seats, asked_by, idempotency_key, is_indexed, plan_checksum) \
                   VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14) ON CONFLICT DO NOTHING";
        let inserted = self.execute(
            sql,
            &[
                &run_id,
                &plan.plan_hash,
                &mode_name(plan.store),
                &stamp.now_ms,
                &stamp.owner,
                &integer(epoch),
                &stamp.lease_until_ms,
                &new.question_excerpt.as_deref().map(str::as_bytes),
                &plan.strategy.name(),
                &integer(plan.seats.len() as u64),
                &plan.asked_by,
                &plan.idempotency_key.as_deref().map(str::as_bytes),
                &!keeps_texts(plan),
                &plan_checksum(&run_id, &new.plan_json).finish(),
            ],
        )?;
        if inserted == 0 {
            return Ok(false);
        }
        let sql = "INSERT INTO texts (run_id, hash, body) VALUES ($1, '', $2)";
        self.execute(sql, &[&run_id, &new.plan_body.bytes()])?;
        Ok(true)
    }

    /// Updates a run's row to its newest event; `false` if the run is not at `from` any more, because another process
    /// has taken it over or written to it.
    pub(crate) fn advance_run(
        &mut self,
        row: &RunRow,
        from: RunMoment,
        stamp: &Stamp,
    ) -> Result<bool, DatabaseError> {
        let sql = "UPDATE runs SET last_seq = $1, status = $2, strategy = $3, seats = $4, answered = $5, \
                   cost_pico_usd = $6, cost_is_estimate = $7, lease_until_ms = $8, decided_at_ms = $9, \
                   closed_at_ms = $10, models = $11, checksum = $12 WHERE run_id = $13 AND epoch = $14 AND last_seq = $15";
        let advanced = self.execute(
            sql,
            &[
                &row.last_seq,
                &row.status,
                &row.strategy,
                &row.seats,
                &row.answered,
                &row.cost_pico_usd,
                &(row.cost_is_estimate != 0),
                &stamp.lease_until_ms,
                &row.decided_at_ms,
                &row.closed_at_ms,
                &row.models,
                &row.checksum().finish(),
                &row.run_id,
                &integer(from.epoch),
                &integer(from.seq),
            ],
        )?;
        Ok(advanced == 1)
    }

    /// Gives a run to the process of this stamp and reopens it; returns the new epoch.
    pub(crate) fn take_over(&mut self, row: &RunRow, stamp: &Stamp) -> Result<u64, DatabaseError> {
        self.uncount(&row.run_id)?;
        let sql = "UPDATE runs SET epoch = epoch + 1, owner = $1, lease_until_ms = $2, closed_at_ms = NULL, \
                   checksum = $3, is_indexed = (store_mode <> 'full') WHERE run_id = $4 RETURNING epoch";
        let checksum = row.checksum().finish();
        let epoch =
            self.session.value(sql, &[&stamp.owner, &stamp.lease_until_ms, &checksum, &row.run_id])?;
        Ok(count(epoch))
    }

    /// Lets the index take in the texts of a run again.
    pub(crate) fn index_again(&mut self, run_id: &str) -> Result<(), DatabaseError> {
        self.execute("UPDATE runs SET is_indexed = (store_mode <> 'full') WHERE run_id = $1", &[&run_id])
            .map(drop)
    }

    /// Asks the process of a run to give it up, unless the run is closed.
    pub(crate) fn request_cancel(&mut self, run_id: RunId) -> Result<(), DatabaseError> {
        let sql = "UPDATE runs SET cancel_epoch = epoch WHERE run_id = $1 AND closed_at_ms IS NULL";
        self.execute(sql, &[&run_id.to_string()]).map(drop)
    }

    /// Releases a run with the status of this row, if its epoch is still the same. `stored.checksum` is written as it
    /// is, so that a damaged row stays recognizable.
    pub(crate) fn release_run(&mut self, stored: &StoredRow, epoch: u64) -> Result<(), DatabaseError> {
        let sql = "UPDATE runs SET owner = '', lease_until_ms = 0, closed_at_ms = $1, checksum = $2 \
                   WHERE run_id = $3 AND epoch = $4";
        let StoredRow { row, checksum } = stored;
        self.execute(sql, &[&row.closed_at_ms, checksum, &row.run_id, &integer(epoch)]).map(drop)
    }
}
