//! Transactions, and the connection that writes.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::connection::Connection;
use super::dialect::POSTGRES;
use super::notify::{ChangedRuns, Channel};
use super::wire::{Wire, away};
use crate::database::sql::parts::session::{Reader, Session};
use crate::database::sql::parts::value::values;
use crate::row::Purpose;
use crate::row::ownership::ExtendedLeases;
use crate::system::clock;
use crate::system::error::{DatabaseError, DatabaseErrorKind};

/// Milliseconds since 1970 by the server's clock, which all processes share.
pub(super) const NOW_MS: &str = "SELECT FLOOR(EXTRACT(EPOCH FROM clock_timestamp()) * 1000)::BIGINT";
/// How long a server that refused a connection is left alone: what comes meanwhile goes to files at once.
const RECONNECT_PAUSE: Duration = Duration::from_millis(250);
/// Longest wait for the answer to one statement of the writer: a lock, and the slowest network that is of use. A server that
/// takes a commit and does not confirm it, such as one without its standby, is given up after this.
const WRITE_ANSWER_MAX: Duration = Duration::from_secs(6);
/// Longest wait for the beginning of a read, which does nothing. A connection that is silent for longer leads nowhere.
pub(super) const BEGIN_ANSWER_MAX: Duration = Duration::from_secs(4);
/// Longest wait of a read for a lock that somebody holds on a whole table.
const READ_LOCK_MAX: Duration = Duration::from_secs(4);
/// Least wait for a connection: a lock may be waited for more shortly than a server across a slow network can answer.
const CONNECT_MIN: Duration = Duration::from_secs(5);

/// Advisory locks, each a number of its own beside that of our schema.
#[derive(Clone, Copy, Debug)]
pub(super) enum Right {
    /// To create or migrate the tables.
    Migrate = 0x504c_4c00,
    /// To begin runs.
    Admit = 0x504c_4c01,
    /// To fill the index of words and the counts.
    Fill = 0x504c_4c02,
    /// To purge.
    Purge = 0x504c_4c03,
}

impl Right {
    /// The two numbers of the lock, for the functions of advisory locks.
    pub(super) fn numbers(self) -> String {
        format!("{}, hashtext(current_schema())", self as i32)
    }
}

/// A write transaction. Dropping it ends its connection, which rolls back.
#[derive(Debug)]
pub(crate) struct Transaction {
    // Owned, so that a connection that failed is dropped with it.
    pub(crate) session: Connection,
    now_ms: i64,
    /// What other processes are told of after the commit.
    pub(crate) changed: ChangedRuns,
    /// The statement that extends the leases of these runs, if they are to be extended.
    renewal: Option<String>,
}

impl Transaction {
    /// Reads the database including this transaction's own writes.
    pub(crate) fn reader(&self) -> Reader<'_> {
        Reader { session: &self.session, now_ms: self.now_ms }
    }

    /// Extends the leases of the runs that it changes as it commits, in the same exchange.
    pub(crate) fn renew_leases(&mut self, owner: &str, lease: Duration) {
        let written = self.changed.iter().filter(|(_, seq)| seq.is_some());
        let runs: Vec<String> = written.map(|(run_id, _)| format!("'{run_id}'")).collect();
        self.renewal = (!runs.is_empty()).then(|| {
            format!(
                "UPDATE runs SET lease_until_ms = {} WHERE run_id IN ({}) AND owner = {} AND closed_at_ms IS NULL; ",
                until(lease),
                runs.join(", "),
                quoted(owner)
            )
        });
    }

    /// Keeps other processes from changing this run until the transaction has ended.
    pub(crate) fn lock_run(&mut self, run_id: &str) -> Result<(), DatabaseError> {
        // As strong as an update of the row, and no stronger: rows of other tables may refer to it meanwhile.
        let sql = "SELECT 1 FROM runs WHERE run_id = $1 FOR NO KEY UPDATE";
        self.session.execute(sql, &values![run_id]).map(drop)
    }

    /// Keeps other processes from changing these batches until the transaction has ended. Called once, before any other
    /// row is locked, so that no two processes wait for each other.
    pub(crate) fn lock_batches(&mut self, batch_ids: &[String]) -> Result<(), DatabaseError> {
        let sql = format!(
            "SELECT 1 FROM batches WHERE batch_id IN (SELECT value FROM {} AS wanted) ORDER BY batch_id FOR UPDATE",
            POSTGRES.entries("$1")
        );
        let batch_ids = serde_json::to_string(batch_ids).expect("ids are plain data");
        self.session.execute(&sql, &values![batch_ids]).map(drop)
    }

    /// Lets further ids follow those that were copied.
    pub(crate) fn let_ids_follow(&mut self) -> Result<(), DatabaseError> {
        for (table, id) in [("texts", "text_id"), ("tokens", "token_id")] {
            let sql = format!(
                "SELECT setval(pg_get_serial_sequence('{table}', '{id}'), GREATEST((SELECT MAX({id}) FROM {table}), 0) + 1, FALSE)"
            );
            self.session.command(&sql)?;
        }
        Ok(())
    }

    /// Takes the right to fill the index and the counts; `false` if another process has it.
    pub(crate) fn may_fill(&mut self) -> Result<bool, DatabaseError> {
        self.reader()
            .session
            .value(&format!("SELECT pg_try_advisory_xact_lock({})", Right::Fill.numbers()), &[])
    }
}

