//! Runs: those under way in this process, those that are remembered, and what both leave behind.

mod backup;
pub(crate) mod calibration;
pub mod checker;
mod cost;
mod export;
pub mod files;
pub(crate) mod handle;
pub(crate) mod history;
mod insights;
mod journals;
mod live;
mod purge;
mod search;

pub use backup::StoreCheck;
pub use calibration::CalibrationFile;
pub use cost::{Costs, Spending};
pub use handle::{Hold, RunHandle};
pub use history::{Kept, PastRun};
pub use insights::{Insights, ModelInsight, Verdict};
pub use journals::Journals;
pub use live::Runs;
pub use purge::{Doomed, PurgeStage, Purging};
