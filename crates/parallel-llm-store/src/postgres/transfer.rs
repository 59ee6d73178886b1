//! Statements for copying a history: all rows of a table, out and in.

use parallel_llm_engine::Failure;
use tokio_postgres::types::ToSql;

use super::connection::{Reader, Transaction};
use super::row::{get, ownership, ownership_columns};
use crate::error::DatabaseError;
use crate::row::ownership::{LeaseRule, Ownership};
use crate::row::table::{Kind, TABLES, Table, Value};

/// Rows fetched at once. Some hold texts of megabytes.
const FETCHED: usize = 100;

impl Reader<'_> {
    /// Passes on every row of a table, in the order of its key.
    pub(crate) fn table_rows(
        &self,
        table: &Table,
        take: &mut dyn FnMut(Vec<Value>) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let (name, columns, key) = (table.name, table.column_list(), table.key);
        let declare =
            format!("DECLARE copy_{name} NO SCROLL CURSOR FOR SELECT {columns} FROM {name} ORDER BY {key}");
        self.session.command(&declare)?;
        loop {
            let read = |row: &tokio_postgres::Row| {
                table.columns.iter().enumerate().map(|(at, (_, kind))| value(row, at, *kind)).collect()
            };
            let rows: Vec<Vec<Value>> =
                self.session.rows_once(&format!("FETCH {FETCHED} FROM copy_{name}"), read)?;
            if rows.is_empty() {
                break;
            }
            rows.into_iter().try_for_each(&mut *take)?;
        }
        self.session.command(&format!("CLOSE copy_{name}"))?;
        Ok(())
    }

    /// The owners of all that is not closed: runs, and claims of jobs.
    pub(crate) fn open_ownerships(&self) -> Result<Vec<Ownership>, DatabaseError> {
        let runs = concat!("SELECT ", ownership_columns!(), " FROM runs WHERE closed_at_ms IS NULL");
        let mut open = self.session.rows(runs, &[], |row| ownership(row, 0))?;
        let claims = "SELECT owner, lease_until_ms FROM batch_jobs WHERE state = 'running'";
        open.extend(self.session.rows(claims, &[], |row| {
            let (owner, lease_until_ms) = (get(row, 0)?, get(row, 1)?);
            Ok(Ownership { owner, lease_until_ms, is_closed: false, rule: LeaseRule::LeaseDecides })
        })?);
        Ok(open)
    }

    /// A table that has rows, if any has.
    pub(crate) fn first_filled_table(&self) -> Result<Option<&'static str>, DatabaseError> {
        for table in TABLES {
            if self.session.value(&format!("SELECT EXISTS (SELECT 1 FROM {})", table.name), &[])? {
                return Ok(Some(table.name));
            }
        }
        Ok(None)
    }
}

fn value(row: &tokio_postgres::Row, at: usize, kind: Kind) -> Result<Value, DatabaseError> {
    Ok(match kind {
        Kind::Text => get::<Option<String>>(row, at)?.map_or(Value::Null, Value::Text),
        Kind::Integer => get::<Option<i64>>(row, at)?.map_or(Value::Null, Value::Integer),
        Kind::Real => get::<Option<f64>>(row, at)?.map_or(Value::Null, Value::Real),
        Kind::Flag => get::<Option<bool>>(row, at)?.map_or(Value::Null, |flag| Value::Integer(flag.into())),
        Kind::Foreign | Kind::Body | Kind::Bytes => {
            get::<Option<Vec<u8>>>(row, at)?.map_or(Value::Null, Value::Bytes)
        }
    })
}

impl Transaction {
    /// Inserts rows of a table.
    pub(crate) fn insert_rows(&mut self, table: &Table, rows: &[Vec<Value>]) -> Result<(), DatabaseError> {
        let marks: Vec<String> = (1..=table.columns.len()).map(|number| format!("${number}")).collect();
        let sql = format!(
            "INSERT INTO {} ({}) OVERRIDING SYSTEM VALUE VALUES ({})",
            table.name,
            table.column_list(),
            marks.join(", ")
        );
        let bound: Vec<Vec<Box<dyn ToSql + Sync>>> = rows
            .iter()
            .map(|row| row.iter().zip(table.columns).map(|(value, (_, kind))| bind(value, *kind)).collect())
            .collect();
        let parameters: Vec<Vec<&(dyn ToSql + Sync)>> =
            bound.iter().map(|row| row.iter().map(|value| &**value).collect()).collect();
        self.session.execute_each(&sql, &parameters.iter().map(Vec::as_slice).collect::<Vec<_>>())
    }

    /// Ends a copy: marks what is to be indexed, and lets further ids follow those that were copied.
    pub(crate) fn finish_copy(&mut self) -> Result<(), DatabaseError> {
        self.execute("UPDATE runs SET is_indexed = (store_mode <> 'full')", &[])?;
        for (table, id) in [("texts", "text_id"), ("tokens", "token_id")] {
            let sql = format!(
                "SELECT setval(pg_get_serial_sequence('{table}', '{id}'), GREATEST((SELECT MAX({id}) FROM {table}), 0) + 1, FALSE)"
            );
            self.session.command(&sql)?;
        }
        Ok(())
    }
}

/// A value as its column keeps it. A null has the type of its column.
fn bind(value: &Value, kind: Kind) -> Box<dyn ToSql + Sync> {
    match (value, kind) {
        (Value::Null, Kind::Text) => Box::new(None::<String>),
        (Value::Null, Kind::Integer) => Box::new(None::<i64>),
        (Value::Null, Kind::Real) => Box::new(None::<f64>),
        (Value::Null, Kind::Flag) => Box::new(None::<bool>),
        (Value::Null, Kind::Foreign | Kind::Body | Kind::Bytes) => Box::new(None::<Vec<u8>>),
        (Value::Integer(number), Kind::Flag) => Box::new(*number != 0),
        (Value::Integer(number), _) => Box::new(*number),
        (Value::Real(number), _) => Box::new(*number),
        (Value::Text(text), _) => Box::new(text.clone()),
        (Value::Bytes(bytes), _) => Box::new(bytes.clone()),
    }
}
