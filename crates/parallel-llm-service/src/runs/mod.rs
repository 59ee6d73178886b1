//! Runs in progress, stored runs, and their files and figures.
//!
//! A run is begun and watched in `progress/`; what is stored is found, listed and cared for in `archive/`, and counted in `measures/`.
//! `files` writes the folder of a run, and `checker` asks the user's program about an answer.

pub(crate) mod archive;
pub mod checker;
pub mod files;
pub(crate) mod measures;
pub(crate) mod progress;

pub use archive::backup::{Database, HistoryPlace, StoreCheck};
pub use archive::history::{History, KnownRun, PastRun};
pub use archive::purge::{PurgeSelection, PurgeStage, Purging, Retention};
pub use measures::calibration::CalibrationFile;
pub use measures::cost::{Costs, Spending};
pub use measures::figures::{
    BudgetDay, BudgetHour, Coverage, Figures, ModelLatency, ModelReliability, ModelSpending, Quantiles,
    ReliabilityCell, Share, SpendingCell,
};
pub use measures::insights::{Insights, ModelInsight, Verdict};
pub use measures::statistics::Statistics;
pub use progress::handle::{Hold, RunHandle};
pub use progress::journals::Journals;
pub use progress::live::Runs;
