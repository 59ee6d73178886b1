//! The results of a search.

use std::ops::Range;

use parallel_llm_engine::{RunId, SeatNumber, StepNumber};

/// The source of a hit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum HitSource {
    /// The question.
    Question,
    /// The run's own answer.
    Answer,
    /// The answer of a seat.
    Seat(SeatNumber),
    /// A synthesizer's text.
    Synthesizer(SeatNumber),
    /// A step's text.
    Step(StepNumber),
}

/// A run that contains the searched words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SearchHit {
    /// The run.
    pub run_id: RunId,
    /// When it was first written, in milliseconds since 1970.
    pub created_at_ms: i64,
    /// The first of question, answer and seats that contains all words.
    pub source: HitSource,
    /// The words in context, on one line. Untrusted text.
    pub excerpt: String,
    /// The words in the excerpt that were searched for, in order, as ranges of bytes.
    pub marks: Vec<Range<usize>>,
}

/// The results of a search.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SearchResults {
    /// The runs, newest first.
    pub hits: Vec<SearchHit>,
    /// Runs that were not searched, because their texts are not indexed yet.
    pub unindexed: u64,
    /// Whether the time ran out, so that older runs may match too.
    pub is_cut: bool,
}
