//! What is remembered: the plans, events and texts of runs, in a database on this machine.
//!
//! [`Store`] is the engine's [`Journal`](parallel_llm_engine::port::Journal) and the history the doors read. It
//! leaves to the engine what events mean: it stores them, folds them with the engine's own fold for its list of
//! runs, and gives them back.
//!
//! What always holds: an append that was acknowledged is on the disk, whatever happens to the process; an append
//! is written whole or not at all; a process that was overtaken writes nothing more; a run of which only the
//! metadata is kept leaves no word of its prompt or its answers in any file.
#![warn(missing_docs)]

mod clock;
mod fault;
mod file;
mod journal;
mod lock;
mod opened;
mod owner;
mod projection;
mod runs;
mod sqlite;
mod store;
mod writer;

pub use runs::{Checkpoint, RunFilter, RunSummary, StoredRun};
pub use store::{Store, StoreConfig};
