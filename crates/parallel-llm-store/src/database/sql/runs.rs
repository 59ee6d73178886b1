//! Statements for the rows of runs.

use std::collections::BTreeMap;

use parallel_llm_engine::RunId;

use super::parts::columns::{
    AFTER_ALL, bound, listed_columns, listed_run, ownership, ownership_columns, plan_column, run_columns,
    run_row, text,
};
use super::parts::session::{Reader, Session};
use super::parts::value::{Value, values};
use crate::row::filter::{RunPage, SameQuestion};
use crate::row::new_run::{NewRun, keeps_texts, mode_name};
use crate::row::ownership::{Ownership, Stamp};
use crate::row::run_row::{
    KeyedRun, ListedRun, RunMoment, RunRecord, RunRow, SimilarRun, StoredRow, plan_checksum,
};
use crate::row::{count, integer};
use crate::system::error::DatabaseResult as Result;

/// The most runs that are taken for made while a clock was ahead.
const AHEAD_MAX: i64 = 1_000;

/// A page of the list. Each variant uses its own index: an expression of a column keeps its index from being used where that of
/// the other selects fewer rows.
macro_rules! page {
    ($status:literal, $whose:literal) => {
        concat!(
            "SELECT ",
            listed_columns!(),
            " FROM runs WHERE run_id < $1 AND ",
            $status,
            " AND ",
            $whose,
            " ORDER BY run_id DESC LIMIT $4"
        )
    };
}

/// The newest runs whose id begins with a prefix.
macro_rules! beginning {
    ($whose:literal) => {
        concat!(
            "SELECT run_id FROM runs WHERE run_id >= $1 AND run_id < $2 AND ",
            $whose,
            " ORDER BY run_id DESC LIMIT $4"
        )
    };
}

