//! The run database as another program sees it, through SQLite alone.

use std::path::{Path, PathBuf};

use parallel_llm_testkit::Sandbox;
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
use sqlx::{AssertSqlSafe, ConnectOptions as _, Connection as _};
use tokio::runtime::Runtime;

/// "PLLM", in the header of every database of the program.
pub(crate) const APPLICATION_ID: i64 = 0x504c_4c4d;

/// The path of the run database.
pub(crate) fn path(sandbox: &Sandbox) -> PathBuf {
    sandbox.data_dir().join("runs.db")
}

/// A connection of another program.
pub(crate) struct OutsideConnection {
    runtime: Runtime,
    connection: Option<SqliteConnection>,
}

impl OutsideConnection {
    pub(crate) fn new(path: &Path) -> Self {
        let runtime =
            tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime starts");
        let options = SqliteConnectOptions::new().filename(path).create_if_missing(true);
        let connection = runtime.block_on(options.connect()).expect("the database opens");
        Self { runtime, connection: Some(connection) }
    }

    /// Runs these statements.
    pub(crate) fn execute(&mut self, sql: &str) {
        let connection = self.connection.as_mut().expect("the connection is open");
        let done = self.runtime.block_on(sqlx::raw_sql(AssertSqlSafe(sql.to_owned())).execute(connection));
        done.unwrap_or_else(|error| panic!("{sql}: {error}"));
    }

    /// Whether no other connection holds the write lock.
    pub(crate) fn may_write(&mut self) -> bool {
        let connection = self.connection.as_mut().expect("the connection is open");
        let begin = sqlx::raw_sql("PRAGMA busy_timeout = 100; BEGIN IMMEDIATE; ROLLBACK").execute(connection);
        self.runtime.block_on(begin).is_ok()
    }

    /// The single number that this query returns.
    pub(crate) fn number(&mut self, sql: &str) -> i64 {
        let connection = self.connection.as_mut().expect("the connection is open");
        let query = sqlx::query_scalar(AssertSqlSafe(sql.to_owned())).fetch_one(connection);
        self.runtime.block_on(query).unwrap_or_else(|error| panic!("{sql}: {error}"))
    }

    /// The texts that this query returns.
    pub(crate) fn texts(&mut self, sql: &str) -> Vec<String> {
        let connection = self.connection.as_mut().expect("the connection is open");
        let query = sqlx::query_scalar(AssertSqlSafe(sql.to_owned())).fetch_all(connection);
        self.runtime.block_on(query).unwrap_or_else(|error| panic!("{sql}: {error}"))
    }

    /// Fails unless the database is intact.
    pub(crate) fn assert_sound(&mut self) {
        assert_eq!(self.texts("PRAGMA integrity_check"), ["ok"]);
        assert_eq!(self.number("SELECT count(*) FROM pragma_foreign_key_check"), 0);
    }
}

impl Drop for OutsideConnection {
    fn drop(&mut self) {
        if let Some(connection) = self.connection.take() {
            // Closed properly, so that it leaves no new file behind.
            let _ = self.runtime.block_on(connection.close());
        }
    }
}
