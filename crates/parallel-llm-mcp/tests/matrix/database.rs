//! The run database as another program sees it, through SQLite alone.

use std::path::{Path, PathBuf};

use parallel_llm_testkit::Sandbox;
use rusqlite::Connection;
use rusqlite::types::FromSql;

/// "PLLM", in the header of every database of the program.
pub(crate) const APPLICATION_ID: i64 = 0x504c_4c4d;

/// The path of the run database.
pub(crate) fn path(sandbox: &Sandbox) -> PathBuf {
    sandbox.data_dir().join("runs.db")
}

/// A connection of another program.
pub(crate) struct OutsideConnection(Connection);

impl OutsideConnection {
    pub(crate) fn new(path: &Path) -> Self {
        Self(Connection::open(path).expect("the database opens"))
    }

    /// Runs these statements.
    pub(crate) fn execute(&mut self, sql: &str) {
        self.0.execute_batch(sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
    }

    /// Whether no other connection holds the write lock.
    pub(crate) fn may_write(&mut self) -> bool {
        self.0.execute_batch("PRAGMA busy_timeout = 100; BEGIN IMMEDIATE; ROLLBACK").is_ok()
    }

    /// The single number that this query returns.
    pub(crate) fn number(&mut self, sql: &str) -> i64 {
        self.values(sql)[0]
    }

    /// The texts that this query returns.
    pub(crate) fn texts(&mut self, sql: &str) -> Vec<String> {
        self.values(sql)
    }

    /// Fails unless the database is intact.
    pub(crate) fn assert_sound(&mut self) {
        assert_eq!(self.texts("PRAGMA integrity_check"), ["ok"]);
        assert_eq!(self.number("SELECT count(*) FROM pragma_foreign_key_check"), 0);
    }

    fn values<T: FromSql>(&self, sql: &str) -> Vec<T> {
        let mut statement = self.0.prepare(sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
        let values = statement.query_map((), |row| row.get(0)).and_then(Iterator::collect);
        values.unwrap_or_else(|error| panic!("{sql}: {error}"))
    }
}
