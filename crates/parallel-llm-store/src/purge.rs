//! Taking runs away for good.

use parallel_llm_engine::RunId;

/// What was purged.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Purged {
    /// Runs that are gone, with their questions, answers and events. What they cost, and what became of their seats,
    /// is still known.
    pub runs: Vec<RunId>,
    /// Runs that were named and are still under way: they stay.
    pub under_way: Vec<RunId>,
    /// Whether the write-ahead log was emptied. Where another process kept on reading, it is not yet, and texts may
    /// stand in it until the database is next brought home.
    pub log_cleared: bool,
}
