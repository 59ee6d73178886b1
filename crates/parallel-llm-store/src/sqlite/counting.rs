//! Statements for the tables by which the list of runs is filtered and counted.

use parallel_llm_engine::RunId;
use rusqlite::Row;

use super::connection::{Reader, Transaction};
use super::row::{
    RUN_COLUMNS, ownership, ownership_columns, plan_column, run_columns, run_id, run_row, text,
};
use crate::error::DatabaseError;
use crate::row::counted_run::{CountChanges, counted_runs};
use crate::row::filter::{CountFilter, PostingRange};
use crate::row::run_row::{ListedRun, StoredRow};
use crate::row::{count, integer};

/// Sorts after every run id, which consists of digits and upper-case letters.
const AFTER_ALL: &str = "~";

/// Uncounted runs, newest first.
macro_rules! uncounted {
    ($whose:literal) => {
        concat!(
            "SELECT ",
            ownership_columns!(),
            ", ",
            run_columns!(),
            ", EXISTS (SELECT 1 FROM calls WHERE calls.run_id = runs.run_id AND calls.cost_pico_usd IS NULL) ",
            "FROM runs INDEXED BY runs_uncounted WHERE is_counted = 0 AND run_id < ?1 AND ",
            $whose,
            " ORDER BY run_id DESC LIMIT ?2"
        )
    };
}

/// How many runs have each value of a column, within one day or all days, and one model or all models.
macro_rules! counts {
    ($column:literal) => {
        concat!(
            "SELECT ",
            $column,
            ", SUM(runs) FROM run_counts WHERE scope = ?1 AND day = ?2 AND model = ?3 ",
            "AND (?4 IS NULL OR status = ?4) AND (?5 IS NULL OR strategy = ?5) GROUP BY 1"
        )
    };
}

const UNCOUNTED: &str = uncounted!("?3 IS NULL");
const UNCOUNTED_OF_ONE: &str = uncounted!("asked_by = ?3");
const STATUS_COUNTS: &str = counts!("status");
const STRATEGY_COUNTS: &str = counts!("strategy");
const MODEL_COUNTS: &str = "SELECT model, SUM(runs) FROM run_counts WHERE scope = ?1 AND day = ?2 AND model > '' \
     AND (?3 IS NULL OR status = ?3) AND (?4 IS NULL OR strategy = ?4) GROUP BY 1";
const DAY_COUNTS: &str = "SELECT day, SUM(runs) FROM run_counts INDEXED BY run_counts_by_model \
     WHERE scope = ?1 AND model = ?2 AND day > '' AND day <= ?3 \
     AND (?4 IS NULL OR status = ?4) AND (?5 IS NULL OR strategy = ?5) GROUP BY day ORDER BY day DESC LIMIT ?6";
const COUNTED: &str = "SELECT run_id FROM counted_runs WHERE scope = ?1 AND model = ?2 AND run_id >= ?3 AND run_id < ?4 \
     AND (?5 IS NULL OR status = ?5) AND (?6 IS NULL OR strategy = ?6) ORDER BY run_id DESC LIMIT ?7";
const LISTED: &str = concat!(
    "SELECT ",
    ownership_columns!(),
    ", ",
    run_columns!(),
    ", EXISTS (SELECT 1 FROM calls WHERE calls.run_id = runs.run_id AND calls.cost_pico_usd IS NULL) ",
    "FROM JSON_EACH(?) AS wanted CROSS JOIN runs ON runs.run_id = wanted.value"
);

