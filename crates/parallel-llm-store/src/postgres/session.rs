//! One connection to the server: statements with a deadline, each prepared once.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::future::Future;
use std::time::Duration;

use futures_util::future::join_all;
use tokio_postgres::types::{FromSqlOwned, ToSql};
use tokio_postgres::{Client, Row, SimpleQueryMessage, Statement};

use super::row::get;
use super::wire::{Wire, away, silent, wait};
use crate::clock;
use crate::error::DatabaseError;

/// Statements that a connection keeps prepared: more than there are.
const STATEMENTS_MAX: usize = 256;
/// Longest statement, so that none of a caller who has left goes on for ever. The largest read takes some seconds.
pub(super) const STATEMENT_MAX: Duration = Duration::from_secs(60);
/// Longest wait for the answer to the settings of a new connection, which take no time.
const OPEN_ANSWER_MAX: Duration = Duration::from_secs(6);
/// How long the answer to a statement may come late: the server ends it by itself, so this is for one that is gone.
const ANSWER_LATE_MAX: Duration = Duration::from_secs(5);
/// How long a transaction may wait for its next statement. Ours never pause; a process that was suspended in the middle
/// loses its transaction, since others wait for its locks.
const PAUSE_MAX: Duration = Duration::from_secs(5);

/// Parameters of a statement.
pub(super) type Parameters<'a> = &'a [&'a (dyn ToSql + Sync)];

/// A connection.
pub(super) struct Session {
    client: Client,
    statements: RefCell<BTreeMap<String, Statement>>,
    /// Longest wait for the answer to a statement.
    limit: Cell<Duration>,
}

impl std::fmt::Debug for Session {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("Session")
    }
}

impl Session {
    /// Connects within this time.
    pub(super) fn open(wire: &Wire, within: Duration) -> Result<Self, DatabaseError> {
        let client = wire.connect(within)?;
        let session = Self { client, statements: RefCell::default(), limit: Cell::new(OPEN_ANSWER_MAX) };
        // Whatever the server or the user has set otherwise. A commit is durable before it is confirmed; a server that
        // waits for its standbys, too, keeps doing so.
        session.command(&format!(
            "SET default_transaction_isolation = 'read committed'; SET client_min_messages = warning; \
             SET statement_timeout = {}; SET idle_in_transaction_session_timeout = {}; \
             SELECT set_config('synchronous_commit', 'on', FALSE) \
             WHERE current_setting('synchronous_commit') IN ('off', 'local')",
            STATEMENT_MAX.as_millis(),
            PAUSE_MAX.as_millis(),
        ))?;
        session.limit_answers(STATEMENT_MAX + ANSWER_LATE_MAX);
        Ok(session)
    }

    /// Sets the longest statement of this connection.
    pub(super) fn limit_statements(&self, longest: Duration) -> Result<(), DatabaseError> {
        self.limit.set(longest + ANSWER_LATE_MAX);
        self.command(&format!("SET statement_timeout = {}", longest.as_millis().max(1))).map(drop)
    }

    /// Sets the longest wait for the answer to a statement, whatever the server goes on doing.
    pub(super) fn limit_answers(&self, longest: Duration) {
        self.limit.set(longest);
    }

    /// Whether the connection has ended.
    pub(super) fn is_closed(&self) -> bool {
        self.client.is_closed()
    }

    /// Executes commands without parameters in one exchange, and returns the last value, if any.
    pub(super) fn command(&self, sql: &str) -> Result<Option<String>, DatabaseError> {
        let messages = self.answer(self.client.simple_query(sql))?;
        let last = messages.iter().rev().find_map(|message| match message {
            SimpleQueryMessage::Row(row) => Some(row.get(0).map(str::to_owned)),
            _ => None,
        });
        Ok(last.flatten())
    }

    /// All rows of a query.
    pub(super) fn rows<T>(
        &self,
        sql: &str,
        parameters: Parameters<'_>,
        read: impl FnMut(&Row) -> Result<T, DatabaseError>,
    ) -> Result<Vec<T>, DatabaseError> {
        let statement = self.prepared(sql)?;
        let rows = self.answer(self.client.query(&statement, parameters))?;
        rows.iter().map(read).collect()
    }

    /// All rows of a query that must be prepared anew each time: what a cursor gives is known once it is open.
    pub(super) fn rows_once<T>(
        &self,
        sql: &str,
        read: impl FnMut(&Row) -> Result<T, DatabaseError>,
    ) -> Result<Vec<T>, DatabaseError> {
        let rows = self.answer(self.client.query(sql, &[]))?;
        rows.iter().map(read).collect()
    }

    /// The first row of a query; `None` without rows.
    pub(super) fn first<T>(
        &self,
        sql: &str,
        parameters: Parameters<'_>,
        read: impl FnOnce(&Row) -> Result<T, DatabaseError>,
    ) -> Result<Option<T>, DatabaseError> {
        let statement = self.prepared(sql)?;
        let rows = self.answer(self.client.query(&statement, parameters))?;
        rows.first().map(read).transpose()
    }

    /// The first column of a query's only row.
    pub(super) fn value<T: FromSqlOwned>(
        &self,
        sql: &str,
        parameters: Parameters<'_>,
    ) -> Result<T, DatabaseError> {
        self.first(sql, parameters, |row| get(row, 0))?.ok_or_else(|| away("it answered without a row"))
    }

    /// Executes a statement, and returns how many rows it changed.
    pub(super) fn execute(&self, sql: &str, parameters: Parameters<'_>) -> Result<u64, DatabaseError> {
        let statement = self.prepared(sql)?;
        self.answer(self.client.execute(&statement, parameters))
    }

    /// Executes a statement for each of these, all sent before the first answer comes: a server may be far away.
    pub(super) fn execute_each(&self, sql: &str, rows: &[Parameters<'_>]) -> Result<(), DatabaseError> {
        if rows.is_empty() {
            return Ok(());
        }
        let statement = self.prepared(sql)?;
        let all = rows.iter().map(|parameters| self.client.execute(&statement, parameters));
        let all = async { join_all(all).await.into_iter().collect::<Result<Vec<u64>, _>>() };
        self.answer(all).map(drop)
    }

    fn prepared(&self, sql: &str) -> Result<Statement, DatabaseError> {
        if let Some(known) = self.statements.borrow().get(sql) {
            return Ok(known.clone());
        }
        let statement = self.answer(self.client.prepare(sql))?;
        let mut statements = self.statements.borrow_mut();
        if statements.len() >= STATEMENTS_MAX {
            statements.pop_first();
        }
        statements.insert(sql.to_owned(), statement.clone());
        Ok(statement)
    }

    fn answer<T>(
        &self,
        asked: impl Future<Output = Result<T, tokio_postgres::Error>>,
    ) -> Result<T, DatabaseError> {
        let answered = wait(asked, clock::shared_now() + self.limit.get());
        Ok(answered.ok_or_else(silent)??)
    }
}
