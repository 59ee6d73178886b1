//! The statements: each once, for whatever database there is.
//!
//! What reads is a function of a [`Reader`](session::Reader), what writes of a [`Session`](session::Session). Their words are
//! those that every database understands; the few others come from a [`Dialect`](dialect::Dialect). What only one database can
//! do is in its own folder.

mod batches;
mod columns;
pub(crate) mod contents;
pub(crate) mod counting;
pub(crate) mod dialect;
mod events;
mod figures;
mod ledger;
mod runs;
mod search;
mod seats;
pub(crate) mod session;
mod sessions;
pub(crate) mod table;
mod tokens;
mod transfer;
pub(crate) mod value;
