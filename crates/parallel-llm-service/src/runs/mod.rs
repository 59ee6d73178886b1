//! Runs in progress, stored runs, and their files and figures.

mod backup;
pub(crate) mod calibration;
pub mod checker;
mod cost;
mod departures;
mod export;
mod figures;
pub mod files;
pub(crate) mod handle;
pub(crate) mod history;
mod insights;
mod journals;
mod live;
mod name;
mod page;
mod purge;
pub(crate) mod relay;
mod search;
mod statistics;

pub use backup::{Database, HistoryPlace, StoreCheck};
pub use calibration::CalibrationFile;
pub use cost::{Costs, Spending};
pub use figures::{
    BudgetDay, BudgetHour, Coverage, Figures, ModelLatency, ModelReliability, ModelSpending, Quantiles,
    ReliabilityCell, Share, SpendingCell,
};
pub use handle::{Hold, RunHandle};
pub use history::{History, KnownRun, PastRun};
pub use insights::{Insights, ModelInsight, Verdict};
pub use journals::Journals;
pub use live::Runs;
pub use purge::{PurgeSelection, PurgeStage, Purging, Retention};
pub use statistics::Statistics;