/// The writing connection.
#[derive(Debug)]
pub(crate) struct WriteConnection {
    wire: Arc<Wire>,
    session: Option<Connection>,
    channel: Arc<Channel>,
    /// When the server was last found away.
    away_at: Option<Instant>,
}

impl WriteConnection {
    pub(super) fn new(wire: Arc<Wire>, session: Connection, channel: Arc<Channel>) -> Self {
        // It was opened to prepare the tables, which may take longer.
        session.limit_answers(WRITE_ANSWER_MAX);
        Self { wire, session: Some(session), channel, away_at: None }
    }

    /// Another connection to the same server, opened when it is first needed.
    pub(crate) fn another(&self) -> Self {
        Self {
            wire: Arc::clone(&self.wire),
            session: None,
            channel: Arc::clone(&self.channel),
            away_at: None,
        }
    }

    /// Begins a transaction, waiting at most this long for each lock.
    pub(crate) fn begin(&mut self, purpose: Purpose, wait: Duration) -> Result<Transaction, DatabaseError> {
        let admit = match purpose {
            Purpose::Admit => format!("SELECT pg_advisory_xact_lock({}); ", Right::Admit.numbers()),
            Purpose::Write => String::new(),
        };
        let wait_ms = wait.as_millis().max(1);
        // One exchange. The time is taken last, since waiting for the lock may have been long.
        let (session, now_ms) =
            self.begin_with(&format!("BEGIN; SET LOCAL lock_timeout = {wait_ms}; {admit}{NOW_MS}"), wait)?;
        Ok(Transaction { session, now_ms, changed: ChangedRuns::new(), renewal: None })
    }

    /// Makes a transaction durable, and tells other processes of it.
    pub(crate) fn commit(&mut self, transaction: Transaction) -> Result<(), DatabaseError> {
        let renewal = transaction.renewal.unwrap_or_default();
        transaction.session.command(&(renewal + &self.channel.commit(&transaction.changed)))?;
        self.session = Some(transaction.session);
        Ok(())
    }

