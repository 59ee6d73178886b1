//! Statements for the tables by which the list of runs is filtered and counted.

use parallel_llm_engine::RunId;
use tokio_postgres::Row;

use super::connection::{Reader, Transaction};
use super::row::{
    RUN_COLUMNS, get, ids, ownership, ownership_columns, plan_column, run_columns, run_id, run_row, text,
};
use super::runs::AFTER_ALL;
use crate::error::DatabaseError;
use crate::row::counted_run::{CountChanges, counted_runs};
use crate::row::filter::{CountFilter, PostingRange};
use crate::row::run_row::{ListedRun, StoredRow};
use crate::row::{count, integer};

/// What [`listed_run`] reads of `runs`.
macro_rules! listed_columns {
    () => {
        concat!(
            ownership_columns!(),
            ", ",
            run_columns!(),
            ", EXISTS (SELECT 1 FROM calls WHERE calls.run_id = runs.run_id AND calls.cost_pico_usd IS NULL)"
        )
    };
}

/// Uncounted runs, newest first.
macro_rules! uncounted {
    ($whose:literal) => {
        concat!(
            "SELECT ",
            listed_columns!(),
            " FROM runs WHERE NOT is_counted AND run_id < $1 AND ",
            $whose,
            " ORDER BY run_id DESC LIMIT $2"
        )
    };
}

/// How many runs have each value of a column, within one day or all days, and one model or all models.
macro_rules! counts {
    ($column:literal) => {
        concat!(
            "SELECT ",
            $column,
            ", SUM(runs)::BIGINT FROM run_counts WHERE scope = $1 AND day = $2 AND model = $3 ",
            "AND ($4::TEXT IS NULL OR status = $4) AND ($5::TEXT IS NULL OR strategy = $5) GROUP BY 1"
        )
    };
}

const MODEL_COUNTS: &str = "SELECT model, SUM(runs)::BIGINT FROM run_counts \
     WHERE scope = $1 AND day = $2 AND model > '' \
     AND ($3::TEXT IS NULL OR status = $3) AND ($4::TEXT IS NULL OR strategy = $4) GROUP BY 1";
const DAY_COUNTS: &str = "SELECT day, SUM(runs)::BIGINT FROM run_counts \
     WHERE scope = $1 AND model = $2 AND day > '' AND day <= $3 \
     AND ($4::TEXT IS NULL OR status = $4) AND ($5::TEXT IS NULL OR strategy = $5) GROUP BY day ORDER BY day DESC LIMIT $6";
const COUNTED: &str = "SELECT run_id FROM counted_runs WHERE scope = $1 AND model = $2 AND run_id >= $3 AND run_id < $4 \
     AND ($5::TEXT IS NULL OR status = $5) AND ($6::TEXT IS NULL OR strategy = $6) ORDER BY run_id DESC LIMIT $7";

