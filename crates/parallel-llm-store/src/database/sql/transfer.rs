//! Statements for copying a history: all rows of a table, out and in.

use std::borrow::Cow;

use parallel_llm_engine::Failure;

use super::parts::columns::{ownership, ownership_columns};
use super::parts::session::{Reader, Session};
use super::parts::table::{Kind, TABLES, Table};
use super::parts::value::Value;
use crate::row::compressed::is_compressed;
use crate::row::ownership::Ownership;
use crate::system::error::DatabaseResult as Result;

impl Reader<'_> {
    /// Passes on every row of a table, in the order of its key.
    pub(crate) fn table_rows(
        &self,
        table: &Table,
        take: &mut dyn FnMut(Vec<Value<'static>>) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let sql = format!("SELECT {} FROM {} ORDER BY {}", table.column_list(), table.name, table.key);
        let mut refused = None;
        self.session.scan(&sql, &[], &mut |row| {
            let columns = table.columns.iter().enumerate();
            let values = columns.map(|(at, (_, kind))| Ok(kind.plain(row.value(at)?)));
            refused = take(values.collect::<Result<_>>()?).err();
            Ok(refused.is_none())
        })?;
        refused.map_or(Ok(()), Err)
    }

    /// The owners of all that is not closed: runs, and claims of jobs.
    pub(crate) fn open_ownerships(&self) -> Result<Vec<Ownership>> {
        let runs = concat!("SELECT ", ownership_columns!(), " FROM runs WHERE closed_at_ms IS NULL");
        let mut open = self.session.rows(runs, &[], |row| ownership(row, 0))?;
        let claims = "SELECT owner, lease_until_ms, FALSE FROM batch_jobs WHERE state = 'running'";
        open.extend(self.session.rows(claims, &[], |row| ownership(row, 0))?);
        Ok(open)
    }

    /// A table that has rows, if any has.
    pub(crate) fn first_filled_table(&self) -> Result<Option<&'static str>> {
        for table in TABLES {
            if self.session.value(&format!("SELECT EXISTS (SELECT 1 FROM {})", table.name), &[])? {
                return Ok(Some(table.name));
            }
        }
        Ok(None)
    }
}

impl dyn Session + '_ {
    /// Inserts rows of a table.
    pub(crate) fn insert_rows(&self, table: &Table, rows: &[Vec<Value<'_>>]) -> Result<()> {
        let marks: Vec<String> = (1..=table.columns.len()).map(|number| format!("${number}")).collect();
        let sql = format!(
            "INSERT INTO {} ({}){} VALUES ({})",
            table.name,
            table.column_list(),
            self.dialect().with_ids,
            marks.join(", ")
        );
        let stored = rows.iter().map(|row| {
            let columns = row.iter().zip(table.columns);
            columns.map(|(value, (_, kind))| kind.stored(value)).collect::<Vec<_>>()
        });
        self.execute_each(&sql, stored)
    }
}

impl Kind {
    /// The value of a column as every database has it.
    fn plain(self, value: Value<'_>) -> Value<'static> {
        match (self, value.into_owned()) {
            (Self::Foreign | Self::Body | Self::Bytes, Value::Text(text)) => {
                Value::Bytes(Cow::Owned(text.into_owned().into_bytes()))
            }
            (_, value) => value,
        }
    }

    /// The value as it is stored: what is a text, and not bytes, is stored as a text where the column can hold either.
    fn stored<'v>(self, value: &'v Value<'_>) -> Value<'v> {
        match (self, value) {
            (Self::Foreign, Value::Bytes(bytes)) => Value::Text(String::from_utf8_lossy(bytes)),
            (Self::Body, Value::Bytes(bytes)) if !is_compressed(bytes) => {
                Value::Text(String::from_utf8_lossy(bytes))
            }
            (_, Value::Bytes(bytes)) => Value::Bytes(Cow::Borrowed(bytes)),
            (_, Value::Text(text)) => Value::Text(Cow::Borrowed(text)),
            (_, value) => value.clone().into_owned(),
        }
    }
}
