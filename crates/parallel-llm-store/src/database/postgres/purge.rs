//! The right to purge, and the space of what was removed.
//!
//! A deleted row stays in the server's files until [`Database::vacuum`] has freed its space and something else was written
//! there. What the server's own log, its standbys and its backups keep of it is in the hands of its administrator.

use std::sync::Arc;
use std::time::Duration;

use parallel_llm_engine::value::next::Advice;
use parallel_llm_engine::{Code, Failure};

use super::Database;
use super::connection::Connection;
use super::write_connection::Right;
use crate::database::blocking::blocking;
use crate::database::sql::parts::session::Session;

/// Longest wait for a connection of its own.
const CONNECT_WAIT: Duration = Duration::from_secs(10);
/// Longest freeing of space, enough for some hundred gigabytes.
const VACUUM_MAX: Duration = Duration::from_secs(3_600);
/// The tables that a purge takes rows out of.
const VACUUM: [&str; 9] = [
    "VACUUM words",
    "VACUUM texts",
    "VACUUM events",
    "VACUUM pieces",
    "VACUUM holds",
    "VACUUM counted_runs",
    "VACUUM run_counts",
    "VACUUM runs",
    "VACUUM calls",
];

/// The right to purge, on a connection of its own, with which it ends.
#[derive(Debug)]
pub(crate) struct PurgeLock {
    /// Held for its lock.
    _session: Connection,
}

impl Database {
    /// Takes the right to purge. Fails with `busy` if another process has it.
    pub(crate) async fn lock_purge(&self) -> Result<PurgeLock, Failure> {
        let wire = Arc::clone(&self.wire);
        blocking(move || {
            let session = Connection::open(&wire, CONNECT_WAIT)?;
            let sql = format!("SELECT pg_try_advisory_lock({})", Right::Purge.numbers());
            if (&session as &dyn Session).value(&sql, &[])? {
                return Ok(PurgeLock { _session: session });
            }
            let failure = Failure::new(Code::Busy, "another process is purging runs");
            Err(failure.with_next(Advice::SayAgainAfterIt))
        })
        .await
    }

    /// Frees the space of deleted rows, without blocking anybody.
    pub(crate) async fn vacuum(&self) -> Result<(), Failure> {
        let wire = Arc::clone(&self.wire);
        blocking(move || {
            let session = Connection::open(&wire, CONNECT_WAIT)?;
            session.limit_statements(VACUUM_MAX)?;
            // Each by itself, since it cannot be part of a transaction.
            for table in VACUUM {
                session.command(table)?;
            }
            Ok(())
        })
        .await
    }
}
