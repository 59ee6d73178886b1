//! The list of runs: what is asked for, and a line of it.

use parallel_llm_engine::{PicoUsd, RunId, RunStatus};

/// The most runs one page of the list holds.
pub(crate) const LIST_MAX: usize = 500;
/// Runs on a page where nobody says otherwise: a screen or two.
const LIST_DEFAULT: usize = 50;

/// Which runs to list.
#[derive(Clone, Copy, Debug)]
pub struct RunFilter {
    /// The most runs to give, up to 500.
    pub limit: usize,
    /// Only runs older than this one: the last of the page before.
    pub before: Option<RunId>,
    /// Only runs that stand like this.
    pub status: Option<RunStatus>,
}

impl Default for RunFilter {
    fn default() -> Self {
        Self { limit: LIST_DEFAULT, before: None, status: None }
    }
}

/// Whose runs are meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunScope<'a> {
    /// Everybody's.
    All,
    /// Those of the principal of this name: to it, no other run exists.
    Principal(&'a str),
}

impl<'a> RunScope<'a> {
    /// The principal's name, where only one is meant.
    pub const fn name(self) -> Option<&'a str> {
        match self {
            Self::All => None,
            Self::Principal(name) => Some(name),
        }
    }
}

/// One line of the list of runs.
#[derive(Clone, Debug, PartialEq)]
pub struct RunSummary {
    /// Which run.
    pub run_id: RunId,
    /// How it stands.
    pub status: RunStatus,
    /// The beginning of the question on one line; `None` where only metadata is kept.
    pub question_excerpt: Option<String>,
    /// What it was asked by; `None` for the owner's own.
    pub asked_by: Option<String>,
    /// The name of the strategy.
    pub strategy: String,
    /// Seats on the panel.
    pub seats: u64,
    /// Seats that answered in full.
    pub answered: u64,
    /// What it cost as far as known.
    pub cost: PicoUsd,
    /// Whether a part of the cost is unknown or computed from prices.
    pub cost_is_estimate: bool,
    /// Whether a call is missing in the cost, because nobody knows what it cost, or not yet.
    pub cost_lacks_calls: bool,
    /// When it was first written, in milliseconds since 1970.
    pub created_at_ms: i64,
    /// When its answer was settled.
    pub decided_at_ms: Option<i64>,
    /// When nothing more was to come.
    pub closed_at_ms: Option<i64>,
    /// Whether something in this line is not what was written.
    pub is_damaged: bool,
}
