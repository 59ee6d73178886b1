//! The list of runs as the page of runs shows it: its query, its lines and its facets.

use parallel_llm_engine::{RunId, RunStatus, SeatNumber, SeatStatus};

use crate::history::day::Day;
use crate::history::runs::RunSummary;
use crate::search::results::SearchHit;

/// Runs on a page by default: a screen or two.
const PAGE_DEFAULT: usize = 50;

/// The runs that a page shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunsQuery {
    /// Only runs in whose question, or in one of whose texts, every one of these words begins a word; or is a word, if
    /// the words are frequent: see [`SearchReach::whole_words_only`].
    pub words: Option<String>,
    /// Only runs with these properties.
    pub filter: FacetFilter,
    /// Only runs older than this one: [`RunsPage::next`] of the page before.
    pub before: Option<RunId>,
    /// The most runs to return besides those in progress, up to 500.
    pub limit: usize,
}

impl Default for RunsQuery {
    fn default() -> Self {
        Self { words: None, filter: FacetFilter::default(), before: None, limit: PAGE_DEFAULT }
    }
}

/// Properties that runs are filtered by; all that are given must hold.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FacetFilter {
    /// Only runs with this status.
    pub status: Option<RunStatus>,
    /// Only runs with a seat of this model, as `-m` takes it; behind [`PRESET_MARK`](crate::PRESET_MARK), only those of this preset or
    /// flow.
    pub model: Option<String>,
    /// Only runs with the strategy of this name.
    pub strategy: Option<String>,
    /// Only runs that began on this day.
    pub day: Option<Day>,
}

impl FacetFilter {
    /// Whether it lets every run through.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// A page of the list of runs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunsPage {
    /// The runs in progress, in this process or another, newest first; only on the first page.
    pub live: Vec<RunLine>,
    /// Runs in progress that are left out, because there are too many.
    pub live_left_out: u64,
    /// The other runs, newest first. There may be fewer than asked for even if [`RunsPage::next`] is given.
    pub runs: Vec<RunLine>,
    /// What [`RunsQuery::before`] of the next page is; `None` on the last page.
    pub next: Option<RunId>,
    /// How many runs there are of each status, model, strategy and day.
    pub facets: Facets,
    /// How far a search for words has come; `None` without words.
    pub search: Option<SearchReach>,
}

impl RunsPage {
    /// Most runs in progress on a page: more than fit on a screen.
    pub const LIVE_MAX: usize = 100;

    /// Adds a run in progress that is stored nowhere to the runs in progress and to the facets, if it passes the filter.
    pub fn add_live(&mut self, line: RunLine, filter: &FacetFilter) {
        self.facets.add(&line.run, filter);
        self.facets.sort();
        if !filter.matches(&line.run) {
            return;
        }
        let newer = self.live.iter().take_while(|known| known.run.run_id > line.run.run_id).count();
        self.live.insert(newer, line);
        if self.live.len() > Self::LIVE_MAX {
            self.live.truncate(Self::LIVE_MAX);
            self.live_left_out += 1;
        }
    }
}

/// How far a search has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SearchReach {
    /// Texts with all words that were examined, the newest.
    pub examined: u64,
    /// Whether older texts with all words were not examined, so that more runs may match.
    pub is_cut: bool,
    /// Whether only whole words were looked for, because not even all texts with these were examined; otherwise a word may
    /// begin a longer one.
    pub whole_words_only: bool,
    /// Runs that were not searched, because their texts are not indexed yet.
    pub unindexed: u64,
}

/// A line of the page of runs.
#[derive(Clone, Debug, PartialEq)]
pub struct RunLine {
    /// What the list of runs shows of it.
    pub run: RunSummary,
    /// From its start to its answer, to its end without one, or until now if it is in progress, in milliseconds; `None`
    /// if it was interrupted.
    pub elapsed_ms: Option<u64>,
    /// Its seats, by number; empty if an older version left nothing of them, or before the answer if another process
    /// does the run.
    pub seats: Vec<SeatBar>,
    /// Where the words stand, if words were given.
    pub hit: Option<SearchHit>,
}

/// A seat of a run as a bar of a small chart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SeatBar {
    /// The seat.
    pub seat: SeatNumber,
    /// Its model, as `-m` takes it.
    pub model: String,
    /// Its status.
    pub status: SeatStatus,
    /// Whether its answer came too late to be considered.
    pub late: bool,
    /// From the start of the run to its first request, in milliseconds; `None` if nothing was sent, or it is not known.
    pub sent_after_ms: Option<u64>,
    /// From its first request to its end, in milliseconds; `None` if it has not ended, or nothing was sent.
    pub elapsed_ms: Option<u64>,
}

/// How many runs there are of each value, within the other filters: the statuses of a page filtered by status and model
/// are those of all runs of that model.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Facets {
    /// By status, the most frequent first.
    pub statuses: Vec<FacetCount>,
    /// By model, and by preset or flow behind its mark, the most frequent first; a run counts once for each of its models. At most [`Facets::MODELS_MAX`].
    pub models: Vec<FacetCount>,
    /// By strategy, the most frequent first.
    pub strategies: Vec<FacetCount>,
    /// By day in UTC, the newest first; at most [`Facets::DAYS_MAX`].
    pub days: Vec<FacetCount>,
}

/// A value that runs can be filtered by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FacetCount {
    /// The value, as [`FacetFilter`] takes it.
    pub value: String,
    /// The number of runs that have it.
    pub count: u64,
    /// Whether there may be more, because not all were counted.
    pub is_lower_bound: bool,
}
