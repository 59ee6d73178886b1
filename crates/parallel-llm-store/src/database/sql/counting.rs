//! Statements for the tables by which the list of runs is filtered and counted.

use parallel_llm_engine::RunId;

use super::parts::columns::{
    RUN_COLUMNS, bound, listed_columns, listed_run, plan_column, run_columns, run_row, text,
};
use super::parts::dialect::Dialect;
use super::parts::session::{Reader, Row, Session};
use super::parts::value::{Value, values};
use super::runs::list;
use crate::row::counted_run::{CountChanges, CountKey, counted_runs};
use crate::row::filter::{CountFilter, PostingRange};
use crate::row::run_row::{ListedRun, StoredRow};
use crate::row::{count, integer};
use crate::system::error::DatabaseResult as Result;

/// Uncounted runs, newest first.
macro_rules! uncounted {
    ($whose:literal) => {
        concat!(
            "SELECT ",
            listed_columns!(),
            " FROM runs WHERE NOT is_counted AND run_id < $1 AND ",
            $whose,
            " ORDER BY run_id DESC LIMIT $3"
        )
    };
}

/// How many runs have each value of a column, within one day or all days, and one model or all models.
macro_rules! counts {
    ($column:literal) => {
        concat!(
            "SELECT ",
            $column,
            ", CAST(SUM(runs) AS BIGINT) FROM run_counts WHERE scope = $1 AND day = $2 AND model = $3 ",
            "AND (CAST($4 AS TEXT) IS NULL OR status = $4) AND (CAST($5 AS TEXT) IS NULL OR strategy = $5) GROUP BY 1"
        )
    };
}

pub(crate) const UNCOUNTED: &str = uncounted!("CAST($2 AS TEXT) IS NULL");
pub(crate) const UNCOUNTED_OF_ONE: &str = uncounted!("asked_by || '' = $2");
pub(crate) const STATUS_COUNTS: &str = counts!("status");
pub(crate) const STRATEGY_COUNTS: &str = counts!("strategy");
pub(crate) const MODEL_COUNTS: &str = "SELECT model, CAST(SUM(runs) AS BIGINT) FROM run_counts \
     WHERE scope = $1 AND day = $2 AND model > '' \
     AND (CAST($3 AS TEXT) IS NULL OR status = $3) AND (CAST($4 AS TEXT) IS NULL OR strategy = $4) GROUP BY 1";
pub(crate) const DAY_COUNTS: &str = "SELECT day, CAST(SUM(runs) AS BIGINT) FROM run_counts \
     WHERE scope = $1 AND model = $2 AND day > '' AND day <= $3 \
     AND (CAST($4 AS TEXT) IS NULL OR status = $4) AND (CAST($5 AS TEXT) IS NULL OR strategy = $5) \
     GROUP BY day ORDER BY day DESC LIMIT $6";
pub(crate) const COUNTED: &str = "SELECT run_id FROM counted_runs \
     WHERE scope = $1 AND model = $2 AND run_id >= $3 AND run_id < $4 \
     AND (CAST($5 AS TEXT) IS NULL OR status = $5) AND (CAST($6 AS TEXT) IS NULL OR strategy = $6) \
     ORDER BY run_id DESC LIMIT $7";

/// The lines of the runs of a JSON list.
pub(crate) fn listed(dialect: &Dialect) -> String {
    let (columns, entries) = (listed_columns!(), dialect.entries("$1"));
    format!("SELECT {columns} FROM {entries} AS wanted JOIN runs ON runs.run_id = wanted.value")
}

