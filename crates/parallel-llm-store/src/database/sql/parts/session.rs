//! What statements are executed on: a connection, a view or a transaction of whatever database there is.

use super::dialect::Dialect;
use super::value::{Column, Value, damaged};
use crate::system::error::DatabaseResult as Result;

/// Executes statements. Their parameters are `$1`, `$2` and so on, and first appear in this order.
pub(crate) trait Session {
    /// The words of the database.
    fn dialect(&self) -> &'static Dialect;

    /// Passes on the rows of a query, until no more are wanted. All of them may be in memory.
    fn each(&self, sql: &str, values: &[Value<'_>], take: Take<'_>) -> Result<()>;

    /// The same, with only some of the rows in memory at a time.
    fn scan(&self, sql: &str, values: &[Value<'_>], take: Take<'_>) -> Result<()>;

    /// Executes a statement, and returns how many rows it changed.
    fn execute(&self, sql: &str, values: &[Value<'_>]) -> Result<u64>;

    /// Executes a statement for each of these, without waiting for the answer to one before the next is sent.
    fn execute_all(&self, sql: &str, all: &[&[Value<'_>]]) -> Result<()>;
}

/// Takes a row, and returns whether it wants another.
pub(crate) type Take<'t> = &'t mut dyn FnMut(&Row<'_>) -> Result<bool>;

/// The columns of a row.
pub(crate) trait Columns {
    /// The value of a column.
    fn value(&self, column: usize) -> Result<Value<'_>>;
}

/// A row of a query.
pub(crate) struct Row<'r> {
    pub(crate) columns: &'r dyn Columns,
    /// The words of its database.
    pub(crate) dialect: &'static Dialect,
}

impl Row<'_> {
    /// The value of a column.
    pub(crate) fn value(&self, column: usize) -> Result<Value<'_>> {
        self.columns.value(column)
    }

    /// Reads a column.
    pub(crate) fn get<'r, T: Column<'r>>(&'r self, column: usize) -> Result<T> {
        T::read(self.columns.value(column)?)
    }
}

impl dyn Session + '_ {
    /// All rows of a query.
    pub(crate) fn rows<T>(
        &self,
        sql: &str,
        values: &[Value<'_>],
        mut read: impl FnMut(&Row<'_>) -> Result<T>,
    ) -> Result<Vec<T>> {
        let mut rows = Vec::new();
        self.each(sql, values, &mut |row| {
            rows.push(read(row)?);
            Ok(true)
        })?;
        Ok(rows)
    }

    /// The first row of a query; `None` without rows.
    pub(crate) fn first<T>(
        &self,
        sql: &str,
        values: &[Value<'_>],
        mut read: impl FnMut(&Row<'_>) -> Result<T>,
    ) -> Result<Option<T>> {
        let mut first = None;
        self.each(sql, values, &mut |row| {
            first = Some(read(row)?);
            Ok(false)
        })?;
        Ok(first)
    }

    /// The first column of a query's only row.
    pub(crate) fn value<T: for<'r> Column<'r>>(&self, sql: &str, values: &[Value<'_>]) -> Result<T> {
        let value = self.first(sql, values, |row| row.get(0))?;
        value.ok_or_else(|| damaged("a row is missing"))
    }

    /// Executes a statement for each of these rows of values.
    pub(crate) fn execute_each<'v, V: AsRef<[Value<'v>]>>(
        &self,
        sql: &str,
        rows: impl Iterator<Item = V>,
    ) -> Result<()> {
        let rows: Vec<V> = rows.collect();
        if rows.is_empty() {
            return Ok(());
        }
        self.execute_all(sql, &rows.iter().map(AsRef::as_ref).collect::<Vec<_>>())
    }
}

/// Reads within a consistent view or a transaction.
pub(crate) struct Reader<'c> {
    pub(crate) session: &'c dyn Session,
    /// The time of the database's clock, in milliseconds since 1970, when the view or the transaction began.
    pub(crate) now_ms: i64,
}

impl std::fmt::Debug for Reader<'_> {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("Reader")
    }
}