impl Reader<'_> {
    /// The newest uncounted runs before this one, at most `limit`, for all principals or one.
    pub(crate) fn uncounted_runs(
        &self,
        asked_by: Option<&str>,
        before: Option<RunId>,
        limit: usize,
    ) -> Result<Vec<ListedRun>, DatabaseError> {
        let sql = match asked_by {
            None => UNCOUNTED,
            Some(_) => UNCOUNTED_OF_ONE,
        };
        self.rows(sql, (bound(before), integer(limit as u64), asked_by), listed_run)
    }

    /// Whether a closed run is not counted.
    pub(crate) fn has_uncounted_run(&self) -> Result<bool, DatabaseError> {
        self.value("SELECT EXISTS (SELECT 1 FROM runs WHERE is_counted = 0 AND closed_at_ms IS NOT NULL)", ())
    }

    /// The oldest closed runs that are not counted.
    pub(crate) fn runs_to_count(&self, limit: usize) -> Result<Vec<StoredRow>, DatabaseError> {
        let sql = concat!(
            "SELECT ",
            run_columns!(),
            " FROM runs WHERE is_counted = 0 AND closed_at_ms IS NOT NULL ORDER BY run_id LIMIT ?"
        );
        self.rows(sql, [integer(limit as u64)], |row| run_row(row, 0))
    }

    /// The plan of a run as JSON; `None` if there is no such run.
    pub(crate) fn plan_json(&self, run_id: &str) -> Result<Option<String>, DatabaseError> {
        let sql = concat!("SELECT ", plan_column!(), " FROM runs WHERE run_id = ?");
        self.first(sql, [run_id], |row| text(row, 0))
    }

    /// The newest counted runs of a range, at most `limit`.
    pub(crate) fn counted_runs(
        &self,
        filter: &CountFilter<'_>,
        range: PostingRange,
        limit: usize,
    ) -> Result<Vec<RunId>, DatabaseError> {
        let from = range.from.map(|run_id| run_id.to_string()).unwrap_or_default();
        let CountFilter { scope, model, status, strategy, .. } = filter;
        let wanted = (scope, model, from, bound(range.before), status, strategy, integer(limit as u64));
        self.rows(COUNTED, wanted, |row| run_id(row, 0))
    }

    /// The lines of these runs, in no order.
    pub(crate) fn listed_runs(&self, runs: &[RunId]) -> Result<Vec<ListedRun>, DatabaseError> {
        self.rows(LISTED, [ids(runs)], listed_run)
    }

    /// How many counted runs have each status.
    pub(crate) fn status_counts(
        &self,
        filter: &CountFilter<'_>,
    ) -> Result<Vec<(String, u64)>, DatabaseError> {
        self.value_counts(STATUS_COUNTS, filter)
    }

    /// How many counted runs have each strategy.
    pub(crate) fn strategy_counts(
        &self,
        filter: &CountFilter<'_>,
    ) -> Result<Vec<(String, u64)>, DatabaseError> {
        self.value_counts(STRATEGY_COUNTS, filter)
    }

    fn value_counts(&self, sql: &str, filter: &CountFilter<'_>) -> Result<Vec<(String, u64)>, DatabaseError> {
        let CountFilter { scope, day, model, status, strategy } = filter;
        self.rows(sql, (scope, day, model, status, strategy), value_count)
    }

    /// How many counted runs have each model.
    pub(crate) fn model_counts(&self, filter: &CountFilter<'_>) -> Result<Vec<(String, u64)>, DatabaseError> {
        let CountFilter { scope, day, status, strategy, .. } = filter;
        self.rows(MODEL_COUNTS, (scope, day, status, strategy), value_count)
    }

    /// The newest days with counted runs up to this day, and how many there are.
    pub(crate) fn day_counts(
        &self,
        filter: &CountFilter<'_>,
        until: &str,
        limit: usize,
    ) -> Result<Vec<(String, u64)>, DatabaseError> {
        let CountFilter { scope, model, status, strategy, .. } = filter;
        let wanted = (scope, model, until, status, strategy, integer(limit as u64));
        self.rows(DAY_COUNTS, wanted, value_count)
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
        let sql = "INSERT OR REPLACE INTO counted_runs (scope, model, run_id, status, strategy) VALUES (?, ?, ?, ?, ?)";
        for row in &rows {
            self.execute(sql, (&row.scope, &row.model, &row.run_id, &row.status, &row.strategy))?;
        }
        changes.add(&rows, 1);
        let sql = "UPDATE runs SET is_counted = 1, models = ?, checksum = ? WHERE run_id = ?";
        self.execute(sql, (&row.models, checksum, &row.run_id)).map(drop)
    }

    /// Takes a run that goes on or is deleted out of the tables, if it is there.
    pub(crate) fn uncount(&mut self, run_id: &str) -> Result<(), DatabaseError> {
        let sql = concat!("SELECT ", run_columns!(), " FROM runs WHERE run_id = ? AND is_counted = 1");
        let Some(stored) = self.reader().first(sql, [run_id], |row| run_row(row, 0))? else { return Ok(()) };
        let rows = counted_runs(&stored.row);
        let sql = "DELETE FROM counted_runs WHERE scope = ? AND model = ? AND run_id = ?";
        for row in &rows {
            self.execute(sql, (&row.scope, &row.model, &row.run_id))?;
        }
        self.execute("UPDATE runs SET is_counted = 0 WHERE run_id = ?", [run_id])?;
        let mut changes = CountChanges::default();
        changes.add(&rows, -1);
        self.change_counts(&changes)
    }

    /// Writes changes of counts.
    pub(crate) fn change_counts(&mut self, changes: &CountChanges) -> Result<(), DatabaseError> {
        let add = "INSERT INTO run_counts (scope, day, model, status, strategy, runs) VALUES (?, ?, ?, ?, ?, ?) \
                   ON CONFLICT DO UPDATE SET runs = runs + excluded.runs";
        let remove = "DELETE FROM run_counts WHERE scope = ? AND day = ? AND model = ? AND status = ? \
                      AND strategy = ? AND runs <= 0";
        for (key, runs) in &changes.0 {
            self.execute(add, (&key.scope, &key.day, &key.model, &key.status, &key.strategy, runs))?;
            if *runs < 0 {
                self.execute(remove, (&key.scope, &key.day, &key.model, &key.status, &key.strategy))?;
            }
        }
        Ok(())
    }
}

