//! Reading, transactions, and the connection that writes.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::notify::{ChangedRuns, Channel};
use super::session::{Parameters, Session};
use super::wire::{Wire, away};
use crate::clock;
use crate::error::{DatabaseError, DatabaseErrorKind};
use crate::row::Purpose;

/// Milliseconds since 1970 by the server's clock, which all processes share.
pub(super) const NOW_MS: &str = "SELECT FLOOR(EXTRACT(EPOCH FROM clock_timestamp()) * 1000)::BIGINT";
/// How long a server that refused a connection is left alone: what comes meanwhile goes to files at once.
const RECONNECT_PAUSE: Duration = Duration::from_millis(250);
/// Least wait for a connection: a lock may be waited for more shortly than a server across a network can answer.
const CONNECT_MIN: Duration = Duration::from_millis(500);

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

/// Reads within a consistent view or a transaction.
#[derive(Debug)]
pub(crate) struct Reader<'c> {
    pub(super) session: &'c Session,
    /// The time of the server when the view or the transaction began.
    pub(super) now_ms: i64,
}

impl Reader<'_> {
    /// The time of the server, in milliseconds since 1970.
    pub(crate) const fn now_ms(&self) -> i64 {
        self.now_ms
    }
}

/// A write transaction. Dropping it ends its connection, which rolls back.
#[derive(Debug)]
pub(crate) struct Transaction {
    // Owned, so that a connection that failed is dropped with it.
    pub(super) session: Session,
    now_ms: i64,
    /// What other processes are told of after the commit.
    pub(super) changed: ChangedRuns,
}

impl Transaction {
    /// Reads the database including this transaction's own writes.
    pub(crate) const fn reader(&self) -> Reader<'_> {
        Reader { session: &self.session, now_ms: self.now_ms }
    }

    /// Executes a statement, and returns how many rows it changed.
    pub(super) fn execute(&mut self, sql: &str, parameters: Parameters<'_>) -> Result<u64, DatabaseError> {
        self.session.execute(sql, parameters)
    }

    /// Keeps other processes from changing this run until the transaction has ended.
    pub(crate) fn lock_run(&mut self, run_id: &str) -> Result<(), DatabaseError> {
        // As strong as an update of the row, and no stronger: rows of other tables may refer to it meanwhile.
        self.execute("SELECT 1 FROM runs WHERE run_id = $1 FOR NO KEY UPDATE", &[&run_id]).map(drop)
    }

    /// Takes the right to fill the index and the counts; `false` if another process has it.
    pub(crate) fn may_fill(&mut self) -> Result<bool, DatabaseError> {
        self.session.value(&format!("SELECT pg_try_advisory_xact_lock({})", Right::Fill.numbers()), &[])
    }
}

/// The writing connection.
#[derive(Debug)]
pub(crate) struct WriteConnection {
    wire: Arc<Wire>,
    session: Option<Session>,
    channel: Arc<Channel>,
    /// When the server was last found away.
    away_at: Option<Instant>,
}

impl WriteConnection {
    pub(super) const fn new(wire: Arc<Wire>, session: Session, channel: Arc<Channel>) -> Self {
        Self { wire, session: Some(session), channel, away_at: None }
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
        Ok(Transaction { session, now_ms, changed: ChangedRuns::new() })
    }

    /// Makes a transaction durable, and tells other processes of it.
    pub(crate) fn commit(&mut self, transaction: Transaction) -> Result<(), DatabaseError> {
        transaction.session.command(&self.channel.commit(&transaction.changed))?;
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

    /// Extends the leases of this owner's open runs and claimed jobs by so long from now, and returns their number.
    pub(crate) fn extend_leases(
        &mut self,
        owner: &str,
        lease: Duration,
        wait: Duration,
    ) -> Result<usize, DatabaseError> {
        let mut transaction = self.begin(Purpose::Write, wait)?;
        let until_ms = transaction.now_ms + lease.as_millis() as i64;
        let runs = "UPDATE runs SET lease_until_ms = $1 WHERE owner = $2 AND closed_at_ms IS NULL";
        let jobs = "UPDATE batch_jobs SET lease_until_ms = $1 WHERE owner = $2 AND state = 'running'";
        let mut extended = 0;
        for sql in [runs, jobs] {
            extended += transaction.execute(sql, &[&until_ms, &owner])?;
        }
        self.commit(transaction)?;
        Ok(extended as usize)
    }

    /// Executes the beginning of a transaction, which ends with the time, on the kept connection or a new one. A kept one
    /// may have been ended meanwhile, which is no reason to fail.
    fn begin_with(&mut self, sql: &str, wait: Duration) -> Result<(Session, i64), DatabaseError> {
        if let Some(session) = self.session.take().filter(|session| !session.is_closed()) {
            match session.command(sql) {
                Ok(now) => return Ok((session, time(now)?)),
                Err(cause) if cause.kind != DatabaseErrorKind::Away => return Err(cause),
                Err(_) => {}
            }
        }
        let is_paused = self.away_at.is_some_and(|at| clock::shared_now() < at + RECONNECT_PAUSE);
        if is_paused {
            return Err(away("it was away a moment ago"));
        }
        let begun = Session::open(&self.wire, wait.max(CONNECT_MIN)).and_then(|session| {
            let now = session.command(sql)?;
            Ok((session, time(now)?))
        });
        let is_away = begun.as_ref().is_err_and(|cause| cause.kind == DatabaseErrorKind::Away);
        self.away_at = is_away.then(clock::shared_now);
        begun
    }
}

/// Begins a consistent view, and returns the time.
pub(super) fn begin_reading() -> String {
    format!("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; {NOW_MS}")
}

/// The time that a command returned.
pub(super) fn time(value: Option<String>) -> Result<i64, DatabaseError> {
    value.and_then(|value| value.parse().ok()).ok_or_else(|| away("it answered without its time"))
}
