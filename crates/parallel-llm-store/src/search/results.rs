//! What a search finds.

use parallel_llm_engine::{RunId, SeatNumber, StepNumber};

/// Where words were found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum HitSource {
    /// In what was asked.
    Question,
    /// In the run's own answer.
    Answer,
    /// In the answer of a seat.
    Seat(SeatNumber),
    /// In what a synthesizer wrote.
    Synthesizer(SeatNumber),
    /// In what a step of the strategy gave.
    Step(StepNumber),
}

/// A run in which words were found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SearchHit {
    /// Which run.
    pub run_id: RunId,
    /// When it was first written, in milliseconds since 1970.
    pub created_at_ms: i64,
    /// Where the words stand: the first of question, answer and seats that has them all.
    pub source: HitSource,
    /// The words with some others around them, on one line. A stranger's text.
    pub excerpt: String,
}

/// What came of a search.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SearchResults {
    /// The runs, newest first.
    pub hits: Vec<SearchHit>,
    /// Runs with texts that are not in the index yet, and were not searched.
    pub unindexed: u64,
    /// The time for a search was up: older runs may have the words too.
    pub is_cut: bool,
}
