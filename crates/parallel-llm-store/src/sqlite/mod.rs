//! The SQLite database: opening, migrating, and all statements.
//!
//! One connection writes ([`WriteConnection`]), a few read ([`Reader`]). Invariant: a file that is not our database, or
//! that a newer version wrote, is refused and left unchanged.

pub(crate) mod backup;
mod connection;
mod contents;
mod copy;
mod events;
mod inspect;
mod ledger;
mod lock;
mod purge;
mod result_code;
mod row;
mod runs;
mod search;
mod seats;
mod tokens;

use std::path::{Path, PathBuf};
use std::time::Duration;

use parallel_llm_engine::value::next::{Advice, Next};
use parallel_llm_engine::{Code, Failure};
use sqlx::sqlite::{
    SqliteConnectOptions, SqliteConnection, SqlitePool, SqlitePoolOptions, SqliteSynchronous,
};
use sqlx::{AssertSqlSafe, ConnectOptions as _, Connection as _, QueryBuilder, Row as _};

use crate::error::{self, DatabaseError};
use crate::file;

use connection::{ReadConnection, Snapshot};
pub(crate) use connection::{Reader, Transaction, WriteConnection};
use lock::FileLock;

/// Marks the file as ours in its header: "PLLM".
const APPLICATION_ID: i64 = 0x504c_4c4d;
/// All schema migrations in order. The file's `user_version` counts those applied.
const MIGRATIONS: &[&str] = &[
    include_str!("../../migrations/sqlite/0001_runs.sql"),
    include_str!("../../migrations/sqlite/0002_ledger.sql"),
    include_str!("../../migrations/sqlite/0003_tokens.sql"),
    include_str!("../../migrations/sqlite/0004_checksums.sql"),
    include_str!("../../migrations/sqlite/0005_packed.sql"),
];
/// Older versions can corrupt the database when the write-ahead log is reset during a read (fixed in 3.51.3).
const VERSION_MIN: [u32; 3] = [3, 51, 3];
/// How long a reader waits for a lock, which is rare with write-ahead logging.
const READ_WAIT: Duration = Duration::from_secs(10);
/// Longest wait of a write: SQLite stores it as milliseconds in 31 bits.
const WRITE_WAIT_MAX: Duration = Duration::from_secs(3_600);
/// Reading connections. Each is a thread, and a read takes well under a millisecond.
const READERS_MAX: u32 = 4;
/// Pages in the write-ahead log at which SQLite checkpoints within a commit. Eight times its default, since the writer
/// checkpoints earlier, when no one waits.
const WAL_PAGES_MAX: &str = "8000";
/// Most rows per statement. A panel of twenty begins with fewer; every number of rows is a separate statement to
/// prepare, and the cache of statements is bounded.
const ROWS_MAX: usize = 32;

/// Several statements for one round trip, each ended by a semicolon.
type Batch = QueryBuilder<sqlx::Sqlite>;

/// The database, for reading.
#[derive(Clone, Debug)]
pub(crate) struct Database {
    /// The reading connections, opened on first use.
    readers: SqlitePool,
    /// The absolute path of the file.
    path: PathBuf,
}

/// An opened database.
#[derive(Debug)]
pub(crate) struct Opened {
    pub(crate) database: Database,
    pub(crate) connection: WriteConnection,
}

impl Database {
    /// Opens the database at this path; creates it if it is missing. `wait` is how long opening waits for other
    /// processes.
    pub(crate) async fn open(path: &Path, wait: Duration) -> Result<Opened, Failure> {
        let path = std::path::absolute(path).map_err(|cause| error::file(path, &cause))?;
        file::make_folder_of(&path).map_err(|cause| error::file(&path, &cause))?;
        let lock = FileLock::wait_to_open(&file::beside(&path, ".lock")).await?;
        file::make_private(&path).map_err(|cause| error::file(&path, &cause))?;
        let wait = wait.min(WRITE_WAIT_MAX);
        let options = writing(options(&path), wait);
        let connection = prepare(&options, &path).await?;
        drop(lock);
        let connection = WriteConnection::new(options, connection, wait);
        Ok(Opened { database: Self { readers: readers(&path), path }, connection })
    }

    /// The absolute path of the file.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// A connection for independent reads.
    pub(crate) async fn connection(&self) -> Result<ReadConnection, DatabaseError> {
        Ok(ReadConnection(self.readers.acquire().await?))
    }

    /// A consistent view of the current state.
    pub(crate) async fn snapshot(&self) -> Result<Snapshot, DatabaseError> {
        Ok(Snapshot(self.readers.begin().await?))
    }

    /// Takes the right to purge. Fails with `busy` if another process has it.
    pub(crate) fn lock_purge(&self) -> Result<FileLock, Failure> {
        FileLock::purge(&file::beside(&self.path, ".purge.lock"))
    }

    /// Closes the reading connections. Must happen before the writer's: only the last connection, if it may write,
    /// removes the write-ahead log.
    pub(crate) async fn close(&self) {
        self.readers.close().await;
    }
}

/// The failure of opening this file.
fn unopened(path: &Path) -> impl Fn(sqlx::Error) -> Failure + use<> {
    let subject = format!("cannot open the run database `{}`", path.display());
    move |cause| DatabaseError::from(cause).failure(&subject)
}

