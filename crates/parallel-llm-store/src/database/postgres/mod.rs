//! The PostgreSQL database: opening, migrating, notifications, and the index of words.
//!
//! It lies in the first schema of the connection's search path, and is shared by the processes of several machines.
//! Invariants: tables that are not ours, or that a newer version wrote, are left unchanged. Times are the server's. No
//! process blocks the others for longer than its connection's limits allow, even one that is suspended.

mod connection;
mod dialect;
mod inspect;
mod notify;
mod purge;
mod readers;
mod schema;
mod search;
mod sql_state;
mod tls;
mod url;
mod value;
mod wire;
mod write_connection;

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use parallel_llm_engine::value::next::{Advice, Next};
use parallel_llm_engine::{Code, Failure};
use tokio::sync::broadcast;

use super::blocking::blocking;
use super::reply::{Read, Reply};
use super::sql::parts::session::Session;
use crate::history::changes::{CHANGES_MAX, Change};
use crate::row::integer;
use crate::system::error::{self, DatabaseError, DatabaseErrorKind, URL_SETTING};

use connection::Connection;
use notify::Channel;
pub(crate) use purge::PurgeLock;
use readers::Readers;
pub use url::ServerUrl;
use wire::Wire;
use write_connection::Right;
pub(crate) use write_connection::{Transaction, WriteConnection};

/// The number of the first migration, which makes all tables: that of the other dialect's newest one at the time, so that
/// a format has one number.
const FIRST: i64 = 7;
/// All schema migrations in order, beginning with [`FIRST`].
const MIGRATIONS: &[&str] = &[
    include_str!("../../../migrations/postgres/0007_begin.sql"),
    include_str!("../../../migrations/postgres/0008_batches.sql"),
    include_str!("../../../migrations/postgres/0009_cancel.sql"),
    include_str!("../../../migrations/postgres/0010_sessions.sql"),
    include_str!("../../../migrations/postgres/0011_wording.sql"),
    include_str!("../../../migrations/postgres/0012_unknown_costs.sql"),
    include_str!("../../../migrations/postgres/0013_unbounded_costs.sql"),
];
/// The oldest supported major version, as the server numbers it. Its makers end their support of a version after five
/// years.
const VERSION_MIN: i64 = 130_000;
/// Longest statement of a migration.
const MIGRATION_MAX: Duration = Duration::from_secs(600);
/// Longest wait for another process that creates or migrates the tables. Creating takes less than a second; whoever opens
/// during a long migration is told, and can try again.
const MIGRATOR_WAIT: Duration = Duration::from_secs(8);
/// The table that marks the schema as ours.
const MARK: &str = "
    CREATE TABLE parallel_llm_meta (
        is_only     BOOLEAN NOT NULL PRIMARY KEY DEFAULT TRUE CHECK (is_only),
        format      BIGINT  NOT NULL,                                  -- the number of the newest migration
        database_id TEXT    NOT NULL DEFAULT gen_random_uuid()::TEXT   -- by which it is known at any address
    );
    INSERT INTO parallel_llm_meta (format) VALUES (0);
";
/// The tables in the schema: whether ours are there, and whether one of another program has a name of ours.
const TABLES: &str = "
    SELECT current_setting('server_version_num')::BIGINT, current_schema()::TEXT,
        COALESCE(BOOL_OR(relname = 'parallel_llm_meta'), FALSE),
        MIN(relname::TEXT) FILTER (WHERE relname IN ('runs', 'events', 'texts', 'pieces', 'calls', 'holds', 'seats',
            'tokens', 'words', 'counted_runs', 'run_counts', 'batches', 'batch_jobs', 'sessions', 'form_key'))
    FROM pg_catalog.pg_class
    WHERE relnamespace = (SELECT oid FROM pg_catalog.pg_namespace WHERE nspname = current_schema())
";

/// The database, for reading.
#[derive(Clone, Debug)]
pub(crate) struct Database {
    readers: Arc<Readers>,
    wire: Arc<Wire>,
    /// Its own name, whatever its address.
    id: Arc<str>,
    channel: Arc<Channel>,
    /// Passes on what other processes tell, once anyone listens.
    changes: Arc<OnceLock<broadcast::Sender<Change>>>,
}

impl Database {
    /// Opens the database at this address; creates its tables if they are missing. `wait` is how long opening waits for the
    /// server.
    pub(crate) async fn open(url: &ServerUrl, wait: Duration) -> Result<(Self, WriteConnection), Failure> {
        let url = url.clone();
        blocking(move || {
            let unopened =
                |cause: DatabaseError| cause.failure(&format!("cannot open the run database `{url}`"));
            let wire = Arc::new(Wire::to(&url).map_err(unopened)?);
            let session = Connection::open(&wire, wait).map_err(unopened)?;
            let id: Arc<str> = prepare(&session, &url)?.into();
            let channel = Arc::new(Channel::of(&id));
            let connection = WriteConnection::new(Arc::clone(&wire), session, Arc::clone(&channel));
            let readers = Arc::new(Readers::of(Arc::clone(&wire)));
            Ok((Self { readers, wire, id, channel, changes: Arc::default() }, connection))
        })
        .await
    }

    /// Its own name, whatever its address.
    pub(crate) fn id(&self) -> &str {
        &self.id
    }

    /// Reads one consistent view of the database on a thread that may wait.
    pub(crate) async fn read(&self, read: Read) -> Result<Reply, Failure> {
        self.readers.read(read).await
    }

