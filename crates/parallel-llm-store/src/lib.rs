//! What is remembered: the plans, events and texts of runs, in a database on this machine.
//!
//! [`Store`] is the engine's [`Journal`](parallel_llm_engine::port::Journal) and the history the doors read. It
//! leaves to the engine what events mean: it stores them, folds them with the engine's own fold for its list of
//! runs, and gives them back.
//!
//! What always holds: an append that was acknowledged is on the disk, in the database or in a file beside it, whatever
//! happens to the process; an append is written whole or not at all; a process that was overtaken writes nothing more; the same question is not
//! begun twice, and no day's limit is passed, whatever the number of processes; a run of which only the metadata is
//! kept leaves no word of its prompt or its answers in any file, and neither does one that was purged.
#![warn(missing_docs)]

mod backup;
mod checksum;
mod clock;
mod costs;
mod damage;
mod excerpt;
mod facts;
mod fault;
mod file;
mod found;
mod inspection;
mod journal;
mod ledger;
mod lock;
mod opened;
mod owner;
mod packed;
mod pen;
mod projection;
mod purge;
mod runs;
mod sought;
mod spill;
mod sqlite;
mod store;
mod tokens;
mod word;
mod work;
mod writer;

pub use backup::{BackedUp, Restored, restore};
pub use costs::{CostBy, CostLine, CostQuery};
pub use facts::SeatFact;
pub use found::{Found, FoundIn, Matches};
pub use inspection::{Damages, DatabaseState, Soundness, Thoroughness};
pub use purge::Purged;
pub use runs::{Checkpoint, Look, RunFilter, RunSummary, StoredRun, Whose};
pub use spill::SpillState;
pub use store::{Store, StoreConfig};
pub use tokens::{NewToken, Token};
