//! Converts between SQLite's values and ours.

use std::borrow::Cow;

use rusqlite::Row;
use rusqlite::types::{ToSql, ToSqlOutput, ValueRef};

use crate::database::sql::parts::session::Columns;
use crate::database::sql::parts::value::Value;
use crate::system::error::DatabaseResult;

impl Columns for Row<'_> {
    /// A text that is not UTF-8 is bytes.
    fn value(&self, column: usize) -> DatabaseResult<Value<'_>> {
        Ok(match self.get_ref(column)? {
            ValueRef::Null => Value::Null,
            ValueRef::Integer(number) => Value::Integer(number),
            ValueRef::Real(number) => Value::Real(number),
            ValueRef::Text(bytes) => match std::str::from_utf8(bytes) {
                Ok(text) => Value::Text(Cow::Borrowed(text)),
                Err(_) => Value::Bytes(Cow::Borrowed(bytes)),
            },
            ValueRef::Blob(bytes) => Value::Bytes(Cow::Borrowed(bytes)),
        })
    }
}

impl ToSql for Value<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match self {
            Self::Null => ValueRef::Null,
            Self::Integer(number) => ValueRef::Integer(*number),
            Self::Real(number) => ValueRef::Real(*number),
            Self::Text(text) => ValueRef::Text(text.as_bytes()),
            Self::Bytes(bytes) => ValueRef::Blob(bytes),
        }))
    }
}
