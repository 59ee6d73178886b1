//! Statements for copying a history: all rows of a table, out and in.

use parallel_llm_engine::Failure;
use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{ToSql, params_from_iter};

use super::connection::{Reader, Transaction};
use super::row::{ownership, ownership_columns};
use crate::error::DatabaseError;
use crate::row::compressed::is_compressed;
use crate::row::ownership::{LeaseRule, Ownership};
use crate::row::table::{Kind, TABLES, Table, Value};

impl Reader<'_> {
    /// Passes on every row of a table, in the order of its key.
    pub(crate) fn table_rows(
        &self,
        table: &Table,
        take: &mut dyn FnMut(Vec<Value>) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        // Older versions kept the plan of a run in its row.
        let source = match table.name {
            "texts" => {
                "(SELECT text_id, run_id, hash, body FROM texts \
                 UNION ALL SELECT -rowid, run_id, '', plan FROM runs WHERE plan <> '')"
            }
            name => name,
        };
        let sql = format!("SELECT {} FROM {source} ORDER BY {}", table.column_list(), table.key);
        let mut statement = self.connection.prepare(&sql).map_err(DatabaseError::from)?;
        let mut rows = statement.query(()).map_err(DatabaseError::from)?;
        while let Some(row) = rows.next().map_err(DatabaseError::from)? {
            let value = |(at, (_, kind)): (usize, &(&str, Kind))| {
                Ok(match (row.get_ref(at)?, kind) {
                    (ValueRef::Null, _) => Value::Null,
                    (ValueRef::Integer(number), _) => Value::Integer(number),
                    (ValueRef::Real(number), _) => Value::Real(number),
                    (ValueRef::Text(bytes), Kind::Text) => {
                        Value::Text(std::str::from_utf8(bytes)?.to_owned())
                    }
                    (ValueRef::Text(bytes) | ValueRef::Blob(bytes), _) => Value::Bytes(bytes.to_vec()),
                })
            };
            let values: Result<Vec<Value>, rusqlite::Error> =
                table.columns.iter().enumerate().map(value).collect();
            take(values.map_err(DatabaseError::from)?)?;
        }
        Ok(())
    }

    /// The owners of all that is not closed: runs, and claims of jobs.
    pub(crate) fn open_ownerships(&self) -> Result<Vec<Ownership>, DatabaseError> {
        let runs = concat!("SELECT ", ownership_columns!(), " FROM runs WHERE closed_at_ms IS NULL");
        let mut open = self.rows(runs, (), |row| ownership(row, 0))?;
        let claims = "SELECT owner, lease_until_ms FROM batch_jobs WHERE state = 'running'";
        open.extend(self.rows(claims, (), |row| {
            let (owner, lease_until_ms) = (row.get(0)?, row.get(1)?);
            Ok(Ownership { owner, lease_until_ms, is_closed: false, rule: LeaseRule::AliveOwnerKeeps })
        })?);
        Ok(open)
    }

    /// A table that has rows, if any has.
    pub(crate) fn first_filled_table(&self) -> Result<Option<&'static str>, DatabaseError> {
        for table in TABLES {
            if self.value(&format!("SELECT EXISTS (SELECT 1 FROM {})", table.name), ())? {
                return Ok(Some(table.name));
            }
        }
        Ok(None)
    }
}

impl Transaction {
    /// Inserts rows of a table.
    pub(crate) fn insert_rows(&mut self, table: &Table, rows: &[Vec<Value>]) -> Result<(), DatabaseError> {
        // What this database keeps elsewhere, and has to make anew.
        let (more_columns, more_values) = match table.name {
            "runs" => (", plan", ", ''"),
            _ => ("", ""),
        };
        let marks = vec!["?"; table.columns.len()].join(", ");
        let sql = format!(
            "INSERT INTO {} ({}{more_columns}) VALUES ({marks}{more_values})",
            table.name,
            table.column_list()
        );
        for row in rows {
            let values = row.iter().zip(table.columns).map(|(value, (_, kind))| Bound { value, kind: *kind });
            self.execute(&sql, params_from_iter(values))?;
        }
        Ok(())
    }

    /// Ends a copy: marks what is to be indexed.
    pub(crate) fn finish_copy(&mut self) -> Result<(), DatabaseError> {
        self.execute("UPDATE runs SET is_indexed = (store_mode <> 'full')", ()).map(drop)
    }
}

/// A value as its column keeps it.
struct Bound<'a> {
    value: &'a Value,
    kind: Kind,
}

impl ToSql for Bound<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        let value = match (self.value, self.kind) {
            (Value::Null, _) => ValueRef::Null,
            (Value::Integer(number), _) => ValueRef::Integer(*number),
            (Value::Real(number), _) => ValueRef::Real(*number),
            (Value::Text(text), _) => ValueRef::Text(text.as_bytes()),
            (Value::Bytes(bytes), Kind::Foreign) => ValueRef::Text(bytes),
            (Value::Bytes(bytes), Kind::Body) if !is_compressed(bytes) => ValueRef::Text(bytes),
            (Value::Bytes(bytes), _) => ValueRef::Blob(bytes),
        };
        Ok(ToSqlOutput::Borrowed(value))
    }
}
