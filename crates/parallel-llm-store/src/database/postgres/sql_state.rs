//! Maps the server's codes (postgresql.org/docs/current/errcodes-appendix.html) to kinds of errors.

use std::io;

use tokio_postgres::Error;

use crate::system::error::{DatabaseError, DatabaseErrorKind};

impl From<Error> for DatabaseError {
    fn from(cause: Error) -> Self {
        if let Some(told) = cause.as_db_error() {
            let kind = kind_of(told.code().code());
            // Its details may hold values of the row.
            return Self { kind, cause: format!("{} ({})", told.message(), told.code().code()).into() };
        }
        let source = std::error::Error::source(&cause);
        let io = source.and_then(|source| source.downcast_ref::<io::Error>());
        let kind = match io.map(io::Error::kind) {
            _ if cause.is_closed() => DatabaseErrorKind::Away,
            // What the encryption does not accept: a certificate, or what is no encryption at all.
            Some(io::ErrorKind::InvalidData) => DatabaseErrorKind::Denied,
            Some(_) => DatabaseErrorKind::Away,
            None => DatabaseErrorKind::Other,
        };
        match source {
            Some(source) => Self { kind, cause: format!("{cause}: {source}").into() },
            None => Self { kind, cause: cause.into() },
        }
    }
}

fn kind_of(code: &str) -> DatabaseErrorKind {
    match code {
        // A lock that another holds, a statement that took too long behind one, and two that wait for each other.
        "55P03" | "57014" | "40P01" | "40001" => DatabaseErrorKind::Locked,
        // Being stopped, started or cut off, or with as many connections as it takes.
        "57P01" | "57P02" | "57P03" | "57P05" | "25P03" | "53300" => DatabaseErrorKind::Away,
        "53100" => DatabaseErrorKind::Full,
        "25006" | "42501" | "3D000" | "3F000" => DatabaseErrorKind::Denied,
        "XX001" | "XX002" => DatabaseErrorKind::Damaged,
        _ if code.starts_with("08") => DatabaseErrorKind::Away,
        _ if code.starts_with("28") => DatabaseErrorKind::Denied,
        _ if code.starts_with("58") => DatabaseErrorKind::Disk,
        _ => DatabaseErrorKind::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_become_kinds_of_errors() {
        use DatabaseErrorKind::{Away, Damaged, Denied, Disk, Full, Locked, Other};
        let codes = [
            "55P03", "57014", "40P01", "57P01", "57P03", "25P03", "53300", "08006", "53100", "25006",
            "28P01", "42501", "XX001", "58030", "23505",
        ];
        assert_eq!(
            codes.map(kind_of),
            [
                Locked, Locked, Locked, Away, Away, Away, Away, Away, Full, Denied, Denied, Denied, Damaged,
                Disk, Other
            ]
        );
    }
}
