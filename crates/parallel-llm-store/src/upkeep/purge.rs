//! The results of purging runs.

use parallel_llm_engine::RunId;

/// The result of a purge.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Purged {
    /// Removed runs, with their questions, answers and events. Their costs and seat facts remain.
    pub runs: Vec<RunId>,
    /// Runs that stayed because they are still running.
    pub under_way: Vec<RunId>,
}

/// The result of one step of a purge.
#[derive(Clone, Debug, Default)]
pub(crate) struct PurgeStep {
    pub(crate) purged: Purged,
    /// The number of given runs that need no further step.
    pub(crate) done: usize,
    /// Approximate bytes written.
    pub(crate) bytes: usize,
}

/// The result of one step of [`crate::Store::reclaim`].
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ReclaimStep {
    /// Whether there is more to do.
    pub(crate) has_more: bool,
    /// Approximate bytes written.
    pub(crate) bytes: usize,
}
