//! Compares the schema of a database with the one that the migrations make.
//!
//! What else is in a file runs with our statements: a trigger of a backup from elsewhere could remove runs whenever a
//! question begins.

use std::collections::BTreeMap;

use rusqlite::{Connection, Result};

use super::migrate_to;
use crate::system::error::DatabaseResult;
use crate::upkeep::inspection;

/// The kind and name of a part of a schema, in words, and the statement that made it.
type Schema = BTreeMap<String, String>;

/// How the schema differs from that of this format, in words; empty if it does not.
pub(super) fn differences(connection: &Connection, format: usize) -> DatabaseResult<Vec<String>> {
    let mut fresh = Connection::open_in_memory()?;
    migrate_to(&mut fresh, 0, format)?;
    let (ours, theirs) = (read(&fresh)?, read(connection)?);
    let foreign = theirs.iter().filter_map(|(part, made)| match ours.get(part) {
        None => Some(inspection::foreign_part(part)),
        Some(our) if our != made => Some(format!("the {part} is not as this program makes it")),
        Some(_) => None,
    });
    let missing = ours.keys().filter(|part| !theirs.contains_key(*part));
    Ok(foreign.chain(missing.map(|part| format!("the {part} is missing"))).collect())
}

fn read(connection: &Connection) -> Result<Schema> {
    // SQLite makes tables of statistics if somebody asks for them. The statements of the tables inside the index of words
    // are its own and depend on its version.
    let sql = "SELECT type || ' `' || name || IIF(name = tbl_name, '`', '` on `' || tbl_name || '`'), IIF(type = 'table' AND name GLOB 'words_*', '', IFNULL(sql, '')) FROM sqlite_schema \
               WHERE type <> 'table' OR name NOT GLOB 'sqlite_stat[0-9]'";
    let mut statement = connection.prepare(sql)?;
    let parts = statement.query_map((), |row| Ok((row.get(0)?, row.get(1)?)))?;
    parts.collect()
}

#[cfg(test)]
mod tests {
    use super::super::MIGRATIONS;
    use super::*;

    #[test]
    fn whatever_the_migrations_do_not_make_is_named() {
        let newest = MIGRATIONS.len();
        for (change, expected) in [
            ("SELECT 1", vec![]),
            ("ANALYZE", vec![]),
            (
                "CREATE TRIGGER later AFTER INSERT ON runs BEGIN DELETE FROM texts; END",
                vec!["it has the trigger `later` on `runs`, which this program does not make"],
            ),
            ("CREATE VIEW v AS SELECT 1", vec!["it has the view `v`, which this program does not make"]),
            ("CREATE TABLE t (a)", vec!["it has the table `t`, which this program does not make"]),
            (
                "CREATE UNIQUE INDEX i ON runs (strategy)",
                vec!["it has the index `i` on `runs`, which this program does not make"],
            ),
            (
                "ALTER TABLE events ADD COLUMN more TEXT",
                vec!["the table `events` is not as this program makes it"],
            ),
            ("DROP INDEX runs_by_status", vec!["the index `runs_by_status` on `runs` is missing"]),
        ] {
            let mut connection = Connection::open_in_memory().unwrap();
            migrate_to(&mut connection, 0, newest).unwrap();
            connection.execute_batch(change).unwrap();
            assert_eq!(differences(&connection, newest).unwrap(), expected, "{change}");
        }
    }

    #[test]
    fn a_database_of_every_older_format_is_ours() {
        for format in 1..=MIGRATIONS.len() {
            let mut connection = Connection::open_in_memory().unwrap();
            migrate_to(&mut connection, 0, format).unwrap();
            assert_eq!(differences(&connection, format).unwrap(), [""; 0]);
        }
    }
}
