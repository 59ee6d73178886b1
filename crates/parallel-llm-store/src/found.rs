//! What a search finds, and how the words of people become a query.

use parallel_llm_engine::{Code, Failure, RunId, SeatNumber, StepNumber};

use crate::excerpt::Sought;

/// The most words one search may have. A long sentence has fewer; each costs a look-up.
const WORDS_MAX: usize = 64;

/// Where words were found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FoundIn {
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
pub struct Found {
    /// Which run.
    pub run_id: RunId,
    /// When it was first written, in milliseconds since 1970.
    pub created_at_ms: i64,
    /// Where the words stand: the first of question, answer and seats that has them all.
    pub place: FoundIn,
    /// The words with some others around them, on one line. A stranger's text.
    pub excerpt: String,
}

/// What came of a search.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Matches {
    /// The runs, newest first.
    pub found: Vec<Found>,
    /// Runs with texts that are not in the index yet, and were not searched.
    pub unindexed: u64,
}

/// What is looked for.
#[derive(Clone, Debug)]
pub(crate) struct Query {
    /// As the index takes it.
    pub(crate) index: String,
    /// As it is found again in a text.
    pub(crate) sought: Sought,
}

/// The query for texts in which each of these words begins a word. Everything a person can type is taken as words.
pub(crate) fn query(words: &str) -> Result<Query, Failure> {
    let sought = Sought::of(words);
    // The index ends a query at a zero byte, and knows no word without a letter or a digit.
    let words = words.split(|at: char| at.is_whitespace() || at.is_control());
    let quoted: Vec<String> = words
        .filter(|word| word.chars().any(char::is_alphanumeric))
        .map(|word| format!("\"{}\"*", word.replace('"', "\"\"")))
        .collect();
    let usage =
        |message: String| Err(Failure::new(Code::Usage, message).with_next("give some words to look for"));
    match quoted.len() {
        0 => usage("there are no words to look for".to_owned()),
        WORDS_MAX.. => usage(format!("a search has fewer than {WORDS_MAX} words")),
        _ => Ok(Query { index: quoted.join(" "), sought }),
    }
}
