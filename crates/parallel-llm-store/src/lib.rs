//! What is remembered: the plans, events and texts of runs, in a database on this machine.
//!
//! [`Store`] is the engine's [`Journal`](parallel_llm_engine::port::Journal) and the history that the doors read. The
//! meaning of events is the engine's: the store keeps them, folds them with the engine's own fold for its list of runs, and
//! gives them back.
//!
//! What always holds: an acknowledged append is on the disk, in the database or in a file beside it, whatever happens to the
//! process; an append is written whole or not at all; a process that was overtaken writes nothing more; the same question is
//! not begun twice, and no day's limit is exceeded, however many processes there are; a run of which only the metadata is
//! kept leaves no word of its prompt or its answers in any file, and neither does a purged run.
#![warn(missing_docs)]

mod backup;
mod clock;
mod costs;
mod database;
mod error;
mod file;
mod inspection;
mod journal;
mod ledger;
mod purge;
mod reading;
mod row;
mod runs;
mod search;
mod spill;
mod sqlite;
mod store;
mod stored_run;
mod tokens;
mod writer;

pub use backup::{Backup, Restored};
pub use costs::{CostBy, CostLine, CostQuery};
pub use database::restore;
pub use inspection::{CheckDepth, DamageReport, DatabaseState, Integrity};
pub use purge::Purged;
pub use row::seat_fact::SeatFact;
pub use runs::{RunFilter, RunScope, RunSummary};
pub use search::results::{HitSource, SearchHit, SearchResults};
pub use spill::SpillState;
pub use store::{Store, StoreConfig};
pub use stored_run::{Checkpoint, RunProgress, StoredRun};
pub use tokens::{NewToken, Token};
