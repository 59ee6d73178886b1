//! Maps SQLite's result codes (sqlite.org/rescode.html) to kinds of errors.

use rusqlite::{Error, ErrorCode};

use crate::system::error::{DatabaseError, DatabaseErrorKind};

impl From<Error> for DatabaseError {
    fn from(cause: Error) -> Self {
        let kind = match &cause {
            Error::FromSqlConversionFailure(..)
            | Error::IntegralValueOutOfRange(..)
            | Error::InvalidColumnType(..)
            | Error::Utf8Error(..) => DatabaseErrorKind::Damaged,
            _ => cause.sqlite_error_code().map_or(DatabaseErrorKind::Other, kind_of),
        };
        Self { kind, cause: cause.into() }
    }
}

const fn kind_of(code: ErrorCode) -> DatabaseErrorKind {
    match code {
        // The first is a lock of another process, the second one of another connection in this process.
        ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked => DatabaseErrorKind::Locked,
        ErrorCode::ReadOnly => DatabaseErrorKind::ReadOnly,
        ErrorCode::SystemIoFailure => DatabaseErrorKind::Disk,
        ErrorCode::DatabaseCorrupt => DatabaseErrorKind::Damaged,
        ErrorCode::DiskFull => DatabaseErrorKind::Full,
        ErrorCode::CannotOpen => DatabaseErrorKind::Unreachable,
        ErrorCode::NotADatabase => DatabaseErrorKind::Foreign,
        _ => DatabaseErrorKind::Other,
    }
}

#[cfg(test)]
mod tests {
    use rusqlite::ffi;

    use super::*;

    #[test]
    fn result_codes_become_kinds_of_errors() {
        use DatabaseErrorKind::{Damaged, Disk, Foreign, Full, Locked, Other, ReadOnly, Unreachable};
        let kind = |code| DatabaseError::from(Error::SqliteFailure(ffi::Error::new(code), None)).kind;
        let kinds = [5, 261, 6, 8, 1032, 10, 778, 11, 13, 14, 26, 19].map(kind);
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
