//! The store's plain rows, independent of the database, with compression and checksums.

pub(crate) mod append_rows;
pub(crate) mod call_row;
pub(crate) mod checksum;
pub(crate) mod compressed;
pub(crate) mod counted_run;
pub(crate) mod damage;
pub(crate) mod event_batch;
pub(crate) mod event_row;
pub(crate) mod filter;
pub(crate) mod job_row;
pub(crate) mod new_run;
pub(crate) mod ownership;
pub(crate) mod run_row;
pub(crate) mod seat_fact;
pub(crate) mod text_row;

/// What a transaction will write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// It begins runs, or further parts of them: no other process may do so until it has ended.
    Admit,
    /// Anything else.
    Write,
}

/// Converts a count to a signed column; no count comes near the limit.
pub(crate) fn integer(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

/// Converts a column of [`integer`] back.
pub(crate) fn count(integer: i64) -> u64 {
    u64::try_from(integer).unwrap_or_default()
}
