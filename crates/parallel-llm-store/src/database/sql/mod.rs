//! The statements: each once, for whatever database there is.
//!
//! What reads is a function of a [`Reader`](parts::session::Reader), what writes of a [`Session`](parts::session::Session).
//! Their words are those that every database understands; the few others come from a [`Dialect`](parts::dialect::Dialect). What
//! only one database can do is in its own folder.

mod batches;
pub(crate) mod contents;
pub(crate) mod counting;
mod events;
mod figures;
mod ledger;
pub(crate) mod parts;
mod runs;
mod search;
mod seats;
mod sessions;
mod tokens;
mod transfer;
