//! How SQLite executes the statements of the list, which read few rows of a large history.

use rusqlite::Connection;

use super::MIGRATIONS;
use super::dialect::SQLITE;
use crate::database::sql::counting::{
    COUNTED, DAY_COUNTS, MODEL_COUNTS, STATUS_COUNTS, STRATEGY_COUNTS, UNCOUNTED, UNCOUNTED_OF_ONE, listed,
};

/// How SQLite executes a statement on an empty database.
fn query_plan(sql: &str) -> String {
    let connection = Connection::open_in_memory().expect("memory is a database");
    for script in MIGRATIONS {
        connection.execute_batch(script).expect("it is migrated");
    }
    let mut statement = connection.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).expect("it is a statement");
    // Parameters without a value are null.
    let steps = statement.raw_query().mapped(|row| row.get::<_, String>(3));
    steps.collect::<rusqlite::Result<Vec<_>>>().expect("it is explained").join("; ")
}

#[test]
fn no_statement_of_the_list_reads_a_whole_table() {
    for (sql, expected) in [
        (UNCOUNTED, "runs USING INDEX runs_uncounted (run_id<?)"),
        (UNCOUNTED_OF_ONE, "runs USING INDEX runs_uncounted (run_id<?)"),
        (STATUS_COUNTS, "run_counts_by_model (scope=? AND model=? AND day=?)"),
        (STRATEGY_COUNTS, "run_counts_by_model (scope=? AND model=? AND day=?)"),
        (MODEL_COUNTS, "(scope=? AND day=? AND model>?)"),
        (DAY_COUNTS, "COVERING INDEX run_counts_by_model (scope=? AND model=? AND day>? AND day<?)"),
        (COUNTED, "counted_runs USING PRIMARY KEY (scope=? AND model=? AND run_id>? AND run_id<?)"),
        (&listed(&SQLITE), "runs USING INDEX sqlite_autoindex_runs_1 (run_id=?)"),
    ] {
        let plan = query_plan(sql);
        assert!(plan.contains(expected), "{expected}: {plan}");
        let scans = ["runs", "calls", "counted_runs", "run_counts"].map(|table| format!("SCAN {table}"));
        assert!(!scans.iter().any(|scan| plan.contains(scan)), "{plan}");
        assert!(!plan.contains("ORDER BY"), "the index has the order: {plan}");
    }
}
