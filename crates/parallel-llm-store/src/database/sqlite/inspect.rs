//! Reports the state of the database and checks its integrity.
//!
//! Invariants: a check writes nothing, blocks no writer, and ends at its deadline.

use std::path::Path;
use std::time::{Duration, Instant};

use parallel_llm_engine::Failure;
use rusqlite::{Connection, ErrorCode};

use super::Database;
use super::connection::{open_for_reading, reader};
use super::readers::READ_WAIT;
use super::schema;
use super::search::are_words_marked;
use crate::database::blocking::blocking;
use crate::database::reply::{Reply, reading};
use crate::database::sql::contents;
use crate::database::sql::parts::session::Reader;
use crate::database::sql::parts::value::damaged;
use crate::row::count;
use crate::system::error::DatabaseError;
use crate::system::{clock, file};
use crate::upkeep::inspection::{CheckDepth, DatabaseState, Finding, Findings, Integrity};

/// Steps of SQLite's virtual machine between two checks of the time: well under a millisecond.
const STEPS_BETWEEN_LOOKS: i32 = 10_000;

impl Database {
    /// The version, size and contents of the database.
    pub(crate) async fn state(&self) -> Result<DatabaseState, Failure> {
        let path = self.path.clone();
        self.read(reading(move |reader| Ok(state(reader, &path)?))).await.map(Reply::take)
    }

    /// Checks the integrity within this time. Uses a connection of its own, since a check may take long.
    pub(crate) async fn check(&self, depth: CheckDepth, within: Duration) -> Result<Integrity, Failure> {
        let path = self.path.clone();
        blocking(move || {
            let mut connection = open_for_reading(&path, READ_WAIT).map_err(DatabaseError::from)?;
            Ok(check(&mut connection, depth, within)?)
        })
        .await
    }
}

fn state(reader: &Reader<'_>, path: &Path) -> Result<DatabaseState, DatabaseError> {
    let runs = reader.runs_by_status()?;
    let has_purged_words = are_words_marked(reader.session)?;
    let sql = "SELECT 'SQLite ' || sqlite_version(), user_version, page_count * page_size \
               FROM pragma_user_version, pragma_page_count, pragma_page_size";
    let state = reader.session.first(sql, &[], |row| {
        Ok(DatabaseState {
            version: row.get(0)?,
            format: row.get(1)?,
            bytes: count(row.get(2)?),
            log_bytes: Some(log_bytes(path)),
            has_purged_words,
            runs: runs.clone(),
        })
    })?;
    state.ok_or_else(|| damaged("its header is missing"))
}

/// The size of the write-ahead log; 0 without one.
fn log_bytes(path: &Path) -> u64 {
    file::beside(path, "-wal").metadata().map_or(0, |metadata| metadata.len())
}

/// Aborts whatever this connection does after this time, and returns when that is.
pub(super) fn limit_time(connection: &mut Connection, within: Duration) -> rusqlite::Result<Instant> {
    let until = clock::shared_now() + within;
    connection.progress_handler(STEPS_BETWEEN_LOOKS, Some(move || clock::shared_now() >= until))?;
    Ok(until)
}

/// The check of [`Database::check`] on this connection, which ends all it does after this time.
pub(super) fn check(
    connection: &mut Connection,
    depth: CheckDepth,
    within: Duration,
) -> Result<Integrity, DatabaseError> {
    let until = limit_time(connection, within)?;
    let mut findings = Findings::default();
    let result = match collect_findings(connection, depth, until, &mut findings) {
        Err(cause) if error_code(&cause) == Some(ErrorCode::DatabaseCorrupt) => {
            findings.add(Finding::of(cause.cause.to_string()));
            Ok(true)
        }
        Err(cause) if error_code(&cause) == Some(ErrorCode::OperationInterrupted) => Ok(false),
        result => result,
    };
    match (result, findings.damages()) {
        (_, Some(damages)) => Ok(Integrity::Damaged(damages)),
        (Ok(true), None) => Ok(Integrity::Intact),
        (Ok(false), None) => Ok(Integrity::Unfinished),
        (Err(cause), None) => Err(cause),
    }
}

/// The database's own code of an error.
fn error_code(error: &DatabaseError) -> Option<ErrorCode> {
    error.cause.downcast_ref::<rusqlite::Error>()?.sqlite_error_code()
}

/// Adds findings about the schema and pages, then about rows as far as they are readable; `false` if the time is over.
fn collect_findings(
    connection: &Connection,
    depth: CheckDepth,
    until: Instant,
    findings: &mut Findings,
) -> Result<bool, DatabaseError> {
    let format: u32 = connection.query_row("PRAGMA user_version", (), |row| row.get(0))?;
    for problem in schema::differences(connection, format as usize)? {
        findings.add(Finding::of(problem));
    }
    // Ten problems say as much as a hundred.
    let sql = match depth {
        CheckDepth::Quick => "PRAGMA quick_check(10)",
        CheckDepth::Full => "PRAGMA integrity_check(10)",
    };
    let mut statement = connection.prepare(sql)?;
    let lines = statement.query_map((), |row| row.get(0))?.collect::<Result<Vec<String>, _>>()?;
    for problem in lines.into_iter().filter(|line| line != "ok") {
        findings.add(Finding::of(problem));
    }
    match depth {
        CheckDepth::Quick => Ok(true),
        CheckDepth::Full => contents::check(&reader(connection), findings, until),
    }
}
