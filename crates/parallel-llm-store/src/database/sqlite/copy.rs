//! Copies the database to a file, and verifies a copy that is to replace it.

use std::path::Path;
use std::time::Duration;

use parallel_llm_engine::{Code, Failure};
use rusqlite::{Error, ErrorCode};

use super::connection::{open_for_reading, open_for_writing};
use super::readers::READ_WAIT;
use super::{APPLICATION_ID, Header, inspect, migrate, schema, unopened};
use crate::row::count;
use crate::system::error::{self, DatabaseError};
use crate::upkeep::inspection::{CheckDepth, Integrity};

/// How long opening a database that no one else uses may wait.
const WAIT: Duration = Duration::from_secs(5);

/// Writes the database to this empty file in one read transaction: writers continue, and their writes stay in the log
/// meanwhile. A copy in steps would restart with every commit of another process.
pub(super) fn write(path: &Path, to: &Path, within: Duration) -> Result<(), Failure> {
    vacuum_into(path, to, within).map_err(|cause| match cause.sqlite_error_code() {
        Some(ErrorCode::OperationInterrupted) => {
            let message = format!("the backup was not done within {} s", within.as_secs());
            Failure::new(Code::Storage, message)
        }
        _ => DatabaseError::from(cause).into(),
    })
}

fn vacuum_into(path: &Path, to: &Path, within: Duration) -> rusqlite::Result<()> {
    let mut connection = open_for_reading(path, READ_WAIT)?;
    inspect::limit_time(&mut connection, within)?;
    let shrinks: i64 = connection.query_row("PRAGMA auto_vacuum", (), |row| row.get(0))?;
    if shrinks == 0 {
        // A copy made with this setting can free pages, even if the original cannot.
        connection.execute_batch("PRAGMA auto_vacuum = INCREMENTAL")?;
    }
    let to = to.to_str().ok_or_else(|| Error::InvalidPath(to.to_owned()))?;
    connection.execute("VACUUM INTO ?", [to]).map(drop)
}

/// How many runs are in this file, and how many tokens that are not revoked.
pub(super) fn count_contents(path: &Path) -> Result<Contents, Failure> {
    let connection = open_for_reading(path, WAIT).map_err(unopened(path))?;
    let sql = "SELECT (SELECT COUNT(*) FROM runs), (SELECT COUNT(*) FROM tokens WHERE revoked_at_ms IS NULL)";
    let counted = connection
        .query_row(sql, (), |row| Ok(Contents { runs: count(row.get(0)?), tokens: count(row.get(1)?) }));
    counted.map_err(unopened(path))
}

/// What a file holds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Contents {
    pub(super) runs: u64,
    pub(super) tokens: u64,
}

/// Migrates and verifies a copy of `named`, which is the name used in failures.
pub(super) fn check(path: &Path, named: &Path, within: Duration) -> Result<Integrity, Failure> {
    let mut connection = open_for_writing(path, WAIT).map_err(unusable(named))?;
    let header = Header::read(&connection).map_err(unusable(named))?;
    match header.application_id {
        _ if header.is_new => return Err(error::no_backup(named, "it is empty")),
        APPLICATION_ID => header.check(named)?,
        _ => return Err(error::no_backup(named, "it is a database of another program")),
    }
    // Before anything is written, which a trigger would follow. What cannot be read is damage, found below.
    let differences = schema::differences(&connection, header.user_version).unwrap_or_default();
    if let Some(first) = differences.first() {
        return Err(error::no_backup(named, first));
    }
    // A copy with inconsistent pages must not be changed, only reported.
    let pages = inspect::check(&mut connection, CheckDepth::Quick, within)?;
    if pages != Integrity::Intact {
        return Ok(pages);
    }
    migrate(&mut connection, header.user_version).map_err(unopened(named))?;
    // A single file again, whatever mode it was copied in.
    connection.execute_batch("PRAGMA journal_mode = DELETE").map_err(unopened(named))?;
    Ok(inspect::check(&mut connection, CheckDepth::Full, within)?)
}

/// The failure of reading a backup.
fn unusable(named: &Path) -> impl Fn(Error) -> Failure {
    move |cause| match cause.sqlite_error_code() {
        Some(ErrorCode::NotADatabase) => error::no_backup(named, "it is not a database"),
        _ => unopened(named)(cause),
    }
}

/// Moves the write-ahead log of an unused database into its file, if both can be read.
pub(super) fn checkpoint_wal(path: &Path) {
    if let Ok(connection) = open_for_writing(path, WAIT) {
        // A database that is too damaged for it keeps its log beside it.
        let _ = connection.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)");
    }
}
