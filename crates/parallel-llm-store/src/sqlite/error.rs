//! What SQLite's errors mean: above, only kinds of trouble are distinguished.

use crate::fault::{DatabaseError, Trouble};

/// SQLite's result codes (sqlite.org/rescode.html), in the lower eight bits.
pub(super) const INTERRUPTED: i32 = 9;
pub(super) const CORRUPT: i32 = 11;
pub(super) const NO_DATABASE: i32 = 26;

impl From<sqlx::Error> for DatabaseError {
    fn from(cause: sqlx::Error) -> Self {
        let trouble = match &cause {
            sqlx::Error::Io(cause) => Trouble::of_io(cause),
            sqlx::Error::PoolTimedOut => Trouble::Crowded,
            sqlx::Error::Decode(_) | sqlx::Error::ColumnDecode { .. } => Trouble::Damaged,
            sqlx::Error::Database(_) => code(&cause).map_or(Trouble::Other, trouble_of),
            _ => Trouble::Other,
        };
        Self { trouble, cause: cause.into() }
    }
}

/// What kind of trouble SQLite has, where it is its own.
pub(super) fn code(cause: &sqlx::Error) -> Option<i32> {
    let code: i32 = cause.as_database_error()?.code()?.parse().ok()?;
    Some(code & 0xff)
}

fn trouble_of(code: i32) -> Trouble {
    match code & 0xff {
        // BUSY is another process, LOCKED another connection of this one.
        5 | 6 => Trouble::Locked,
        8 => Trouble::ReadOnly,
        10 => Trouble::Disk,
        CORRUPT => Trouble::Damaged,
        13 => Trouble::Full,
        14 => Trouble::Unreachable,
        NO_DATABASE => Trouble::Foreign,
        _ => Trouble::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_become_plain_words() {
        use Trouble::{Damaged, Disk, Foreign, Full, Locked, Other, ReadOnly, Unreachable};
        let troubles = [5, 261, 6, 8, 1032, 10, 778, 11, 13, 14, 26, 19].map(trouble_of);
        assert_eq!(
            troubles,
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