impl Reader<'_> {
    /// The newest uncounted runs before this one, at most `limit`, for all principals or one.
    pub(crate) fn uncounted_runs(
        &self,
        asked_by: Option<&str>,
        before: Option<RunId>,
        limit: usize,
    ) -> Result<Vec<ListedRun>, DatabaseError> {
        let sql = match asked_by {
            None => uncounted!("$3::TEXT IS NULL"),
            Some(_) => uncounted!("asked_by = $3"),
        };
        self.session.rows(sql, &[&bound(before), &integer(limit as u64), &asked_by], listed_run)
    }

    /// Whether a closed run is not counted.
    pub(crate) fn has_uncounted_run(&self) -> Result<bool, DatabaseError> {
        let sql = "SELECT EXISTS (SELECT 1 FROM runs WHERE NOT is_counted AND closed_at_ms IS NOT NULL)";
        self.session.value(sql, &[])
    }

    /// The oldest closed runs that are not counted. They stay as they are until the transaction has ended; those that
    /// another process is writing are left out.
    pub(crate) fn runs_to_count(&self, limit: usize) -> Result<Vec<StoredRow>, DatabaseError> {
        let sql = concat!(
            "SELECT ",
            run_columns!(),
            " FROM runs WHERE NOT is_counted AND closed_at_ms IS NOT NULL ORDER BY run_id LIMIT $1 ",
            "FOR NO KEY UPDATE SKIP LOCKED"
        );
        self.session.rows(sql, &[&integer(limit as u64)], |row| run_row(row, 0))
    }

    /// The plan of a run as JSON; `None` if there is no such run.
    pub(crate) fn plan_json(&self, run_id: &str) -> Result<Option<String>, DatabaseError> {
        let sql = concat!("SELECT ", plan_column!(), " FROM runs WHERE run_id = $1");
        self.session.first(sql, &[&run_id], |row| text(row, 0))
    }

    /// The newest counted runs of a range, at most `limit`.
    pub(crate) fn counted_runs(
        &self,
        filter: &CountFilter<'_>,
        range: PostingRange,
        limit: usize,
    ) -> Result<Vec<RunId>, DatabaseError> {
        let from = range.from.map(|run_id| run_id.to_string()).unwrap_or_default();
        let (before, limit) = (bound(range.before), integer(limit as u64));
        let CountFilter { scope, model, status, strategy, .. } = filter;
        if has_zero(filter) {
            return Ok(Vec::new());
        }
        self.session
            .rows(COUNTED, &[scope, model, &from, &before, status, strategy, &limit], |row| run_id(row, 0))
    }

    /// The lines of these runs, in no order.
    pub(crate) fn listed_runs(&self, runs: &[RunId]) -> Result<Vec<ListedRun>, DatabaseError> {
        let sql = concat!("SELECT ", listed_columns!(), " FROM runs WHERE run_id = ANY($1::TEXT[])");
        self.session.rows(sql, &[&ids(runs)], listed_run)
    }

    /// How many counted runs have each status.
    pub(crate) fn status_counts(
        &self,
        filter: &CountFilter<'_>,
    ) -> Result<Vec<(String, u64)>, DatabaseError> {
        self.value_counts(counts!("status"), filter)
    }

    /// How many counted runs have each strategy.
    pub(crate) fn strategy_counts(
        &self,
        filter: &CountFilter<'_>,
    ) -> Result<Vec<(String, u64)>, DatabaseError> {
        self.value_counts(counts!("strategy"), filter)
    }

    fn value_counts(&self, sql: &str, filter: &CountFilter<'_>) -> Result<Vec<(String, u64)>, DatabaseError> {
        let CountFilter { scope, day, model, status, strategy } = filter;
        if has_zero(filter) {
            return Ok(Vec::new());
        }
        self.session.rows(sql, &[scope, day, model, status, strategy], value_count)
    }

    /// How many counted runs have each model.
    pub(crate) fn model_counts(&self, filter: &CountFilter<'_>) -> Result<Vec<(String, u64)>, DatabaseError> {
        let CountFilter { scope, day, status, strategy, .. } = filter;
        if has_zero(filter) {
            return Ok(Vec::new());
        }
        self.session.rows(MODEL_COUNTS, &[scope, day, status, strategy], value_count)
    }

    /// The newest days with counted runs up to this day, and how many there are.
    pub(crate) fn day_counts(
        &self,
        filter: &CountFilter<'_>,
        until: &str,
        limit: usize,
    ) -> Result<Vec<(String, u64)>, DatabaseError> {
        let CountFilter { scope, model, status, strategy, .. } = filter;
        if has_zero(filter) {
            return Ok(Vec::new());
        }
        let limit = integer(limit as u64);
        self.session.rows(DAY_COUNTS, &[scope, model, &until, status, strategy, &limit], value_count)
    }
}

