//! The seam to the database: all that the store knows of the one it runs on.
//!
//! [`Database`] opens and gives a [`Snapshot`] to read from; [`WriteConnection`] gives one [`Transaction`] after another.
//! A [`Reader`] gives plain rows (`row/`), and a transaction writes them. What rows mean stands above, once: who may write a
//! run, what a day may cost, what a text is found by, what is damaged. Another database is a folder beside `sqlite/` with
//! these types and its own statements.
//!
//! | type | does |
//! |---|---|
//! | [`Database`] | `open` `connection` `snapshot` `lock_purge` `state` `check` `back_up` `close`, and [`restore`] |
//! | [`Reader`] | reads of runs, events, texts, calls, seats, tokens and the index of words |
//! | [`WriteConnection`] | `begin` `commit` `reader` `extend_leases` `checkpoint_wal` `truncate_wal` `check_in_place` `close` |
//! | [`Transaction`] | `insert_run` `advance_run` `apply` `take_over` `release_run` `insert_piece`; words, tokens, purging |
//!
//! Everything fails with a [`DatabaseError`](crate::error::DatabaseError), of which only the kind of trouble is looked at.

pub use crate::sqlite::backup::restore;
pub(crate) use crate::sqlite::{Database, Opened, Reader, Transaction, WriteConnection};
