//! Statements for the rows of runs.

use std::collections::BTreeMap;
use std::time::Duration;

use parallel_llm_engine::RunId;
use rusqlite::{Row, params};

use super::connection::{Reader, Transaction, open_for_writing};
use super::row::{
    RUN_COLUMNS, ownership, ownership_columns, plan_column, run_columns, run_id, run_row, text,
};
use super::write_connection::WriteConnection;
use crate::clock;
use crate::error::DatabaseError;
use crate::row::filter::{RunPage, SameQuestion};
use crate::row::new_run::{NewRun, keeps_texts, mode_name};
use crate::row::ownership::{ExtendedLeases, Ownership, Stamp};
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

/// The run that is so many runs older than the newest. The newest is the one that was written last: the id of a run made
/// while the clock was ahead would stay the greatest until then.
macro_rules! before_newest {
    ($whose:literal) => {
        concat!("SELECT run_id FROM runs WHERE ", $whose, " ORDER BY rowid DESC LIMIT 1 OFFSET ?2")
    };
}

impl Reader<'_> {
    /// A page of the list, newest first.
    pub(crate) fn run_page(&self, page: &RunPage<'_>) -> Result<Vec<ListedRun>, DatabaseError> {
        // Four variants, so that each uses its own index. The `+` keeps SQLite from using the index of one column when
        // the other selects fewer rows.
        let sql = match (page.status, page.asked_by) {
            (Some(_), None) => page!("AND status = ?3", " AND ?4 IS NULL"),
            (None, None) => page!("AND ?3 IS NULL", " AND ?4 IS NULL"),
            (Some(_), Some(_)) => page!("AND +status = ?3", " AND asked_by = ?4"),
            (None, Some(_)) => page!("AND ?3 IS NULL", " AND asked_by = ?4"),
        };
        let before = page.before.map_or_else(|| AFTER_ALL.to_owned(), |run_id| run_id.to_string());
        self.rows(sql, (before, integer(page.rows as u64), page.status, page.asked_by), |row| {
            Ok(ListedRun {
                ownership: ownership(row, 0)?,
                stored: run_row(row, 3)?,
                cost_lacks_calls: row.get(3 + RUN_COLUMNS)?,
            })
        })
    }

    /// The run that is so many runs older than the newest.
    pub(crate) fn run_before_newest(
        &self,
        back: u32,
        asked_by: Option<&str>,
    ) -> Result<Option<RunId>, DatabaseError> {
        let sql = match asked_by {
            None => before_newest!("?1 IS NULL"),
            Some(_) => before_newest!("asked_by = ?1"),
        };
        self.first(sql, (asked_by, back), |row| run_id(row, 0))
    }

    /// The newest runs whose id begins with this prefix, at most `limit`.
    pub(crate) fn runs_beginning(
        &self,
        prefix: &str,
        asked_by: Option<&str>,
        limit: usize,
    ) -> Result<Vec<RunId>, DatabaseError> {
        let sql = match asked_by {
            None => beginning!("?3 IS NULL"),
            Some(_) => beginning!("asked_by = ?3"),
        };
        self.rows(sql, (prefix, AFTER_ALL, asked_by, integer(limit as u64)), |row| run_id(row, 0))
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
            " FROM runs WHERE run_id = ?"
        );
        self.first(sql, [run_id.to_string()], |row| {
            Ok(RunRecord {
                ownership: ownership(row, 0)?,
                epoch: count(row.get(3)?),
                plan_json: text(row, 4)?,
                plan_checksum: row.get(5)?,
                stored: run_row(row, 6)?,
            })
        })
    }

    /// The row of a run.
    pub(crate) fn run_row(&self, run_id: RunId) -> Result<Option<StoredRow>, DatabaseError> {
        let sql = concat!("SELECT ", run_columns!(), " FROM runs WHERE run_id = ?");
        self.first(sql, [run_id.to_string()], |row| run_row(row, 0))
    }

    /// The owner of a run.
    pub(crate) fn ownership(&self, run_id: RunId) -> Result<Option<Ownership>, DatabaseError> {
        let sql = concat!("SELECT ", ownership_columns!(), " FROM runs WHERE run_id = ?");
        self.first(sql, [run_id.to_string()], |row| ownership(row, 0))
    }

    /// The current epoch of a run.
    pub(crate) fn epoch(&self, run_id: RunId) -> Result<Option<u64>, DatabaseError> {
        let sql = "SELECT epoch FROM runs WHERE run_id = ?";
        self.first(sql, [run_id.to_string()], |row| Ok(count(row.get(0)?)))
    }

    /// The current epochs of runs, and whether each is closed.
    pub(crate) fn epochs(&self, ids: &[RunId]) -> Result<BTreeMap<RunId, (u64, bool)>, DatabaseError> {
        let sql = "SELECT epoch, closed_at_ms IS NOT NULL FROM runs WHERE run_id = ?";
        let found = |id: &RunId| {
            let found = self.first(sql, [id.to_string()], |row| Ok((count(row.get(0)?), row.get(1)?)))?;
            Ok(found.map(|found| (*id, found)))
        };
        ids.iter().filter_map(|id| found(id).transpose()).collect()
    }

    /// Open runs that have been decided, whoever does them.
    pub(crate) fn decided_runs(&self, limit: usize) -> Result<Vec<RunId>, DatabaseError> {
        // Ended leases first: the others have somebody who closes them.
        let sql = "SELECT run_id FROM runs WHERE closed_at_ms IS NULL AND decided_at_ms IS NOT NULL AND status <> 'running' \
                   ORDER BY lease_until_ms, run_id LIMIT ?";
        self.rows(sql, [integer(limit as u64)], |row| run_id(row, 0))
    }

    /// The open runs of this owner that it is asked to give up.
    pub(crate) fn requested_cancels(&self, owner: &str) -> Result<Vec<RunId>, DatabaseError> {
        let sql = "SELECT run_id FROM runs WHERE owner = ? AND closed_at_ms IS NULL AND cancel_epoch = epoch";
        self.rows(sql, [owner], |row| run_id(row, 0))
    }

    /// How many epochs ago the process of a run was asked to give it up; `None` if none was.
    pub(crate) fn owners_since_cancel(&self, run_id: RunId) -> Result<Option<u64>, DatabaseError> {
        let sql = "SELECT epoch - cancel_epoch FROM runs WHERE run_id = ? AND cancel_epoch IS NOT NULL";
        self.first(sql, [run_id.to_string()], |row| Ok(count(row.get(0)?)))
    }

    /// The run with this idempotency key.
    pub(crate) fn run_of_key(
        &self,
        asked_by: Option<&str>,
        key: &str,
    ) -> Result<Option<KeyedRun>, DatabaseError> {
        let sql = "SELECT run_id, plan_hash FROM runs WHERE IFNULL(asked_by, '') = ? AND idempotency_key = ?";
        self.first(sql, (asked_by.unwrap_or_default(), key), |row| {
            Ok(KeyedRun { run_id: run_id(row, 0)?, plan_hash: row.get(1)? })
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
            "store_mode = 'full' AND NOT EXISTS (SELECT 1 FROM runs AS newer WHERE newer.plan_hash = ?1 ",
            "AND newer.status IN ('complete', 'partial') AND newer.store_mode = 'full' ",
            "AND newer.asked_by IS ?2 AND newer.run_id > runs.run_id) ",
            // Each half uses its own index. Cancelled runs are many, and their ids begin with their start time.
            "FROM runs WHERE run_id IN (SELECT run_id FROM runs WHERE status = 'running' AND plan_hash = ?1 ",
            "UNION ALL SELECT run_id FROM runs WHERE status = 'cancelled' AND run_id >= ?3 AND plan_hash = ?1) ",
            "AND run_id <> ?4 AND asked_by IS ?2 AND created_at_ms >= ?5 ORDER BY run_id DESC LIMIT ?6"
        );
        let named_since = RunId::from_parts(u64::try_from(question.since_ms).unwrap_or_default(), 0);
        let SameQuestion { plan_hash, asked_by, since_ms, runs_max } = question;
        let wanted = (plan_hash, asked_by, named_since.to_string(), except.to_string(), since_ms, runs_max);
        self.rows(sql, wanted, |row| {
            Ok(SimilarRun {
                ownership: ownership(row, 0)?,
                run_id: run_id(row, 3)?,
                status: row.get(4)?,
                created_at_ms: row.get(5)?,
                is_of_use: row.get(6)?,
            })
        })
    }

    /// Runs of the same question with a stored answer, newest first.
    pub(crate) fn answered_runs(&self, question: &SameQuestion<'_>) -> Result<Vec<RunId>, DatabaseError> {
        let sql = "SELECT run_id FROM runs WHERE plan_hash = ? AND status IN ('complete', 'partial') \
                   AND store_mode = 'full' AND asked_by IS ? AND decided_at_ms >= ? ORDER BY run_id DESC LIMIT ?";
        let SameQuestion { plan_hash, asked_by, since_ms, runs_max } = question;
        self.rows(sql, (plan_hash, asked_by, since_ms, runs_max), |row| run_id(row, 0))
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
        let sql = "INSERT INTO runs (run_id, plan, plan_hash, store_mode, created_at_ms, owner, epoch, lease_until_ms, \
                   question_excerpt, strategy, seats, asked_by, idempotency_key, is_indexed, plan_checksum) \
                   VALUES (?, '', ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING";
        let values = params![
            run_id,
            plan.plan_hash,
            mode_name(plan.store),
            stamp.now_ms,
            stamp.owner,
            integer(epoch),
            stamp.lease_until_ms,
            new.question_excerpt,
            plan.strategy.name(),
            integer(plan.seats.len() as u64),
            plan.asked_by,
            plan.idempotency_key,
            !keeps_texts(plan),
            plan_checksum(&run_id, &new.plan_json).finish(),
        ];
        if self.execute(sql, values)? == 0 {
            return Ok(false);
        }
        let sql = "INSERT INTO texts (run_id, hash, body) VALUES (?, '', ?)";
        self.execute(sql, (&run_id, &new.plan_body))?;
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
        let sql = "UPDATE runs SET last_seq = ?, status = ?, strategy = ?, seats = ?, answered = ?, cost_pico_usd = ?, \
                   cost_is_estimate = ?, lease_until_ms = ?, decided_at_ms = ?, closed_at_ms = ?, models = ?, checksum = ? \
                   WHERE run_id = ? AND epoch = ? AND last_seq = ?";
        let values = params![
            row.last_seq,
            row.status,
            row.strategy,
            row.seats,
            row.answered,
            row.cost_pico_usd,
            row.cost_is_estimate,
            stamp.lease_until_ms,
            row.decided_at_ms,
            row.closed_at_ms,
            row.models,
            row.checksum().finish(),
            row.run_id,
            integer(from.epoch),
            integer(from.seq),
        ];
        Ok(self.execute(sql, values)? == 1)
    }

    /// Gives a run to the process of this stamp and reopens it; returns the new epoch.
    pub(crate) fn take_over(&mut self, row: &RunRow, stamp: &Stamp) -> Result<u64, DatabaseError> {
        self.uncount(&row.run_id)?;
        let sql = "UPDATE runs SET epoch = epoch + 1, owner = ?, lease_until_ms = ?, closed_at_ms = NULL, checksum = ?, \
                   is_indexed = (store_mode <> 'full') WHERE run_id = ? RETURNING epoch";
        let values = (&stamp.owner, stamp.lease_until_ms, row.checksum().finish(), &row.run_id);
        Ok(count(self.reader().value(sql, values)?))
    }

    /// Lets the index take in the texts of a run again.
    pub(crate) fn index_again(&mut self, run_id: &str) -> Result<(), DatabaseError> {
        self.execute("UPDATE runs SET is_indexed = (store_mode <> 'full') WHERE run_id = ?", [run_id])
            .map(drop)
    }

    /// Asks the process of a run to give it up, unless the run is closed.
    pub(crate) fn request_cancel(&mut self, run_id: RunId) -> Result<(), DatabaseError> {
        let sql = "UPDATE runs SET cancel_epoch = epoch WHERE run_id = ? AND closed_at_ms IS NULL";
        self.execute(sql, [run_id.to_string()]).map(drop)
    }

    /// Releases a run with the status of this row, if its epoch is still the same. `stored.checksum` is written as it
    /// is, so that a damaged row stays recognizable.
    pub(crate) fn release_run(&mut self, stored: &StoredRow, epoch: u64) -> Result<(), DatabaseError> {
        let sql = "UPDATE runs SET owner = '', lease_until_ms = 0, closed_at_ms = ?, checksum = ? \
                   WHERE run_id = ? AND epoch = ?";
        let StoredRow { row, checksum } = stored;
        self.execute(sql, (row.closed_at_ms, checksum, &row.run_id, integer(epoch))).map(drop)
    }
}

