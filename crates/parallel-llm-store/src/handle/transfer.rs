//! Copies a history from a file to a server, or back, and verifies the copy.
//!
//! All rows are read in one consistent view and written in one transaction, so the copy is whole or nothing. Invariants:
//! the copy begins empty; every row is read again from it and is what it was; what a database makes for itself (the index
//! of words, the counts of the list) is not copied but made anew.

use parallel_llm_engine::value::next::{Advice, Next};
use parallel_llm_engine::{Code, Failure};

use super::store::{Store, StoreConfig, WAIT};
use crate::database::sql::parts::table::{Digest, TABLES, Table};
use crate::database::sql::parts::value::Value;
use crate::database::{Database, Location, Opened, Reader, WriteConnection};
use crate::row::Purpose;
use crate::system::error;

/// The most rows, and the bytes after which no further one is added, of a single write.
const ROWS_MAX: usize = 200;
const BYTES_MAX: usize = 4 << 20;

/// A copy of a history.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Copied {
    /// The runs.
    pub runs: u64,
    /// The rows of all tables.
    pub rows: u64,
}

/// The rows of a table: how many, and what they are.
type Extent = (&'static Table, u64, Digest);

/// Copies the history of a database to another one, which must be empty and is made if it is missing. Fails with `busy` while
/// runs or batches are in progress, and with `storage` if the copy is not empty, or not what was copied.
pub async fn copy_history(from: StoreConfig, to: &Location) -> Result<Copied, Failure> {
    // What waits in files beside the database is taken in as it is opened.
    let store = Store::open(from).await?;
    let copied = store.copy_to(to).await;
    store.close().await;
    copied
}

impl Store {
    async fn copy_to(&self, to: &Location) -> Result<Copied, Failure> {
        if !self.spills().waiting.is_empty() {
            let message =
                "files with answers wait to be taken into the run database, and would not be copied";
            return Err(Failure::new(Code::Busy, message).with_next([Next::See("store check".into())]));
        }
        let Opened { database, mut connection } = Database::open(to, WAIT).await?;
        let copying = move |reader: &Reader<'_>| Ok((copy(reader, &mut connection)?, connection));
        // It stays open while the copy is read: the last connection to a file removes its log as it closes.
        let (copied, connection) = self.shared.database.read(copying).await?;
        let found = database.read(|reader| TABLES.iter().map(|table| extent(reader, table)).collect()).await;
        database.close().await;
        drop(connection);
        let found: Vec<Extent> = found?;
        for (expected, found) in copied.iter().zip(&found) {
            if (expected.1, &expected.2) != (found.1, &found.2) {
                let name = expected.0.name;
                let message =
                    format!("the copy differs from the original in the table `{name}`: do not use it");
                return Err(error::refused(message).with_next(Advice::CheckDisk));
            }
        }
        let runs = copied.iter().find(|(table, ..)| table.name == "runs").map_or(0, |(_, rows, _)| *rows);
        Ok(Copied { runs, rows: copied.iter().map(|(_, rows, _)| rows).sum() })
    }
}

/// Copies what this view shows, in one transaction.
fn copy(reader: &Reader<'_>, connection: &mut WriteConnection) -> Result<Vec<Extent>, Failure> {
    let now_ms = reader.now_ms;
    let owners = reader.open_ownerships()?;
    let in_progress = owners.iter().filter(|owner| !owner.is_interrupted(now_ms)).count();
    if in_progress > 0 {
        let message = format!("{in_progress} runs or questions of batches are in progress");
        return Err(Failure::new(Code::Busy, message).with_next(Advice::WaitForItsEnd));
    }
    let mut transaction = connection.begin(Purpose::Write, WAIT)?;
    if let Some(table) = transaction.reader().first_filled_table()? {
        let message = format!("the database to copy to is not empty: its table `{table}` has rows");
        return Err(error::refused(message).with_next(Advice::NameEmptyDatabase));
    }
    let mut extents = Vec::new();
    for table in TABLES {
        let (mut count, mut digest) = (0, Digest::default());
        let (mut rows, mut bytes) = (Vec::new(), 0);
        reader.table_rows(table, &mut |row| {
            count += 1;
            digest.add(&row);
            bytes += row.iter().map(Value::len).sum::<usize>();
            rows.push(row);
            if rows.len() >= ROWS_MAX || bytes >= BYTES_MAX {
                bytes = 0;
                transaction.insert_rows(table, &std::mem::take(&mut rows))?;
            }
            Ok(())
        })?;
        transaction.insert_rows(table, &rows)?;
        extents.push((table, count, digest));
    }
    transaction.finish_copy()?;
    connection.commit(transaction)?;
    Ok(extents)
}

/// The rows of a table as they can be read.
fn extent(reader: &Reader<'_>, table: &'static Table) -> Result<Extent, Failure> {
    let (mut count, mut digest) = (0, Digest::default());
    reader.table_rows(table, &mut |row| {
        count += 1;
        digest.add(&row);
        Ok(())
    })?;
    Ok((table, count, digest))
}
