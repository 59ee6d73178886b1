//! One connection to the server: statements with a deadline, each prepared once.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::future::Future;
use std::time::Duration;

use futures_util::future::join_all;
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Client, SimpleQueryMessage, Statement};

use super::dialect::POSTGRES;
use super::wire::{Wire, silent, wait};
use crate::database::sql::parts::dialect::Dialect;
use crate::database::sql::parts::session::{Row, Session, Take};
use crate::database::sql::parts::value::Value;
use crate::system::clock;
use crate::system::error::DatabaseError;

/// Rows fetched at once by a cursor. Some hold texts of megabytes.
const FETCHED: usize = 100;
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

/// A connection.
pub(crate) struct Connection {
    client: Client,
    statements: RefCell<BTreeMap<String, Statement>>,
    /// Longest wait for the answer to a statement.
    limit: Cell<Duration>,
}

impl std::fmt::Debug for Connection {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("Connection")
    }
}

impl Connection {
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

impl Session for Connection {
    fn dialect(&self) -> &'static Dialect {
        &POSTGRES
    }

    fn each(&self, sql: &str, values: &[Value<'_>], take: Take<'_>) -> Result<(), DatabaseError> {
        let statement = self.prepared(sql)?;
        if sql.starts_with("SELECT ") && values.iter().zip(statement.params()).any(holds_zero) {
            return Ok(());
        }
        pass_on(&self.answer(self.client.query(&statement, &bound(values)))?, take)
    }

    /// By a cursor, so that only as many rows are sent as are wanted.
    fn scan(&self, sql: &str, values: &[Value<'_>], take: Take<'_>) -> Result<(), DatabaseError> {
        let declare = format!("DECLARE scanned NO SCROLL CURSOR FOR {sql}");
        self.execute(&declare, values)?;
        let fetch = format!("FETCH {FETCHED} FROM scanned");
        let mut wants_more = true;
        while wants_more {
            // Prepared anew each time: what a cursor gives is known once it is open.
            let rows = self.answer(self.client.query(&fetch, &[]))?;
            wants_more = rows.len() == FETCHED;
            pass_on(&rows, &mut |row| {
                let wants = take(row)?;
                wants_more &= wants;
                Ok(wants)
            })?;
        }
        self.command("CLOSE scanned").map(drop)
    }

    fn execute(&self, sql: &str, values: &[Value<'_>]) -> Result<u64, DatabaseError> {
        let statement = self.prepared(sql)?;
        self.answer(self.client.execute(&statement, &bound(values)))
    }

    /// All are sent before the first answer comes: a server may be far away.
    fn execute_all(&self, sql: &str, all: &[&[Value<'_>]]) -> Result<(), DatabaseError> {
        let statement = self.prepared(sql)?;
        let all: Vec<_> = all.iter().map(|values| bound(values)).collect();
        let sent = all.iter().map(|values| self.client.execute(&statement, values));
        let sent = async { join_all(sent).await.into_iter().collect::<Result<Vec<u64>, _>>() };
        self.answer(sent).map(drop)
    }
}

/// Whether a text has a character that no column of its type can hold, so that nothing is found by it.
fn holds_zero((value, kind): (&Value<'_>, &Type)) -> bool {
    matches!(value, Value::Text(text) if *kind != Type::BYTEA && text.contains('\0'))
}

fn pass_on(rows: &[tokio_postgres::Row], take: Take<'_>) -> Result<(), DatabaseError> {
    for row in rows {
        if !take(&Row { columns: row, dialect: &POSTGRES })? {
            break;
        }
    }
    Ok(())
}

fn bound<'v>(values: &'v [Value<'_>]) -> Vec<&'v (dyn ToSql + Sync)> {
    values.iter().map(|value| value as &(dyn ToSql + Sync)).collect()
}
