//! Copies the database to a file, and verifies a copy that is to replace it.

use std::path::Path;
use std::time::Duration;

use parallel_llm_engine::{Code, Failure};
use sqlx::sqlite::{SqliteConnection, SqlitePool};
use sqlx::{ConnectOptions as _, Connection as _};

use super::result_code::{INTERRUPTED, NO_DATABASE, code};
use super::{APPLICATION_ID, Header, MIGRATIONS, inspect, migrate, options, unopened, writing};
use crate::error::{self, DatabaseError};
use crate::inspection::{CheckDepth, Integrity};
use crate::row::count;

/// How long opening a database that no one else uses may wait.
const WAIT: Duration = Duration::from_secs(5);

/// Writes the database to this empty file in one read transaction: writers continue, and their writes stay in the log
/// meanwhile. A copy in steps would restart with every commit of another process.
pub(super) async fn write(readers: &SqlitePool, to: &Path, within: Duration) -> Result<(), Failure> {
    let connect = readers.connect_options().connect().await;
    let mut connection = connect.map_err(DatabaseError::from)?;
    let written = vacuum_into(&mut connection, to, within).await;
    drop(connection.close().await);
    written.map_err(|cause| match code(&cause) {
        Some(INTERRUPTED) => {
            let message = format!("the backup was not done within {} s", within.as_secs());
            Failure::new(Code::Storage, message)
        }
        _ => DatabaseError::from(cause).into(),
    })
}

async fn vacuum_into(
    connection: &mut SqliteConnection,
    to: &Path,
    within: Duration,
) -> Result<(), sqlx::Error> {
    inspect::limit_time(connection, within).await?;
    let sql = "SELECT auto_vacuum FROM pragma_auto_vacuum";
    let shrinks: i64 = sqlx::query_scalar(sql).fetch_one(&mut *connection).await?;
    if shrinks == 0 {
        // A copy made with this setting can free pages, even if the original cannot.
        sqlx::query("PRAGMA auto_vacuum = INCREMENTAL").execute(&mut *connection).await?;
    }
    let to = to.to_str().ok_or_else(|| sqlx::Error::Configuration("a path that is not UTF-8".into()))?;
    sqlx::query("VACUUM INTO ?").bind(to).execute(connection).await.map(drop)
}

/// How many runs are in this file.
pub(super) async fn count_runs(path: &Path) -> Result<u64, Failure> {
    let mut connection = options(path).read_only(true).connect().await.map_err(unopened(path))?;
    let sql = "SELECT COUNT(*) FROM runs";
    let runs: Result<i64, sqlx::Error> = sqlx::query_scalar(sql).fetch_one(&mut connection).await;
    drop(connection.close().await);
    runs.map(count).map_err(unopened(path))
}

/// Migrates and verifies a copy of `named`, which is the name used in failures.
pub(super) async fn check(path: &Path, named: &Path, within: Duration) -> Result<Integrity, Failure> {
    let mut connection = writing(options(path), WAIT).connect().await.map_err(unusable(named))?;
    let checked = checked(&mut connection, named, within).await;
    drop(connection.close().await);
    checked
}

async fn checked(
    connection: &mut SqliteConnection,
    named: &Path,
    within: Duration,
) -> Result<Integrity, Failure> {
    let header = Header::read(connection).await.map_err(unusable(named))?;
    match header.application_id {
        _ if header.is_new => return Err(error::no_backup(named, "it is empty")),
        APPLICATION_ID => header.check(named)?,
        _ => return Err(error::no_backup(named, "it is a database of another program")),
    }
    // A copy with inconsistent pages must not be changed, only reported.
    let pages = inspect::check(connection, CheckDepth::Quick, within).await?;
    if pages != Integrity::Intact {
        return Ok(pages);
    }
    if header.user_version < MIGRATIONS.len() {
        migrate(connection, header.user_version).await.map_err(unopened(named))?;
    }
    // A single file again, whatever mode it was copied in.
    let sql = "PRAGMA journal_mode = DELETE";
    sqlx::query(sql).persistent(false).execute(&mut *connection).await.map_err(unopened(named))?;
    Ok(inspect::check(connection, CheckDepth::Full, within).await?)
}

/// The failure of reading a backup.
fn unusable(named: &Path) -> impl Fn(sqlx::Error) -> Failure {
    move |cause| match code(&cause) {
        Some(NO_DATABASE) => error::no_backup(named, "it is not a database"),
        _ => unopened(named)(cause),
    }
}

/// Moves the write-ahead log of an unused database into its file, if both can be read.
pub(super) async fn checkpoint_wal(path: &Path) {
    if let Ok(mut connection) = options(path).busy_timeout(WAIT).connect().await {
        // A database that is too damaged for it keeps its log beside it.
        let _ = sqlx::query("PRAGMA wal_checkpoint(TRUNCATE)").execute(&mut connection).await;
        drop(connection.close().await);
    }
}