/// The end of a range of ids that has this run after it.
fn bound(before: Option<RunId>) -> String {
    before.map_or_else(|| AFTER_ALL.to_owned(), |run_id| run_id.to_string())
}

/// These ids as JSON, for `JSON_EACH`.
pub(super) fn ids(runs: &[RunId]) -> String {
    serde_json::to_string(runs).expect("ids are plain data")
}

pub(super) fn listed_run(row: &Row<'_>) -> rusqlite::Result<ListedRun> {
    Ok(ListedRun {
        ownership: ownership(row, 0)?,
        stored: run_row(row, 3)?,
        cost_lacks_calls: row.get(3 + RUN_COLUMNS)?,
    })
}

fn value_count(row: &Row<'_>) -> rusqlite::Result<(String, u64)> {
    Ok((row.get(0)?, count(row.get(1)?)))
}

#[cfg(test)]
mod tests {
    use rusqlite::Connection;

    use super::super::MIGRATIONS;
    use super::*;

    /// How SQLite executes a statement on an empty database.
    fn query_plan(sql: &str) -> String {
        let connection = Connection::open_in_memory().expect("memory is a database");
        for script in MIGRATIONS {
            connection.execute_batch(script).expect("it is migrated");
        }
        let mut statement =
            connection.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).expect("it is a statement");
        // Parameters without a value are null.
        let steps = statement.raw_query().mapped(|row| row.get::<_, String>(3));
        steps.collect::<rusqlite::Result<Vec<_>>>().expect("it is explained").join("; ")
    }

    #[test]
    fn no_statement_of_the_page_reads_a_whole_table() {
        for (sql, expected) in [
            (UNCOUNTED, "runs USING INDEX runs_uncounted (run_id<?)"),
            (UNCOUNTED_OF_ONE, "runs USING INDEX runs_uncounted (run_id<?)"),
            (STATUS_COUNTS, "run_counts_by_model (scope=? AND model=? AND day=?)"),
            (STRATEGY_COUNTS, "run_counts_by_model (scope=? AND model=? AND day=?)"),
            (MODEL_COUNTS, "(scope=? AND day=? AND model>?)"),
            (DAY_COUNTS, "COVERING INDEX run_counts_by_model (scope=? AND model=? AND day>? AND day<?)"),
            (COUNTED, "counted_runs USING PRIMARY KEY (scope=? AND model=? AND run_id>? AND run_id<?)"),
            (LISTED, "runs USING INDEX sqlite_autoindex_runs_1 (run_id=?)"),
        ] {
            let plan = query_plan(sql);
            assert!(plan.contains(expected), "{expected}: {plan}");
            let scans = ["runs", "calls", "counted_runs", "run_counts"].map(|table| format!("SCAN {table}"));
            assert!(!scans.iter().any(|scan| plan.contains(scan)), "{plan}");
            assert!(!plan.contains("ORDER BY"), "the index has the order: {plan}");
        }
    }
}
