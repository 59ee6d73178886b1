//! The list of runs: its filter, its scope and its lines.

use parallel_llm_engine::{PicoUsd, RunId, RunStatus};

/// The most runs on one page of the list.
pub(crate) const LIST_MAX: usize = 500;
/// Runs on a page by default: a screen or two.
const LIST_DEFAULT: usize = 50;

/// Which runs to list.
#[derive(Clone, Copy, Debug)]
pub struct RunFilter {
    /// The most runs to return, up to 500.
    pub limit: usize,
    /// Only runs older than this one: the last run of the previous page.
    pub before: Option<RunId>,
    /// Only runs with this status.
    pub status: Option<RunStatus>,
}

impl Default for RunFilter {
    fn default() -> Self {
        Self { limit: LIST_DEFAULT, before: None, status: None }
    }
}

/// The principals whose runs are meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunScope<'a> {
    /// All principals.
    All,
    /// The principal of this name, for whom no other run exists.
    Principal(&'a str),
}

impl<'a> RunScope<'a> {
    /// The principal's name; `None` for all.
    pub const fn name(self) -> Option<&'a str> {
        match self {
            Self::All => None,
            Self::Principal(name) => Some(name),
        }
    }
}

/// The runs that a name stands for.
#[derive(Clone, Debug, PartialEq)]
pub enum NamedRuns {
    /// Exactly one.
    One(RunId),
    /// Several, because the name is a beginning of all their ids: the newest of them, newest first, as the list shows them
    /// but for their cost and for interruptions.
    Several(Vec<RunSummary>),
}

/// What stands before the name of a preset or flow where runs are found by their models: no model begins so.
pub const PRESET_MARK: &str = "#";

/// One line of the list of runs.
#[derive(Clone, Debug, PartialEq)]
pub struct RunSummary {
    /// The run's id.
    pub run_id: RunId,
    /// Its current status.
    pub status: RunStatus,
    /// The beginning of the question on one line; `None` if only metadata is stored.
    pub question_excerpt: Option<String>,
    /// The principal that asked; `None` for the owner.
    pub asked_by: Option<String>,
    /// The strategy's name.
    pub strategy: String,
    /// The name of the preset or flow that filled up the question.
    pub preset: Option<String>,
    /// The models of the seats, each once, as `-m` takes them; empty if an older version wrote the run.
    pub models: Vec<String>,
    /// The number of seats on the panel.
    pub seats: u64,
    /// The number of seats with a complete answer.
    pub answered: u64,
    /// The known cost.
    pub cost: PicoUsd,
    /// Whether a part of the cost is unknown or computed from prices.
    pub cost_is_estimate: bool,
    /// Whether the cost of a call is missing, for good or for now.
    pub cost_lacks_calls: bool,
    /// When the run was first written, in milliseconds since 1970.
    pub created_at_ms: i64,
    /// When its answer was settled.
    pub decided_at_ms: Option<i64>,
    /// When the run was closed.
    pub closed_at_ms: Option<i64>,
    /// Whether this line does not match its checksum.
    pub is_damaged: bool,
}
