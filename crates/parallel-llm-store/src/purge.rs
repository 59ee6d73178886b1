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
}

/// What one step of a purge came to.
#[derive(Clone, Debug, Default)]
pub(crate) struct PurgeStep {
    pub(crate) purged: Purged,
    /// How many of the runs it was given it is done with.
    pub(crate) done: usize,
    /// About how much it wrote, in bytes.
    pub(crate) bytes: usize,
}

/// What one step of [`crate::Store::reclaim`] came to.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ReclaimStep {
    /// Whether there is more to do.
    pub(crate) has_more: bool,
    /// About how much it wrote, in bytes.
    pub(crate) bytes: usize,
}