async fn prepare(options: &SqliteConnectOptions, path: &Path) -> Result<SqliteConnection, Failure> {
    let mut connection = options.connect().await.map_err(unopened(path))?;
    let header = Header::read(&mut connection).await.map_err(unopened(path))?;
    if let Err(refusal) = header.check(path) {
        // Closed before returning the refusal, so that the owner can use the file.
        drop(connection.close().await);
        return Err(refusal);
    }
    if header.is_new {
        // Lets the file free pages later. SQLite requires this setting before the first table.
        let sql = "PRAGMA auto_vacuum = INCREMENTAL";
        sqlx::query(sql).persistent(false).execute(&mut connection).await.map_err(unopened(path))?;
    }
    if header.user_version < MIGRATIONS.len() {
        migrate(&mut connection, header.user_version).await.map_err(unopened(path))?;
    }
    enable_wal(&mut connection, path).await?;
    Ok(connection)
}

fn options(path: &Path) -> SqliteConnectOptions {
    SqliteConnectOptions::new().filename(path).disable_statement_logging()
}

fn writing(options: SqliteConnectOptions, wait: Duration) -> SqliteConnectOptions {
    options
        .busy_timeout(wait)
        .synchronous(SqliteSynchronous::Full)
        .foreign_keys(true)
        // Overwrites deleted data, so that a purge leaves nothing of earlier contents either.
        .pragma("secure_delete", "ON")
        .pragma("wal_autocheckpoint", WAL_PAGES_MAX)
}

/// Opens connections on first use and keeps them.
fn readers(path: &Path) -> SqlitePool {
    SqlitePoolOptions::new()
        .max_connections(READERS_MAX)
        .acquire_timeout(READ_WAIT)
        .idle_timeout(None)
        .max_lifetime(None)
        .test_before_acquire(false)
        .connect_lazy_with(options(path).read_only(true).busy_timeout(READ_WAIT))
}

/// The header of the file.
struct Header {
    application_id: i64,
    user_version: usize,
    /// Whether the file is empty, or its creation ended with the first page.
    is_new: bool,
    sqlite_version: String,
}

impl Header {
    async fn read(connection: &mut SqliteConnection) -> Result<Self, sqlx::Error> {
        let sql = "SELECT application_id, user_version, \
                   application_id = 0 AND user_version = 0 AND NOT EXISTS (SELECT 1 FROM sqlite_schema), \
                   sqlite_version() FROM pragma_application_id, pragma_user_version";
        let row = sqlx::query(sql).persistent(false).fetch_one(connection).await?;
        Ok(Self {
            application_id: row.try_get(0)?,
            user_version: usize::try_from(row.try_get::<i64, _>(1)?).unwrap_or(usize::MAX),
            is_new: row.try_get(2)?,
            sqlite_version: row.try_get(3)?,
        })
    }

    /// Fails if the file is not ours, or is too new.
    fn check(&self, path: &Path) -> Result<(), Failure> {
        let path = path.display();
        if !is_sound(&self.sqlite_version) {
            let message =
                format!("this program was built with SQLite {}, which can damage data", self.sqlite_version);
            return Err(error::refused(message).with_next(Advice::UseNewerSqlite));
        }
        if !self.is_new && self.application_id != APPLICATION_ID {
            let message = format!("`{path}` is a database of another program, and was not changed");
            return Err(error::refused(message)
                .with_next([Next::Do(Advice::MoveDatabaseAway), Next::Do(Advice::SetDataFolder)]));
        }
        let (theirs, ours) = (self.user_version, MIGRATIONS.len());
        if theirs > ours {
            let message = format!(
                "a newer version of this program wrote `{path}`: its format is {theirs}, this one knows up to {ours}"
            );
            return Err(error::refused(message).with_next(Advice::UseNewerProgram));
        }
        Ok(())
    }
}

/// Whether this version of SQLite is safe.
fn is_sound(version: &str) -> bool {
    let numbers: Vec<u32> = version.split('.').map_while(|part| part.parse().ok()).collect();
    numbers.as_slice() >= VERSION_MIN.as_slice()
}

/// Applies missing migrations, each whole or not at all.
async fn migrate(connection: &mut SqliteConnection, from: usize) -> Result<(), sqlx::Error> {
    for (step, script) in MIGRATIONS.iter().enumerate().skip(from) {
        let mut transaction = connection.begin_with("BEGIN IMMEDIATE").await?;
        sqlx::raw_sql(*script).execute(&mut *transaction).await?;
        let mark = format!("PRAGMA application_id = {APPLICATION_ID}; PRAGMA user_version = {}", step + 1);
        sqlx::raw_sql(AssertSqlSafe(mark)).execute(&mut *transaction).await?;
        transaction.commit().await?;
    }
    Ok(())
}

/// Enables write-ahead logging, so that readers and the writer do not block each other. The setting is stored in the
/// file.
async fn enable_wal(connection: &mut SqliteConnection, path: &Path) -> Result<(), Failure> {
    let sql = "PRAGMA journal_mode = WAL";
    let mode: String =
        sqlx::query_scalar(sql).persistent(false).fetch_one(connection).await.map_err(unopened(path))?;
    if mode == "wal" {
        return Ok(());
    }
    let message =
        format!("the disk of `{}` does not allow write-ahead logging (it gives `{mode}`)", path.display());
    Err(Failure::new(Code::Storage, message)
        .with_next([Next::Do(Advice::UseLocalDisk), Next::Do(Advice::SetDataFolder)])
        .with_retryable(false))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_compared_as_numbers() {
        let sound =
            ["3.51.3", "3.51.10", "3.53.0", "4.0.0", "3.51.2", "3.46.0", "3.9.9", "", "3.51"].map(is_sound);
        assert_eq!(sound, [true, true, true, true, false, false, false, false, false]);
    }
}
