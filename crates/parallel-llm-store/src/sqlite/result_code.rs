//! Maps SQLite's result codes to kinds of errors.

use crate::error::{DatabaseError, DatabaseErrorKind};

/// SQLite's result codes (sqlite.org/rescode.html), in the lower eight bits.
pub(super) const INTERRUPTED: i32 = 9;
pub(super) const CORRUPT: i32 = 11;
pub(super) const NO_DATABASE: i32 = 26;

impl From<sqlx::Error> for DatabaseError {
    fn from(cause: sqlx::Error) -> Self {
        let kind = match &cause {
            sqlx::Error::Io(cause) => DatabaseErrorKind::of_io(cause),
            sqlx::Error::PoolTimedOut => DatabaseErrorKind::Crowded,
            sqlx::Error::Decode(_) | sqlx::Error::ColumnDecode { .. } => DatabaseErrorKind::Damaged,
            sqlx::Error::Database(_) => code(&cause).map_or(DatabaseErrorKind::Other, kind_of),
            _ => DatabaseErrorKind::Other,
        };
        Self { kind, cause: cause.into() }
    }
}

/// SQLite's primary result code, if the error has one.
pub(super) fn code(cause: &sqlx::Error) -> Option<i32> {
    let code: i32 = cause.as_database_error()?.code()?.parse().ok()?;
    Some(code & 0xff)
}

fn kind_of(code: i32) -> DatabaseErrorKind {
    match code & 0xff {
        // BUSY is a lock of another process, LOCKED one of another connection in this process.
        5 | 6 => DatabaseErrorKind::Locked,
        8 => DatabaseErrorKind::ReadOnly,
        10 => DatabaseErrorKind::Disk,
        CORRUPT => DatabaseErrorKind::Damaged,
        13 => DatabaseErrorKind::Full,
        14 => DatabaseErrorKind::Unreachable,
        NO_DATABASE => DatabaseErrorKind::Foreign,
        _ => DatabaseErrorKind::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn result_codes_become_kinds_of_errors() {
        use DatabaseErrorKind::{Damaged, Disk, Foreign, Full, Locked, Other, ReadOnly, Unreachable};
        let kinds = [5, 261, 6, 8, 1032, 10, 778, 11, 13, 14, 26, 19].map(kind_of);
        assert_eq!(
            kinds,
            [
                Locked,
                Locked,
                Locked,
                ReadOnly,
                ReadOnly,
                Disk,
                Disk,
                Damaged,
                Full,
                Unreachable,
                Foreign,
                Other
            ]
        );
    }
}
