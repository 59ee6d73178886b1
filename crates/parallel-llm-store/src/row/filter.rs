//! Queries for runs.

use parallel_llm_engine::RunId;

/// A page of the list of runs.
#[derive(Clone, Debug)]
pub(crate) struct RunPage<'a> {
    /// Only runs older than this one.
    pub(crate) before: Option<RunId>,
    /// Only rows with this status; a row does not say whether its run was interrupted.
    pub(crate) status: Option<&'static str>,
    /// Only runs of this principal.
    pub(crate) asked_by: Option<&'a str>,
    pub(crate) rows: usize,
}

/// The runs of one question and one caller.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SameQuestion<'a> {
    pub(crate) plan_hash: &'a str,
    /// `None` for the owner's own runs.
    pub(crate) asked_by: Option<&'a str>,
    /// The earliest time, in milliseconds since 1970.
    pub(crate) since_ms: i64,
    pub(crate) runs_max: i64,
}

/// Counted runs to find or to add up.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CountFilter<'a> {
    /// One principal, or all.
    pub(crate) scope: &'a str,
    /// One day, or all.
    pub(crate) day: &'a str,
    /// One model, or any.
    pub(crate) model: &'a str,
    pub(crate) status: Option<&'a str>,
    pub(crate) strategy: Option<&'a str>,
}

/// A range of run ids.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PostingRange {
    /// The least id, if any.
    pub(crate) from: Option<RunId>,
    /// The least id after the range, if any.
    pub(crate) before: Option<RunId>,
}