    /// The changes of runs that processes tell from now on, which takes a connection of its own.
    pub(crate) fn changes(&self) -> broadcast::Receiver<Change> {
        let listen = || {
            let (watchers, _) = broadcast::channel(CHANGES_MAX);
            self.wire.listen(self.channel.listen(), watchers.clone());
            watchers
        };
        self.changes.get_or_init(listen).subscribe()
    }

    /// Closes the reading connections.
    pub(crate) async fn close(&self) {
        self.readers.close().await;
    }
}

/// Creates or migrates the tables if necessary, and returns the database's id.
fn prepare(session: &Connection, url: &ServerUrl) -> Result<String, Failure> {
    let unopened = |cause: DatabaseError| cause.failure(&format!("cannot open the run database `{url}`"));
    let mut mark = Mark::read(session, url)?;
    if mark.as_ref().is_none_or(|mark| mark.format < newest()) {
        session.limit_statements(MIGRATION_MAX).map_err(unopened)?;
        // The lock ends with its transaction, which the server ends if this process is suspended in it.
        let (wait_ms, numbers) = (MIGRATOR_WAIT.as_millis(), Right::Migrate.numbers());
        let lock =
            format!("BEGIN; SET LOCAL lock_timeout = {wait_ms}; SELECT pg_advisory_xact_lock({numbers})");
        session.command(&lock).map_err(|cause| match cause.kind {
            DatabaseErrorKind::Locked => migrating(url),
            _ => unopened(cause),
        })?;
        // Another process may have done it meanwhile.
        let format = Mark::read(session, url)?.map(|mark| mark.format);
        migrate(session, format).map_err(unopened)?;
        session.command("COMMIT").map_err(unopened)?;
        session.limit_statements(connection::STATEMENT_MAX).map_err(unopened)?;
        mark = Mark::read(session, url)?;
    }
    Ok(mark.map(|mark| mark.database_id).unwrap_or_default())
}

/// Another process creates or migrates the tables, and does not end.
fn migrating(url: &ServerUrl) -> Failure {
    let message = format!(
        "cannot open the run database `{url}`: another process is creating or migrating its tables, and has not ended for {} s",
        MIGRATOR_WAIT.as_secs()
    );
    let end = format!(
        "psql \"$PARALLEL_LLM_DATABASE_URL\" -c \"SELECT pg_terminate_backend(pid) FROM pg_locks \
         WHERE locktype = 'advisory' AND classid = {} AND granted \
         AND objid::BIGINT = hashtext(current_schema())::BIGINT & 4294967295\"",
        Right::Migrate as i32
    );
    Failure::new(Code::Storage, message).with_next([Next::Do(Advice::TryAgain), Next::Type(end.into())])
}

/// What marks the tables as ours.
struct Mark {
    format: i64,
    database_id: String,
}

impl Mark {
    /// Reads the mark; `None` in a schema without our tables. Fails if they are not ours, or are too new.
    fn read(session: &dyn Session, url: &ServerUrl) -> Result<Option<Self>, Failure> {
        let unopened = |cause: DatabaseError| cause.failure(&format!("cannot open the run database `{url}`"));
        let found = session.first(TABLES, &[], |row| {
            let (schema, taken): (Option<String>, Option<String>) = (row.get(1)?, row.get(3)?);
            Ok((row.get::<i64>(0)?, schema, row.get::<bool>(2)?, taken))
        });
        let Some((version, schema, is_ours, taken)) = found.map_err(unopened)? else { return Ok(None) };
        if version < VERSION_MIN {
            let message = format!(
                "the server at `{url}` has PostgreSQL {}, and {} is the oldest that is supported",
                version / 10_000,
                VERSION_MIN / 10_000
            );
            return Err(refused(message));
        }
        let Some(schema) = schema else {
            return Err(refused(format!("no schema on the search path of `{url}` exists")));
        };
        if !is_ours {
            let Some(table) = taken else { return Ok(None) };
            let message = format!(
                "the schema `{schema}` at `{url}` has a table `{table}` of another program, and was not changed"
            );
            return Err(refused(message));
        }
        let sql = "SELECT format, database_id FROM parallel_llm_meta";
        let read = session.first(sql, &[], |row| Ok(Self { format: row.get(0)?, database_id: row.get(1)? }));
        let mark = read.map_err(unopened)?;
        match mark {
            Some(Self { format, .. }) if format > newest() => {
                let message = format!(
                    "a newer version of this program wrote `{url}`: its format is {format}, this one knows up to {}",
                    newest()
                );
                Err(error::refused(message).with_next(Advice::UseNewerProgram))
            }
            mark => Ok(mark),
        }
    }
}

/// Applies the migrations after this one, in the transaction that has the right to: all of them or none.
fn migrate(session: &Connection, from: Option<i64>) -> Result<(), DatabaseError> {
    for (script, number) in MIGRATIONS.iter().zip(FIRST..).filter(|(_, number)| *number > from.unwrap_or(0)) {
        let mark = if from.is_none() && number == FIRST { MARK } else { "" };
        session.command(&format!("{mark} {script}; UPDATE parallel_llm_meta SET format = {number}"))?;
    }
    Ok(())
}

/// The number of the newest migration.
fn newest() -> i64 {
    FIRST + integer(MIGRATIONS.len() as u64) - 1
}

fn refused(message: String) -> Failure {
    error::refused(message).with_next([Next::Set(URL_SETTING.into())])
}
