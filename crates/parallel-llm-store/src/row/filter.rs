//! Which rows are asked for.

use parallel_llm_engine::RunId;

/// A page of the list of runs.
#[derive(Clone, Debug)]
pub(crate) struct RunPage<'a> {
    /// Only runs older than this one.
    pub(crate) before: Option<RunId>,
    /// Only rows of this status. Whether a run is interrupted is not in its row.
    pub(crate) status: Option<&'static str>,
    /// Only runs asked by this name.
    pub(crate) asked_by: Option<&'a str>,
    pub(crate) rows: usize,
}

/// Runs in which the same was asked for the same caller.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SameQuestion<'a> {
    pub(crate) plan_hash: &'a str,
    /// `None` for the owner's own runs.
    pub(crate) asked_by: Option<&'a str>,
    /// Since when, in milliseconds since 1970.
    pub(crate) since_ms: i64,
    pub(crate) runs_max: i64,
}