impl Transaction {
    /// Writes that these runs are counted, and adds their counts to `changes`.
    pub(crate) fn insert_counted(
        &mut self,
        stored: &StoredRow,
        changes: &mut CountChanges,
    ) -> Result<(), DatabaseError> {
        let StoredRow { row, checksum } = stored;
        let rows = counted_runs(row);
        let sql = "INSERT INTO counted_runs (scope, model, run_id, status, strategy) VALUES ($1, $2, $3, $4, $5) \
                   ON CONFLICT (scope, model, run_id) DO UPDATE SET status = excluded.status, strategy = excluded.strategy";
        for row in &rows {
            self.execute(sql, &[&row.scope, &row.model, &row.run_id, &row.status, &row.strategy])?;
        }
        changes.add(&rows, 1);
        let sql = "UPDATE runs SET is_counted = TRUE, models = $1, checksum = $2 WHERE run_id = $3";
        self.execute(sql, &[&row.models, checksum, &row.run_id]).map(drop)
    }

    /// Takes a run that goes on or is deleted out of the tables, if it is there.
    pub(crate) fn uncount(&mut self, run_id: &str) -> Result<(), DatabaseError> {
        // Locked before it is known whether it is counted, which another process may be doing. Two that change the same
        // counts in another order are told so by the server, and one is done again.
        let sql =
            concat!("SELECT ", run_columns!(), ", is_counted FROM runs WHERE run_id = $1 FOR NO KEY UPDATE");
        let stored = self
            .session
            .first(sql, &[&run_id], |row| Ok((run_row(row, 0)?, get::<bool>(row, RUN_COLUMNS)?)))?;
        let Some((stored, true)) = stored else { return Ok(()) };
        let rows = counted_runs(&stored.row);
        let sql = "DELETE FROM counted_runs WHERE scope = $1 AND model = $2 AND run_id = $3";
        for row in &rows {
            self.execute(sql, &[&row.scope, &row.model, &row.run_id])?;
        }
        self.execute("UPDATE runs SET is_counted = FALSE WHERE run_id = $1", &[&run_id])?;
        let mut changes = CountChanges::default();
        changes.add(&rows, -1);
        self.change_counts(&changes)
    }

    /// Writes changes of counts.
    pub(crate) fn change_counts(&mut self, changes: &CountChanges) -> Result<(), DatabaseError> {
        let add = "INSERT INTO run_counts (scope, day, model, status, strategy, runs) VALUES ($1, $2, $3, $4, $5, $6) \
                   ON CONFLICT (scope, day, model, status, strategy) DO UPDATE SET runs = run_counts.runs + excluded.runs";
        let remove = "DELETE FROM run_counts WHERE scope = $1 AND day = $2 AND model = $3 AND status = $4 \
                      AND strategy = $5 AND runs <= 0";
        for (key, runs) in &changes.0 {
            self.execute(add, &[&key.scope, &key.day, &key.model, &key.status, &key.strategy, runs])?;
            if *runs < 0 {
                self.execute(remove, &[&key.scope, &key.day, &key.model, &key.status, &key.strategy])?;
            }
        }
        Ok(())
    }
}

/// Whether a value has a character that no column can hold, so that nothing has it.
fn has_zero(filter: &CountFilter<'_>) -> bool {
    let CountFilter { scope, day, model, status, strategy } = filter;
    let all = [Some(*scope), Some(*day), Some(*model), *status, *strategy];
    all.into_iter().flatten().any(|value| value.contains('\0'))
}

/// The end of a range of ids that has this run after it.
fn bound(before: Option<RunId>) -> String {
    before.map_or_else(|| AFTER_ALL.to_owned(), |run_id| run_id.to_string())
}

fn listed_run(row: &Row) -> Result<ListedRun, DatabaseError> {
    Ok(ListedRun {
        ownership: ownership(row, 0)?,
        stored: run_row(row, 3)?,
        cost_lacks_calls: get(row, 3 + RUN_COLUMNS)?,
    })
}

fn value_count(row: &Row) -> Result<(String, u64), DatabaseError> {
    Ok((get(row, 0)?, count(get(row, 1)?)))
}