impl WriteConnection {
    /// Extends the leases of this process's open runs and claimed jobs. Each statement is its own
    /// transaction, so no one waits for a process that is suspended in the middle.
    pub(crate) fn extend_leases(
        &mut self,
        owner: &str,
        lease: Duration,
        wait: Duration,
    ) -> Result<ExtendedLeases, DatabaseError> {
        let until_ms = clock::now_ms() + integer(lease.as_millis() as u64);
        let runs = "UPDATE runs SET lease_until_ms = ? WHERE owner = ? AND closed_at_ms IS NULL RETURNING run_id, epoch";
        let jobs = "UPDATE batch_jobs SET lease_until_ms = ? WHERE owner = ? AND state = 'running'";
        // Closed at once: a connection that stayed open would hold a log that was removed.
        let connection = open_for_writing(self.path(), wait)?;
        let mut statement = connection.prepare_cached(runs)?;
        let read = |row: &Row<'_>| Ok((run_id(row, 0)?, count(row.get(1)?)));
        let runs = statement.query_map((until_ms, owner), read)?.collect::<Result<_, _>>()?;
        drop(statement);
        let jobs = connection.prepare_cached(jobs)?.execute((until_ms, owner))?;
        Ok(ExtendedLeases { runs, jobs })
    }
}
