//! Copies the runs of a store, row by row, so that a store of a million runs is made in minutes.
//!
//! A copy begins in the same millisecond as its original, so the days keep their shares. It has no checksums, like a row of an
//! older version, because these cover the id. Everything else is what the store itself writes, the index of words included.

use std::path::Path;

use rusqlite::{Connection, Result};

use crate::failure::{Failure, Outcome};

/// The tables with a row or more for each run.
const TABLES: [&str; 6] = ["runs", "events", "texts", "calls", "seats", "counted_runs"];
/// Settings for one process that may lose everything.
const FAST: &str = "PRAGMA synchronous = OFF; PRAGMA cache_size = -1000000; PRAGMA temp_store = MEMORY;";
/// The most copies: their number has two digits in an id.
const COPIES_MAX: u32 = 100;

/// Makes so many runs of each run of this store, which nobody else uses.
pub fn copy(path: &Path, copies: u32) -> Outcome<()> {
    if copies > COPIES_MAX {
        return Err(Failure::new(format!("there can be at most {COPIES_MAX} runs of each")));
    }
    if copies <= 1 {
        return Ok(());
    }
    copy_rows(path, copies).map_err(|cause| Failure::new(format!("the runs cannot be copied: {cause}")))
}

fn copy_rows(path: &Path, copies: u32) -> Result<()> {
    let original = path.with_extension("original");
    let connection = Connection::open(path)?;
    let name = original.to_string_lossy();
    connection.execute("VACUUM INTO ?", [&name])?;
    connection.execute("ATTACH ? AS original", [&name])?;
    connection.execute_batch(FAST)?;
    // The words of each text, from the index itself.
    connection.execute_batch(
        "CREATE VIRTUAL TABLE temp.entries USING fts5vocab (original, words, instance);
         CREATE TEMP TABLE lines AS SELECT doc, GROUP_CONCAT(term, ' ') AS line FROM temp.entries GROUP BY doc",
    )?;
    for copy in 1..copies {
        connection.execute_batch("BEGIN")?;
        for table in TABLES {
            connection.execute(&statement(&connection, table)?, [copy])?;
        }
        let sql = "INSERT INTO main.words (rowid, body) \
                   SELECT doc + ? * (SELECT MAX(text_id) FROM original.texts), line FROM lines ORDER BY doc";
        connection.execute(sql, [copy])?;
        connection.execute_batch("COMMIT")?;
    }
    connection.execute("UPDATE main.run_counts SET runs = runs * ?", [copies])?;
    connection.execute_batch("DETACH original; PRAGMA wal_checkpoint (TRUNCATE)")?;
    let _ = std::fs::remove_file(&original);
    Ok(())
}

/// The statement that makes copy `?1` of all rows of a table.
fn statement(connection: &Connection, table: &str) -> Result<String> {
    let mut columns = connection.prepare("SELECT name FROM pragma_table_info(?)")?;
    let columns = columns.query_map([table], |row| row.get(0))?.collect::<Result<Vec<String>>>()?;
    let values: Vec<String> = columns.iter().map(|column| value(column)).collect();
    let (columns, values) = (columns.join(", "), values.join(", "));
    Ok(format!("INSERT INTO main.{table} ({columns}) SELECT {values} FROM original.{table}"))
}

/// The value of a column in a copy.
fn value(column: &str) -> String {
    match column {
        // The first two random digits of an id are zero.
        "run_id" => "SUBSTR(run_id, 1, 10) || PRINTF('%02d', ?1) || SUBSTR(run_id, 13)".to_owned(),
        "text_id" | "indexed_to" => {
            format!("{column} + ?1 * (SELECT MAX(text_id) FROM original.texts)")
        }
        "plan_hash" => "plan_hash || ' ' || ?1".to_owned(),
        checksum if checksum.ends_with("checksum") => "NULL".to_owned(),
        other => other.to_owned(),
    }
}