impl Reader<'_> {
    /// A page of the list, newest first.
    pub(crate) fn run_page(&self, page: &RunPage<'_>) -> Result<Vec<ListedRun>> {
        let sql = match (page.status, page.asked_by) {
            (Some(_), None) => page!("status = $2", "CAST($3 AS TEXT) IS NULL"),
            (None, None) => page!("CAST($2 AS TEXT) IS NULL", "CAST($3 AS TEXT) IS NULL"),
            (Some(_), Some(_)) => page!("status || '' = $2", "asked_by = $3"),
            (None, Some(_)) => page!("CAST($2 AS TEXT) IS NULL", "asked_by = $3"),
        };
        let values = values![bound(page.before), page.status, page.asked_by, integer(page.rows as u64)];
        self.session.rows(sql, &values, listed_run)
    }

    /// The run that is so many runs older than the newest. The newest is the one that was written last: the id of a run made
    /// while the clock was ahead would stay the greatest until then.
    pub(crate) fn run_before_newest(&self, back: u32, asked_by: Option<&str>) -> Result<Option<RunId>> {
        let whose = if asked_by.is_some() { "asked_by = $1" } else { "CAST($1 AS TEXT) IS NULL" };
        // No index has that order, so it is that of so many of the greatest ids.
        let sql = format!(
            "SELECT run_id FROM (SELECT run_id, {} AS written FROM runs WHERE {whose} ORDER BY run_id DESC LIMIT $2) AS latest \
             ORDER BY written DESC, run_id DESC LIMIT 1 OFFSET $3",
            self.session.dialect().written
        );
        self.session.first(&sql, &values![asked_by, i64::from(back) + AHEAD_MAX, back], |row| row.get(0))
    }

    /// The newest runs whose id begins with this prefix, at most `limit`.
    pub(crate) fn runs_beginning(
        &self,
        prefix: &str,
        asked_by: Option<&str>,
        limit: usize,
    ) -> Result<Vec<RunId>> {
        let sql = match asked_by {
            None => beginning!("CAST($3 AS TEXT) IS NULL"),
            Some(_) => beginning!("asked_by = $3"),
        };
        let end = format!("{prefix}{AFTER_ALL}");
        self.session.rows(sql, &values![prefix, end, asked_by, integer(limit as u64)], |row| row.get(0))
    }

    /// A run with its plan.
    pub(crate) fn run(&self, run_id: RunId) -> Result<Option<RunRecord>> {
        let sql = concat!(
            "SELECT ",
            ownership_columns!(),
            ", epoch, ",
            plan_column!(),
            ", plan_checksum, ",
            run_columns!(),
            " FROM runs WHERE run_id = $1"
        );
        self.session.first(sql, &values![run_id], |row| {
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
    pub(crate) fn run_row(&self, run_id: RunId) -> Result<Option<StoredRow>> {
        let sql = concat!("SELECT ", run_columns!(), " FROM runs WHERE run_id = $1");
        self.session.first(sql, &values![run_id], |row| run_row(row, 0))
    }

    /// The owner of a run.
    pub(crate) fn ownership(&self, run_id: RunId) -> Result<Option<Ownership>> {
        let sql = concat!("SELECT ", ownership_columns!(), " FROM runs WHERE run_id = $1");
        self.session.first(sql, &values![run_id], |row| ownership(row, 0))
    }

    /// The number of runs with each status.
    pub(crate) fn runs_by_status(&self) -> Result<BTreeMap<String, u64>> {
        let sql = "SELECT status, COUNT(*) FROM runs GROUP BY status";
        let runs = self.session.rows(sql, &[], |row| Ok((row.get(0)?, count(row.get(1)?))))?;
        Ok(runs.into_iter().collect())
    }

    /// The current epoch of a run.
    pub(crate) fn epoch(&self, run_id: RunId) -> Result<Option<u64>> {
        let sql = "SELECT epoch FROM runs WHERE run_id = $1";
        self.session.first(sql, &values![run_id], |row| Ok(count(row.get(0)?)))
    }

    /// The current epochs of runs, and whether each is closed.
    pub(crate) fn epochs(&self, ids: &[RunId]) -> Result<BTreeMap<RunId, (u64, bool)>> {
        let sql = format!(
            "SELECT run_id, epoch, closed_at_ms IS NOT NULL FROM {} AS wanted JOIN runs ON runs.run_id = wanted.value",
            self.session.dialect().entries("$1")
        );
        let found =
            self.session.rows(&sql, &[list(ids)], |row| Ok((row.get(0)?, (count(row.get(1)?), row.get(2)?))));
        Ok(found?.into_iter().collect())
    }

    /// Open runs that have been decided, whoever does them.
    pub(crate) fn decided_runs(&self, limit: usize) -> Result<Vec<RunId>> {
        // Ended leases first: the others have somebody who closes them.
        let sql = "SELECT run_id FROM runs WHERE closed_at_ms IS NULL AND decided_at_ms IS NOT NULL AND status <> 'running' \
                   ORDER BY lease_until_ms, run_id LIMIT $1";
        self.session.rows(sql, &values![integer(limit as u64)], |row| row.get(0))
    }

    /// The open runs of this owner that it is asked to give up.
    pub(crate) fn requested_cancels(&self, owner: &str) -> Result<Vec<RunId>> {
        let sql =
            "SELECT run_id FROM runs WHERE owner = $1 AND closed_at_ms IS NULL AND cancel_epoch = epoch";
        self.session.rows(sql, &values![owner], |row| row.get(0))
    }

    /// How many epochs ago the process of a run was asked to give it up; `None` if none was.
    pub(crate) fn owners_since_cancel(&self, run_id: RunId) -> Result<Option<u64>> {
        let sql = "SELECT epoch - cancel_epoch FROM runs WHERE run_id = $1 AND cancel_epoch IS NOT NULL";
        self.session.first(sql, &values![run_id], |row| Ok(count(row.get(0)?)))
    }

    /// The run with this idempotency key.
    pub(crate) fn run_of_key(&self, asked_by: Option<&str>, key: &str) -> Result<Option<KeyedRun>> {
        let sql =
            "SELECT run_id, plan_hash FROM runs WHERE COALESCE(asked_by, '') = $1 AND idempotency_key = $2";
        self.session.first(sql, &values![asked_by.unwrap_or_default(), key], |row| {
            Ok(KeyedRun { run_id: row.get(0)?, plan_hash: row.get(1)? })
        })
    }

    /// Running, interrupted or cancelled runs of the same question, newest first.
    pub(crate) fn unfinished_runs(
        &self,
        question: &SameQuestion<'_>,
        except: RunId,
    ) -> Result<Vec<SimilarRun>> {
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
        let SameQuestion { plan_hash, asked_by, since_ms, runs_max } = *question;
        let values = values![plan_hash, asked_by, named_since, except, since_ms, runs_max];
        self.session.rows(sql, &values, |row| {
            Ok(SimilarRun {
                ownership: ownership(row, 0)?,
                run_id: row.get(3)?,
                status: row.get(4)?,
                created_at_ms: row.get(5)?,
                is_of_use: row.get(6)?,
            })
        })
    }

    /// Runs of the same question with a stored answer, newest first.
    pub(crate) fn answered_runs(&self, question: &SameQuestion<'_>) -> Result<Vec<RunId>> {
        let sql = "SELECT run_id FROM runs WHERE plan_hash = $1 AND status IN ('complete', 'partial') \
                   AND store_mode = 'full' AND asked_by IS NOT DISTINCT FROM $2 AND decided_at_ms >= $3 \
                   ORDER BY run_id DESC LIMIT $4";
        let SameQuestion { plan_hash, asked_by, since_ms, runs_max } = *question;
        self.session.rows(sql, &values![plan_hash, asked_by, since_ms, runs_max], |row| row.get(0))
    }

    /// The runs before this id that no process runs any more, oldest first.
    pub(crate) fn runs_over_before(&self, before: RunId, now_ms: i64) -> Result<Vec<RunId>> {
        let sql =
            concat!("SELECT ", ownership_columns!(), ", run_id FROM runs WHERE run_id < $1 ORDER BY run_id");
        let over = self.session.rows(sql, &values![before], |row| {
            let is_over = ownership(row, 0)?.is_over(now_ms);
            is_over.then(|| row.get(3)).transpose()
        })?;
        Ok(over.into_iter().flatten().collect())
    }
}

impl dyn Session + '_ {
    /// Inserts a new run with its plan; `false` if the run exists.
    pub(crate) fn insert_run(&self, new: &NewRun, epoch: u64, stamp: &Stamp) -> Result<bool> {
        let plan = &*new.plan;
        let run_id = plan.run_id.to_string();
        let sql = "INSERT INTO runs (run_id, plan_hash, store_mode, created_at_ms, owner, epoch, lease_until_ms, \
                   question_excerpt, strategy, seats, asked_by, idempotency_key, is_indexed, plan_checksum) \
                   VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14) ON CONFLICT DO NOTHING";
        let values = values![
            &run_id,
            &plan.plan_hash,
            mode_name(plan.store),
            stamp.now_ms,
            &stamp.owner,
            integer(epoch),
            stamp.lease_until_ms,
            &new.question_excerpt,
            plan.strategy.name(),
            integer(plan.seats.len() as u64),
            &plan.asked_by,
            &plan.idempotency_key,
            !keeps_texts(plan),
            plan_checksum(&run_id, &new.plan_json).finish(),
        ];
        if self.execute(sql, &values)? == 0 {
            return Ok(false);
        }
        let sql = "INSERT INTO texts (run_id, hash, body) VALUES ($1, '', $2)";
        self.execute(sql, &values![&run_id, &new.plan_body])?;
        Ok(true)
    }

    /// Updates a run's row to its newest event; `false` if the run is not at `from` any more, because another process
    /// has taken it over or written to it.
    pub(crate) fn advance_run(&self, row: &RunRow, from: RunMoment, stamp: &Stamp) -> Result<bool> {
        let sql = "UPDATE runs SET last_seq = $1, status = $2, strategy = $3, seats = $4, answered = $5, \
                   cost_pico_usd = $6, cost_is_estimate = $7, lease_until_ms = $8, decided_at_ms = $9, \
                   closed_at_ms = $10, models = $11, checksum = $12 WHERE run_id = $13 AND epoch = $14 AND last_seq = $15";
        let values = values![
            row.last_seq,
            &row.status,
            &row.strategy,
            row.seats,
            row.answered,
            row.cost_pico_usd,
            row.cost_is_estimate,
            stamp.lease_until_ms,
            row.decided_at_ms,
            row.closed_at_ms,
            &row.models,
            row.checksum().finish(),
            &row.run_id,
            integer(from.epoch),
            integer(from.seq),
        ];
        Ok(self.execute(sql, &values)? == 1)
    }

    /// Gives a run to the process of this stamp and reopens it; returns the new epoch.
    pub(crate) fn take_over(&self, row: &RunRow, stamp: &Stamp) -> Result<u64> {
        self.uncount(&row.run_id)?;
        let sql = "UPDATE runs SET epoch = epoch + 1, owner = $1, lease_until_ms = $2, closed_at_ms = NULL, \
                   checksum = $3, is_indexed = (store_mode <> 'full') WHERE run_id = $4 RETURNING epoch";
        let values = values![&stamp.owner, stamp.lease_until_ms, row.checksum().finish(), &row.run_id];
        Ok(count(self.value(sql, &values)?))
    }

    /// Lets the index take in the texts of a run again.
    pub(crate) fn index_again(&self, run_id: &str) -> Result<()> {
        self.execute(
            "UPDATE runs SET is_indexed = (store_mode <> 'full') WHERE run_id = $1",
            &values![run_id],
        )
        .map(drop)
    }

    /// Asks the process of a run to give it up, unless the run is closed.
    pub(crate) fn request_cancel(&self, run_id: RunId) -> Result<()> {
        let sql = "UPDATE runs SET cancel_epoch = epoch WHERE run_id = $1 AND closed_at_ms IS NULL";
        self.execute(sql, &values![run_id]).map(drop)
    }

    /// Releases a run with the status of this row, if its epoch is still the same. `stored.checksum` is written as it
    /// is, so that a damaged row stays recognizable.
    pub(crate) fn release_run(&self, stored: &StoredRow, epoch: u64) -> Result<()> {
        let sql = "UPDATE runs SET owner = '', lease_until_ms = 0, closed_at_ms = $1, checksum = $2 \
                   WHERE run_id = $3 AND epoch = $4";
        let StoredRow { row, checksum } = stored;
        self.execute(sql, &values![row.closed_at_ms, checksum, &row.run_id, integer(epoch)]).map(drop)
    }

    /// Deletes a run's row with all that refers to it. The words of its texts must be removed from the index before, unless they
    /// go with them (`Transaction::words_go_with_texts`).
    pub(crate) fn delete_run(&self, run_id: &str) -> Result<()> {
        self.settle(run_id)?;
        self.uncount(run_id)?;
        self.execute("DELETE FROM runs WHERE run_id = $1", &values![run_id]).map(drop)
    }
}

/// These ids as a JSON list.
pub(super) fn list(runs: &[RunId]) -> Value<'static> {
    serde_json::to_string(runs).expect("ids are plain data").into()
}