impl Reader<'_> {
    /// The newest uncounted runs before this one, at most `limit`, for all principals or one.
    pub(crate) fn uncounted_runs(
        &self,
        asked_by: Option<&str>,
        before: Option<RunId>,
        limit: usize,
    ) -> Result<Vec<ListedRun>> {
        let sql = if asked_by.is_some() { UNCOUNTED_OF_ONE } else { UNCOUNTED };
        self.session.rows(sql, &values![bound(before), asked_by, integer(limit as u64)], listed_run)
    }

    /// Whether a closed run is not counted.
    pub(crate) fn has_uncounted_run(&self) -> Result<bool> {
        let sql = "SELECT EXISTS (SELECT 1 FROM runs WHERE NOT is_counted AND closed_at_ms IS NOT NULL)";
        self.session.value(sql, &[])
    }

    /// The oldest closed runs that are not counted. They stay as they are until the transaction has ended; those that
    /// another process is writing are left out.
    pub(crate) fn runs_to_count(&self, limit: usize) -> Result<Vec<StoredRow>> {
        let sql = format!(
            "SELECT {} FROM runs WHERE NOT is_counted AND closed_at_ms IS NOT NULL ORDER BY run_id LIMIT $1{}",
            run_columns!(),
            self.session.dialect().lock_free
        );
        self.session.rows(&sql, &values![integer(limit as u64)], |row| run_row(row, 0))
    }

    /// The plan of a run as JSON; `None` if there is no such run.
    pub(crate) fn plan_json(&self, run_id: &str) -> Result<Option<String>> {
        let sql = concat!("SELECT ", plan_column!(), " FROM runs WHERE run_id = $1");
        self.session.first(sql, &values![run_id], |row| text(row, 0))
    }

    /// The newest counted runs of a range, at most `limit`.
    pub(crate) fn counted_runs(
        &self,
        filter: &CountFilter<'_>,
        range: PostingRange,
        limit: usize,
    ) -> Result<Vec<RunId>> {
        let from = range.from.map(|run_id| run_id.to_string()).unwrap_or_default();
        let CountFilter { scope, model, status, strategy, .. } = *filter;
        let values =
            values![scope, model, from, bound(range.before), status, strategy, integer(limit as u64)];
        self.session.rows(COUNTED, &values, |row| row.get(0))
    }

    /// The lines of these runs, in no order.
    pub(crate) fn listed_runs(&self, runs: &[RunId]) -> Result<Vec<ListedRun>> {
        self.session.rows(&listed(self.session.dialect()), &[list(runs)], listed_run)
    }

    /// How many counted runs have each status.
    pub(crate) fn status_counts(&self, filter: &CountFilter<'_>) -> Result<Vec<(String, u64)>> {
        let CountFilter { scope, day, model, status, strategy } = *filter;
        self.session.rows(STATUS_COUNTS, &values![scope, day, model, status, strategy], value_count)
    }

    /// How many counted runs have each strategy.
    pub(crate) fn strategy_counts(&self, filter: &CountFilter<'_>) -> Result<Vec<(String, u64)>> {
        let CountFilter { scope, day, model, status, strategy } = *filter;
        self.session.rows(STRATEGY_COUNTS, &values![scope, day, model, status, strategy], value_count)
    }

    /// How many counted runs have each model.
    pub(crate) fn model_counts(&self, filter: &CountFilter<'_>) -> Result<Vec<(String, u64)>> {
        let CountFilter { scope, day, status, strategy, .. } = *filter;
        self.session.rows(MODEL_COUNTS, &values![scope, day, status, strategy], value_count)
    }

    /// The newest days with counted runs up to this day, and how many there are.
    pub(crate) fn day_counts(
        &self,
        filter: &CountFilter<'_>,
        until: &str,
        limit: usize,
    ) -> Result<Vec<(String, u64)>> {
        let CountFilter { scope, model, status, strategy, .. } = *filter;
        let values = values![scope, model, until, status, strategy, integer(limit as u64)];
        self.session.rows(DAY_COUNTS, &values, value_count)
    }
}

impl dyn Session + '_ {
    /// Writes that these runs are counted, and adds their counts to `changes`.
    pub(crate) fn insert_counted(&self, stored: &StoredRow, changes: &mut CountChanges) -> Result<()> {
        let StoredRow { row, checksum } = stored;
        let rows = counted_runs(row);
        let sql = "INSERT INTO counted_runs (scope, model, run_id, status, strategy) VALUES ($1, $2, $3, $4, $5) \
                   ON CONFLICT (scope, model, run_id) DO UPDATE SET status = excluded.status, strategy = excluded.strategy";
        self.execute_each(
            sql,
            rows.iter().map(|row| values![&row.scope, &row.model, &row.run_id, &row.status, &row.strategy]),
        )?;
        changes.add(&rows, 1);
        let sql = "UPDATE runs SET is_counted = TRUE, models = $1, checksum = $2 WHERE run_id = $3";
        self.execute(sql, &values![&row.models, checksum, &row.run_id]).map(drop)
    }

    /// Takes a run that goes on or is deleted out of the tables, if it is there.
    pub(crate) fn uncount(&self, run_id: &str) -> Result<()> {
        // Locked before it is known whether it is counted, which another process may be doing. Two that change the same
        // counts in another order are told so by the database, and one is done again.
        let lock = self.dialect().lock;
        let sql = format!("SELECT {}, is_counted FROM runs WHERE run_id = $1{lock}", run_columns!());
        let stored =
            self.first(&sql, &values![run_id], |row| Ok((run_row(row, 0)?, row.get::<bool>(RUN_COLUMNS)?)))?;
        let Some((stored, true)) = stored else { return Ok(()) };
        let rows = counted_runs(&stored.row);
        let sql = "DELETE FROM counted_runs WHERE scope = $1 AND model = $2 AND run_id = $3";
        self.execute_each(sql, rows.iter().map(|row| values![&row.scope, &row.model, &row.run_id]))?;
        self.execute("UPDATE runs SET is_counted = FALSE WHERE run_id = $1", &values![run_id])?;
        let mut changes = CountChanges::default();
        changes.add(&rows, -1);
        self.change_counts(&changes)
    }

    /// Writes changes of counts.
    pub(crate) fn change_counts(&self, changes: &CountChanges) -> Result<()> {
        let add = "INSERT INTO run_counts (scope, day, model, status, strategy, runs) VALUES ($1, $2, $3, $4, $5, $6) \
                   ON CONFLICT (scope, day, model, status, strategy) DO UPDATE SET runs = run_counts.runs + excluded.runs";
        self.execute_each(
            add,
            changes.0.iter().map(|(key, runs)| {
                let [scope, day, model, status, strategy] = key_values(key);
                [scope, day, model, status, strategy, Value::from(runs)]
            }),
        )?;
        let remove = "DELETE FROM run_counts WHERE scope = $1 AND day = $2 AND model = $3 AND status = $4 \
                      AND strategy = $5 AND runs <= 0";
        let fewer = changes.0.iter().filter(|(_, runs)| **runs < 0);
        self.execute_each(remove, fewer.map(|(key, _)| key_values(key)))
    }
}

fn key_values(key: &CountKey) -> [Value<'_>; 5] {
    let CountKey { scope, day, model, status, strategy } = key;
    values![scope, day, model, status, strategy]
}

fn value_count(row: &Row<'_>) -> Result<(String, u64)> {
    Ok((row.get(0)?, count(row.get(1)?)))
}
