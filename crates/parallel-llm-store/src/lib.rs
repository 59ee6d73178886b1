//! Stores the plans, events and texts of runs in a database: a file of this machine, or a server that machines share.
//!
//! [`Store`] is the engine's [`Journal`](parallel_llm_engine::port::Journal) and the history that the doors read. The
//! engine defines what events mean: the store writes them, folds them with the engine's own fold for the list of runs,
//! and returns them.
//!
//! Invariants:
//! - An acknowledged append is on disk, in the database or in a file beside it, whatever happens to the process.
//! - An append is written whole or not at all.
//! - A process whose run was taken over writes nothing more to it.
//! - A job of a batch is ended once, by the process that claimed it last.
//! - No question is started twice and no daily limit is exceeded, however many processes there are.
//! - Neither a purged run nor one stored as metadata leaves a word of its prompt or answers in any file.
#![warn(missing_docs)]

mod access;
mod batch;
mod database;
mod handle;
mod history;
mod ledger;
mod list;
mod row;
mod search;
mod spill;
mod system;
mod upkeep;
mod writer;

pub use access::sessions::{NewSession, SessionLimits, StoredSession};
pub use access::tokens::{NewToken, Token};
pub use batch::{
    Batch, BatchChange, BatchJob, BatchState, Claim, ClaimedJob, Claims, JobCost, JobEnd, JobFilter,
    JobRequest, JobResult, JobState, JobsPage, NewBatch, NewJob,
};
pub use database::{Location, ServerUrl, restore};
pub use handle::store::{Store, StoreConfig};
pub use handle::stored_run::{Checkpoint, RunProgress, StoredRun};
pub use handle::transfer::{Copied, copy_history};
pub use history::changes::Changes;
pub use history::costs::{CostBy, CostLine, CostQuery};
pub use history::day::Day;
pub use history::figures::{CallFact, CallFacts, CallResult, HourSpend};
pub use history::runs::{NamedRuns, PRESET_MARK, RunFilter, RunScope, RunSummary};
pub use list::results::{
    FacetCount, FacetFilter, Facets, RunLine, RunsPage, RunsQuery, SearchReach, SeatBar,
};
pub use row::seat_fact::SeatFact;
pub use search::results::{HitSource, SearchHit, SearchResults};
pub use spill::SpillState;
pub use upkeep::backup::{Backup, Restored};
pub use upkeep::inspection::{CheckDepth, DamageReport, DatabaseState, Integrity};
pub use upkeep::purge::Purged;
