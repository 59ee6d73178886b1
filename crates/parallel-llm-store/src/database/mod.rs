//! The databases. What is above them sees what `interface` has.
//!
//! `sql/` has the statements that every database understands; what one of them alone does lies in its own folder. A read runs
//! on a thread that may wait (`blocking`), and its result travels as a `reply`.

mod blocking;
mod interface;
mod postgres;
pub(crate) mod reply;
pub(crate) mod sql;
mod sqlite;

pub(crate) use interface::{Database, Opened, Reader, Transaction, WriteConnection};
pub use interface::{Location, ServerUrl, restore};
