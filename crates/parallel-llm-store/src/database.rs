//! The interface between the store and its database.
//!
//! [`Database`] opens it and gives a [`Snapshot`] to read from; [`WriteConnection`] gives one [`Transaction`] at a time. A
//! [`Reader`] returns plain rows (`row/`), and a transaction writes them. The code above gives rows their meaning: who may
//! write a run, what a day may cost, how a text is found, what is damaged. Another database would be a folder beside
//! `sqlite/` with these types and its own statements.
//!
//! | type | does |
//! |---|---|
//! | [`Database`] | `open` `connection` `snapshot` `lock_purge` `state` `check` `back_up` `close`, and [`restore`] |
//! | [`Reader`] | reads of runs, events, texts, calls, seats, tokens and the index of words |
//! | [`WriteConnection`] | `begin` `commit` `reader` `extend_leases` `checkpoint_wal` `truncate_wal` `check_in_place` `close` |
//! | [`Transaction`] | `insert_run` `advance_run` `apply` `take_over` `release_run` `insert_piece`; words, tokens, purging |
//!
//! Everything fails with a [`DatabaseError`](crate::error::DatabaseError); callers use only its
//! kind.

pub use crate::sqlite::backup::restore;
pub(crate) use crate::sqlite::{Database, Opened, Reader, Transaction, WriteConnection};
