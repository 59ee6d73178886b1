//! What the database holds, whichever database it is: plain rows, how their texts are compressed, and the checksums they
//! are compared with when they are read.

pub(crate) mod append_rows;
pub(crate) mod call_row;
pub(crate) mod checksum;
pub(crate) mod compressed;
pub(crate) mod damage;
pub(crate) mod event_batch;
pub(crate) mod event_row;
pub(crate) mod filter;
pub(crate) mod new_run;
pub(crate) mod ownership;
pub(crate) mod run_row;
pub(crate) mod seat_fact;
pub(crate) mod text_row;

/// Columns of numbers have a sign; nothing we count comes near the end of them.
pub(crate) fn integer(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

/// What [`integer`] wrote.
pub(crate) fn count(integer: i64) -> u64 {
    u64::try_from(integer).unwrap_or_default()
}
