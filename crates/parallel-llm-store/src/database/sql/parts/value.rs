//! Values on their way into statements and out of rows.

use std::borrow::Cow;

use parallel_llm_engine::{BatchId, PicoUsd, ProviderId, RunId};

use crate::row::compressed::TextBody;
use crate::system::error::{DatabaseError, DatabaseErrorKind, DatabaseResult as Result};

/// A value as every database has it. A truth value is 0 or 1.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value<'a> {
    Null,
    Integer(i64),
    Real(f64),
    Text(Cow<'a, str>),
    Bytes(Cow<'a, [u8]>),
}

/// The values of a statement's parameters.
macro_rules! values {
    ($($value:expr),* $(,)?) => { [$($crate::database::sql::parts::value::Value::from($value)),*] };
}
pub(crate) use values;

impl Value<'_> {
    /// Its length in bytes, for the size of a write.
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Null | Self::Integer(_) | Self::Real(_) => 8,
            Self::Text(text) => text.len(),
            Self::Bytes(bytes) => bytes.len(),
        }
    }

    pub(crate) fn into_owned(self) -> Value<'static> {
        match self {
            Self::Null => Value::Null,
            Self::Integer(number) => Value::Integer(number),
            Self::Real(number) => Value::Real(number),
            Self::Text(text) => Value::Text(Cow::Owned(text.into_owned())),
            Self::Bytes(bytes) => Value::Bytes(Cow::Owned(bytes.into_owned())),
        }
    }
}

/// Conversions into [`Value`].
macro_rules! from {
    ($($from:ty => |$value:ident| $to:expr;)*) => {
        $(impl<'a> From<$from> for Value<'a> {
            fn from($value: $from) -> Self {
                $to
            }
        })*
    };
}

from! {
    i64 => |value| Self::Integer(value);
    &'a i64 => |value| Self::Integer(*value);
    u32 => |value| Self::Integer(value.into());
    &'a u32 => |value| Self::Integer(i64::from(*value));
    u8 => |value| Self::Integer(value.into());
    bool => |value| Self::Integer(value.into());
    f64 => |value| Self::Real(value);
    PicoUsd => |value| Self::Integer(value.0);
    &'a str => |value| Self::Text(Cow::Borrowed(value));
    &&'a str => |value| Self::Text(Cow::Borrowed(value));
    &'a String => |value| Self::Text(Cow::Borrowed(value));
    String => |value| Self::Text(Cow::Owned(value));
    RunId => |value| Self::Text(Cow::Owned(value.to_string()));
    BatchId => |value| Self::Text(Cow::Owned(value.to_string()));
    &'a ProviderId => |value| Self::Text(Cow::Borrowed(&value.0));
    &'a [u8] => |value| Self::Bytes(Cow::Borrowed(value));
    &'a Vec<u8> => |value| Self::Bytes(Cow::Borrowed(value));
    [u8; 32] => |value| Self::Bytes(Cow::Owned(value.to_vec()));
}

/// As text, or as bytes if it is compressed.
impl<'a> From<&'a TextBody> for Value<'a> {
    fn from(body: &'a TextBody) -> Self {
        match body {
            TextBody::Plain(text) => Self::Text(Cow::Borrowed(text)),
            TextBody::Compressed(bytes) => Self::Bytes(Cow::Borrowed(bytes)),
        }
    }
}

impl<'a, T: Into<Value<'a>>> From<Option<T>> for Value<'a> {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

/// The same for what is borrowed.
macro_rules! from_option {
    ($($from:ty),*) => {
        $(impl<'a> From<&'a Option<$from>> for Value<'a> {
            fn from(value: &'a Option<$from>) -> Self {
                value.as_ref().map_or(Self::Null, Into::into)
            }
        })*
    };
}
from_option!(i64, String, Vec<u8>, TextBody);

/// What a column is read as. A value of another type was not written by us.
pub(crate) trait Column<'r>: Sized {
    fn read(value: Value<'r>) -> Result<Self>;
}

/// A value that cannot be read.
pub(crate) fn damaged(cause: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> DatabaseError {
    DatabaseError { kind: DatabaseErrorKind::Damaged, cause: cause.into() }
}

fn mismatched<T>(value: &Value<'_>, expected: &str) -> Result<T> {
    let found = match value {
        Value::Null => "nothing",
        Value::Integer(_) | Value::Real(_) => "a number",
        Value::Text(_) => "a text",
        Value::Bytes(_) => "bytes",
    };
    Err(damaged(format!("{found} stands where {expected} should")))
}

impl Column<'_> for i64 {
    fn read(value: Value<'_>) -> Result<Self> {
        match value {
            Value::Integer(number) => Ok(number),
            other => mismatched(&other, "a whole number"),
        }
    }
}

/// Numbers of smaller types.
macro_rules! small {
    ($($small:ty),*) => {
        $(impl Column<'_> for $small {
            fn read(value: Value<'_>) -> Result<Self> {
                Self::try_from(i64::read(value)?).map_err(|_| damaged("a number is out of its range"))
            }
        })*
    };
}
small!(u8, u16, u32);

impl Column<'_> for bool {
    fn read(value: Value<'_>) -> Result<Self> {
        Ok(i64::read(value)? != 0)
    }
}

impl Column<'_> for f64 {
    fn read(value: Value<'_>) -> Result<Self> {
        match value {
            Value::Real(number) => Ok(number),
            Value::Integer(number) => Ok(number as Self),
            other => mismatched(&other, "a number"),
        }
    }
}

/// A sum may be a float, which never overflows and is exact below nine thousand USD.
impl Column<'_> for PicoUsd {
    fn read(value: Value<'_>) -> Result<Self> {
        match value {
            Value::Real(sum) => Ok(Self(sum as i64)),
            other => i64::read(other).map(Self),
        }
    }
}

impl<'r> Column<'r> for &'r str {
    fn read(value: Value<'r>) -> Result<Self> {
        match value {
            Value::Text(Cow::Borrowed(text)) => Ok(text),
            other => mismatched(&other, "a text"),
        }
    }
}

impl Column<'_> for String {
    fn read(value: Value<'_>) -> Result<Self> {
        match value {
            Value::Text(text) => Ok(text.into_owned()),
            other => mismatched(&other, "a text"),
        }
    }
}

/// Bytes, or those of a text.
impl<'r> Column<'r> for &'r [u8] {
    fn read(value: Value<'r>) -> Result<Self> {
        match value {
            Value::Bytes(Cow::Borrowed(bytes)) => Ok(bytes),
            Value::Text(Cow::Borrowed(text)) => Ok(text.as_bytes()),
            other => mismatched(&other, "bytes"),
        }
    }
}

impl Column<'_> for Vec<u8> {
    fn read(value: Value<'_>) -> Result<Self> {
        match value {
            Value::Bytes(bytes) => Ok(bytes.into_owned()),
            other => mismatched(&other, "bytes"),
        }
    }
}

impl Column<'_> for RunId {
    fn read(value: Value<'_>) -> Result<Self> {
        <&str>::read(value)?.parse().map_err(|cause: String| damaged(cause))
    }
}

impl Column<'_> for BatchId {
    fn read(value: Value<'_>) -> Result<Self> {
        <&str>::read(value)?.parse().map_err(|cause: String| damaged(cause))
    }
}

impl<'r, T: Column<'r>> Column<'r> for Option<T> {
    fn read(value: Value<'r>) -> Result<Self> {
        match value {
            Value::Null => Ok(None),
            value => T::read(value).map(Some),
        }
    }
}
