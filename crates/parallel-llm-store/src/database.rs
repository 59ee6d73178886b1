//! The interface between the store and its database.
//!
//! [`Database`] opens it and reads from it: a read is a function of a [`Reader`], sees one consistent state, and runs on a
//! thread that may wait. [`WriteConnection`] belongs to the writer's thread and gives one [`Transaction`] at a time. Readers
//! and transactions are synchronous: their callers have a thread that may wait. A reader returns plain rows (`row/`), and a
//! transaction writes them. The code above gives rows their meaning: who may write a run, what a day may cost, how a text is
//! found, what is damaged. Another database would be a folder beside `sqlite/` with these types and its own statements;
//! whether it waits for a disk or for a server is its own affair.
//!
//! | type | does |
//! |---|---|
//! | [`Database`] | `open` `read` `lock_purge` `state` `check` `back_up` `close`, and [`restore`] |
//! | [`Reader`] | reads of runs, events, texts, calls, seats, tokens, the index of words and the counts of the list |
//! | [`WriteConnection`] | `begin` `commit` `read` `extend_leases` `checkpoint_wal` `truncate_wal` `check_in_place` |
//! | [`Transaction`] | `insert_run` `advance_run` `apply` `take_over` `release_run` `insert_piece`; words, tokens, purging |
//!
//! Statements fail with a [`DatabaseError`](crate::error::DatabaseError); callers use only its kind.

pub use crate::sqlite::backup::restore;
pub(crate) use crate::sqlite::{Database, Reader, Transaction, WriteConnection};