    /// Reads outside a write transaction, which blocks no writer.
    pub(crate) fn read<T>(
        &mut self,
        wait: Duration,
        read: impl FnOnce(Reader<'_>) -> Result<T, DatabaseError>,
    ) -> Result<T, DatabaseError> {
        let (session, now_ms) = self.begin_with(&begin_reading(), wait)?;
        let found = read(Reader { session: &session, now_ms })?;
        session.command("COMMIT")?;
        self.session = Some(session);
        Ok(found)
    }

    /// Extends the leases of this owner's open runs and claimed jobs by so long from now, in one exchange, since the server may
    /// be far away. A row that somebody has locked is left out, so that it does not hold up the others. No standby is waited
    /// for: if it takes over without this, the lease only ends.
    pub(crate) fn extend_leases(
        &mut self,
        owner: &str,
        lease: Duration,
        wait: Duration,
    ) -> Result<ExtendedLeases, DatabaseError> {
        let (owner, until, wait_ms) = (quoted(owner), until(lease), wait.as_millis().max(1));
        let sql = format!(
            "BEGIN; SET LOCAL lock_timeout = {wait_ms}; SET LOCAL synchronous_commit = local; \
             WITH run AS (SELECT run_id FROM runs WHERE owner = {owner} AND closed_at_ms IS NULL \
             FOR NO KEY UPDATE SKIP LOCKED), \
             extended AS (UPDATE runs SET lease_until_ms = {until} FROM run WHERE runs.run_id = run.run_id \
             RETURNING runs.run_id, runs.epoch), \
             job AS (SELECT batch_id, line FROM batch_jobs WHERE owner = {owner} AND state = 'running' \
             FOR NO KEY UPDATE SKIP LOCKED), \
             kept AS (UPDATE batch_jobs SET lease_until_ms = {until} FROM job WHERE batch_jobs.batch_id = job.batch_id \
             AND batch_jobs.line = job.line RETURNING 1) \
             SELECT (SELECT COUNT(*) FROM kept) || COALESCE((SELECT string_agg(' ' || run_id || ' ' || epoch, '') \
             FROM extended), ''); COMMIT"
        );
        let (session, answer) = self.exchange(&sql, wait)?;
        self.session = Some(session);
        answer.as_deref().and_then(extended).ok_or_else(|| away("it answered without its leases"))
    }

    /// Executes the beginning of a transaction, which ends with the time, on the kept connection or a new one. A kept one
    /// may have been ended meanwhile, which is no reason to fail.
    fn begin_with(&mut self, sql: &str, wait: Duration) -> Result<(Connection, i64), DatabaseError> {
        let (session, now) = self.exchange(sql, wait)?;
        Ok((session, time(now)?))
    }

    /// Executes commands on the kept connection or a new one, and returns it with the last value.
    fn exchange(&mut self, sql: &str, wait: Duration) -> Result<(Connection, Option<String>), DatabaseError> {
        if let Some(session) = self.session.take().filter(|session| !session.is_closed()) {
            match session.command(sql) {
                Ok(value) => return Ok((session, value)),
                // Silence may be a server that is busy or gone; a second attempt would wait as long again.
                Err(cause) if cause.kind == DatabaseErrorKind::Silent => {
                    self.away_at = Some(clock::shared_now());
                    return Err(cause);
                }
                Err(cause) if cause.kind != DatabaseErrorKind::Away => return Err(cause),
                Err(_) => {}
            }
        }
        let is_paused = self.away_at.is_some_and(|at| clock::shared_now() < at + RECONNECT_PAUSE);
        if is_paused {
            return Err(away("it was away a moment ago"));
        }
        let begun = Connection::open(&self.wire, wait.max(CONNECT_MIN)).and_then(|session| {
            session.limit_answers(WRITE_ANSWER_MAX);
            let value = session.command(sql)?;
            Ok((session, value))
        });
        let is_away = begun.as_ref().is_err_and(DatabaseError::is_passing);
        self.away_at = is_away.then(clock::shared_now);
        begun
    }
}

/// Begins a consistent view, and returns the time.
pub(super) fn begin_reading() -> String {
    let wait_ms = READ_LOCK_MAX.as_millis();
    format!("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SET LOCAL lock_timeout = {wait_ms}; {NOW_MS}")
}

/// The end of a lease that begins now, by the server's clock at the moment of the statement.
fn until(lease: Duration) -> String {
    format!("FLOOR(EXTRACT(EPOCH FROM clock_timestamp()) * 1000)::BIGINT + {}", lease.as_millis())
}

/// A text as a constant of a statement. Ours hold digits, letters and a few signs.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

/// Reads the number of jobs, and each run with its epoch.
fn extended(answer: &str) -> Option<ExtendedLeases> {
    let mut words = answer.split(' ');
    let jobs = words.next()?.parse().ok()?;
    let mut runs = Vec::new();
    while let Some(run_id) = words.next() {
        runs.push((run_id.parse().ok()?, words.next()?.parse().ok()?));
    }
    Some(ExtendedLeases { runs, jobs })
}

/// The time that a command returned.
pub(super) fn time(value: Option<String>) -> Result<i64, DatabaseError> {
    value.and_then(|value| value.parse().ok()).ok_or_else(|| away("it answered without its time"))
}
