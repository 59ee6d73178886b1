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

mod backup;
mod batch;
mod batches;
mod blocking;
mod cancel;
mod changes;
mod clock;
mod costs;
mod database;
mod day;
mod error;
mod figures;
mod file;
mod inspection;
mod journal;
mod ledger;
mod list;
mod postgres;
mod purge;
mod reading;
mod reply;
mod row;
mod runs;
mod search;
mod sessions;
mod spill;
mod sql;
mod sqlite;
mod store;
mod stored_run;
mod tokens;
mod transfer;
mod writer;

pub use backup::{Backup, Restored};
pub use batch::{
    Batch, BatchChange, BatchJob, BatchState, Claim, ClaimedJob, Claims, JobCost, JobEnd, JobFilter,
    JobRequest, JobResult, JobState, JobsPage, NewBatch, NewJob,
};
pub use changes::Changes;
pub use costs::{CostBy, CostLine, CostQuery};
pub use database::{Location, ServerUrl, restore};
pub use day::Day;
pub use figures::{CallFact, CallFacts, CallResult, HourSpend};
pub use inspection::{CheckDepth, DamageReport, DatabaseState, Integrity};
pub use list::results::{
    FacetCount, FacetFilter, Facets, RunLine, RunsPage, RunsQuery, SearchReach, SeatBar,
};
pub use purge::Purged;
pub use row::seat_fact::SeatFact;
pub use runs::{NamedRuns, PRESET_MARK, RunFilter, RunScope, RunSummary};
pub use search::results::{HitSource, SearchHit, SearchResults};
pub use sessions::{NewSession, SessionLimits, StoredSession};
pub use spill::SpillState;
pub use store::{Store, StoreConfig};
pub use stored_run::{Checkpoint, RunProgress, StoredRun};
pub use tokens::{NewToken, Token};
pub use transfer::{Copied, copy_history};
