//! Converts between the server's values and ours.

use std::borrow::Cow;
use std::error::Error;

use tokio_postgres::Row;
use tokio_postgres::types::private::BytesMut;
use tokio_postgres::types::{FromSql, IsNull, ToSql, Type, to_sql_checked};

use crate::database::sql::parts::session::Columns;
use crate::database::sql::parts::value::{Value, damaged};
use crate::system::error::DatabaseResult;

type Converted<T> = Result<T, Box<dyn Error + Sync + Send>>;

impl Columns for Row {
    fn value(&self, column: usize) -> DatabaseResult<Value<'_>> {
        let value: Option<Value<'_>> = self.try_get(column).map_err(damaged)?;
        Ok(value.unwrap_or(Value::Null))
    }
}

impl<'a> FromSql<'a> for Value<'a> {
    fn from_sql(kind: &Type, raw: &'a [u8]) -> Converted<Self> {
        Ok(match *kind {
            Type::INT8 => Self::Integer(i64::from_sql(kind, raw)?),
            Type::INT4 => Self::Integer(i32::from_sql(kind, raw)?.into()),
            Type::BOOL => Self::Integer(bool::from_sql(kind, raw)?.into()),
            Type::FLOAT8 => Self::Real(f64::from_sql(kind, raw)?),
            Type::BYTEA => Self::Bytes(Cow::Borrowed(raw)),
            _ => Self::Text(Cow::Borrowed(<&str>::from_sql(kind, raw)?)),
        })
    }

    fn accepts(kind: &Type) -> bool {
        [Type::INT8, Type::INT4, Type::BOOL, Type::FLOAT8, Type::BYTEA].contains(kind)
            || <&str as FromSql<'_>>::accepts(kind)
    }
}

impl ToSql for Value<'_> {
    fn to_sql(&self, kind: &Type, out: &mut BytesMut) -> Converted<IsNull> {
        match (self, kind) {
            (Self::Null, _) => return Ok(IsNull::Yes),
            (Self::Integer(number), &Type::INT8) => out.extend_from_slice(&number.to_be_bytes()),
            (Self::Integer(number), &Type::INT4) => {
                out.extend_from_slice(&i32::try_from(*number)?.to_be_bytes());
            }
            (Self::Integer(number), &Type::BOOL) => out.extend_from_slice(&[(*number != 0).into()]),
            (Self::Real(number), &Type::FLOAT8) => out.extend_from_slice(&number.to_be_bytes()),
            // A text is its bytes in every type that takes one.
            (Self::Text(text), _) => out.extend_from_slice(text.as_bytes()),
            (Self::Bytes(bytes), &Type::BYTEA) => out.extend_from_slice(bytes),
            _ => return Err(format!("no value of the type {kind}").into()),
        }
        Ok(IsNull::No)
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    to_sql_checked!();
}
