//! Reports the state of the database and checks its contents.
//!
//! Invariants: a check writes nothing, blocks no writer, and ends at its deadline.

use std::sync::Arc;
use std::time::Duration;

use parallel_llm_engine::Failure;

use super::Database;
use super::connection::Connection;
use super::schema;
use super::write_connection::{begin_reading, time};
use crate::database::blocking::blocking;
use crate::database::reply::{Reply, reading};
use crate::database::sql::contents;
use crate::database::sql::parts::session::Reader;
use crate::database::sql::parts::value::damaged;
use crate::row::count;
use crate::system::clock;
use crate::system::error::DatabaseError;
use crate::upkeep::inspection::{CheckDepth, DatabaseState, Finding, Findings, Integrity};

/// Longest wait for a connection of its own.
const CONNECT_WAIT: Duration = Duration::from_secs(10);

impl Database {
    /// The version, size and contents of the database.
    pub(crate) async fn state(&self) -> Result<DatabaseState, Failure> {
        self.read(reading(|reader| Ok(state(reader)?))).await.map(Reply::take)
    }

    /// Checks the contents within this time. Uses a connection of its own, since a check may take long. A quick one only
    /// reads the schema and the state: the server verifies its own pages.
    pub(crate) async fn check(&self, depth: CheckDepth, within: Duration) -> Result<Integrity, Failure> {
        let mut findings = Findings::default();
        let differences = self.read(reading(|reader| Ok(schema::differences(reader)?))).await?;
        for problem in differences.take::<Vec<String>>() {
            findings.add(Finding::of(problem));
        }
        if depth == CheckDepth::Quick {
            self.state().await?;
            return Ok(findings.damages().map_or(Integrity::Intact, Integrity::Damaged));
        }
        let wire = Arc::clone(&self.wire);
        blocking(move || {
            let until = clock::shared_now() + within;
            let session = Connection::open(&wire, CONNECT_WAIT)?;
            session.limit_statements(within)?;
            let now_ms = time(session.command(&begin_reading())?)?;
            let reader = Reader { session: &session, now_ms };
            let checked = contents::check(&reader, &mut findings, until);
            match (checked, findings.damages()) {
                (_, Some(damages)) => Ok(Integrity::Damaged(damages)),
                (Ok(true), None) => Ok(Integrity::Intact),
                (Ok(false), None) => Ok(Integrity::Unfinished),
                // A statement that was ended for its time.
                (Err(cause), None) if cause.is_passing() && clock::shared_now() >= until => {
                    Ok(Integrity::Unfinished)
                }
                (Err(cause), None) => Err(cause.into()),
            }
        })
        .await
    }
}

fn state(reader: &Reader<'_>) -> Result<DatabaseState, DatabaseError> {
    let runs = reader.runs_by_status()?;
    // Only our tables, since others may be in the same database.
    let sql = "SELECT 'PostgreSQL ' || current_setting('server_version'), format, \
               (SELECT SUM(pg_total_relation_size(name::REGCLASS))::BIGINT FROM UNNEST(ARRAY['runs', 'events', 'texts', \
                'pieces', 'calls', 'holds', 'seats', 'tokens', 'words', 'counted_runs', 'run_counts']) AS name) \
               FROM parallel_llm_meta";
    let state = reader.session.first(sql, &[], |row| {
        Ok(DatabaseState {
            version: row.get(0)?,
            format: row.get(1)?,
            bytes: count(row.get(2)?),
            log_bytes: None,
            has_purged_words: false,
            runs: runs.clone(),
        })
    })?;
    state.ok_or_else(|| damaged("the mark of its format is missing"))
}
