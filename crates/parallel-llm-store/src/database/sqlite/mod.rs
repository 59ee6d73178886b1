//! The SQLite database: opening, migrating, backup, and the index of words.
//!
//! One connection writes ([`WriteConnection`]), a few read ([`Readers`]). Invariant: a file that is not our database, or
//! that a newer version wrote, is refused and left unchanged.

pub(crate) mod backup;
mod connection;
mod copy;
mod dialect;
mod inspect;
mod lock;
mod log_files;
#[cfg(test)]
mod plans;
mod purge;
mod readers;
mod result_code;
mod schema;
mod search;
mod value;
mod write_connection;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use parallel_llm_engine::value::next::{Advice, Next};
use parallel_llm_engine::{Code, Failure};
use rusqlite::{Connection, TransactionBehavior};

use super::blocking::blocking;
use super::reply::{Read, Reply};
use crate::system::error::{self, DatabaseError, DatabaseResult};
use crate::system::file;

pub(crate) use connection::Transaction;
use connection::open_for_writing;
use connection::reader;
pub(crate) use lock::FileLock;
use readers::Readers;
pub(crate) use write_connection::WriteConnection;

/// Marks the file as ours in its header: "PLLM".
const APPLICATION_ID: i64 = 0x504c_4c4d;
/// All schema migrations in order. The file's `user_version` counts those applied.
const MIGRATIONS: &[&str] = &[
    include_str!("../../../migrations/sqlite/0001_runs.sql"),
    include_str!("../../../migrations/sqlite/0002_ledger.sql"),
    include_str!("../../../migrations/sqlite/0003_tokens.sql"),
    include_str!("../../../migrations/sqlite/0004_checksums.sql"),
    include_str!("../../../migrations/sqlite/0005_packed.sql"),
    include_str!("../../../migrations/sqlite/0006_figures.sql"),
    include_str!("../../../migrations/sqlite/0007_list.sql"),
    include_str!("../../../migrations/sqlite/0008_batches.sql"),
    include_str!("../../../migrations/sqlite/0009_cancel.sql"),
    include_str!("../../../migrations/sqlite/0010_sessions.sql"),
    include_str!("../../../migrations/sqlite/0011_wording.sql"),
    include_str!("../../../migrations/sqlite/0012_unknown_costs.sql"),
    include_str!("../../../migrations/sqlite/0013_unbounded_costs.sql"),
];
/// The migration that gives tokens a checksum. Since then, one without is none that this program made.
const TOKENS_SEALED: usize = 3;
/// Older versions can corrupt the database when the write-ahead log is reset during a read (fixed in 3.51.3).
const VERSION_MIN: [u32; 3] = [3, 51, 3];
/// Longest wait of a write: SQLite stores it as milliseconds in 31 bits.
const WRITE_WAIT_MAX: Duration = Duration::from_secs(3_600);

/// The database, for reading.
#[derive(Clone, Debug)]
pub(crate) struct Database {
    readers: Arc<Readers>,
    /// The absolute path of the file.
    path: PathBuf,
}

impl Database {
    /// Opens the database at this path; creates it if it is missing. `wait` is how long opening waits for other
    /// processes.
    pub(crate) async fn open(path: &Path, wait: Duration) -> Result<(Self, WriteConnection), Failure> {
        let path = std::path::absolute(path).map_err(|cause| error::file(path, &cause))?;
        file::make_folder_of(&path).map_err(|cause| error::file(&path, &cause))?;
        let lock = FileLock::wait_to_open(&file::beside(&path, ".lock")).await?;
        file::make_private(&path).map_err(|cause| error::file(&path, &cause))?;
        let database = Self { readers: Arc::new(Readers::of(path.clone())), path: path.clone() };
        blocking(move || {
            // Held until the file is ready, even if the caller has left.
            let _lock = lock;
            let connection = prepare(&path, wait.min(WRITE_WAIT_MAX))?;
            let readers = Arc::clone(&database.readers);
            let writer = WriteConnection::new(path.clone(), connection, readers).map_err(unopened(&path))?;
            Ok((database, writer))
        })
        .await
    }

    /// The absolute path of the file.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Reads one consistent view of the database on a thread that may wait.
    pub(crate) async fn read(&self, read: Read) -> Result<Reply, Failure> {
        self.readers.read(read).await
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
fn unopened<E: Into<DatabaseError>>(path: &Path) -> impl Fn(E) -> Failure + use<E> {
    let subject = format!("cannot open the run database `{}`", path.display());
    move |cause| cause.into().failure(&subject)
}

/// Opens the file for writing, and creates or migrates its tables if necessary.
fn prepare(path: &Path, wait: Duration) -> Result<Connection, Failure> {
    let mut connection = open_for_writing(path, wait).map_err(unopened(path))?;
    let header = Header::read(&connection).map_err(unopened(path))?;
    header.check(path)?;
    if header.is_new {
        // Lets the file free pages later. SQLite requires this setting before the first table.
        connection.execute_batch("PRAGMA auto_vacuum = INCREMENTAL").map_err(unopened(path))?;
    }
    migrate(&mut connection, header.user_version).map_err(unopened(path))?;
    enable_wal(&connection, path)?;
    Ok(connection)
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
    fn read(connection: &Connection) -> rusqlite::Result<Self> {
        let sql = "SELECT application_id, user_version, \
                   application_id = 0 AND user_version = 0 AND NOT EXISTS (SELECT 1 FROM sqlite_schema), \
                   sqlite_version() FROM pragma_application_id, pragma_user_version";
        connection.query_row(sql, (), |row| {
            Ok(Self {
                application_id: row.get(0)?,
                user_version: usize::try_from(row.get::<_, i64>(1)?).unwrap_or(usize::MAX),
                is_new: row.get(2)?,
                sqlite_version: row.get(3)?,
            })
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

/// Applies the migrations after this one, each whole or not at all.
fn migrate(connection: &mut Connection, from: usize) -> DatabaseResult<()> {
    migrate_to(connection, from, MIGRATIONS.len())
}

/// Applies the migrations after `from`, up to this format.
fn migrate_to(connection: &mut Connection, from: usize, format: usize) -> DatabaseResult<()> {
    for (step, script) in MIGRATIONS.iter().enumerate().take(format).skip(from) {
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        transaction.execute_batch(script)?;
        if step == TOKENS_SEALED {
            seal_tokens(&transaction)?;
        }
        let mark = format!("PRAGMA application_id = {APPLICATION_ID}; PRAGMA user_version = {}", step + 1);
        transaction.execute_batch(&mark)?;
        transaction.commit()?;
    }
    Ok(())
}

/// Gives a checksum to the tokens of a version that had none.
fn seal_tokens(connection: &Connection) -> Result<(), DatabaseError> {
    for token in reader(connection).unsealed_tokens()? {
        let token = token.sealed();
        let sql = "UPDATE tokens SET checksum = ? WHERE token_id = ?";
        connection.execute(sql, (token.checksum, token.token.token_id))?;
    }
    Ok(())
}

/// Enables write-ahead logging, so that readers and the writer do not block each other. The setting is stored in the
/// file.
fn enable_wal(connection: &Connection, path: &Path) -> Result<(), Failure> {
    let set = connection.query_row("PRAGMA journal_mode = WAL", (), |row| row.get(0));
    let mode: String = set.map_err(unopened(path))?;
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
