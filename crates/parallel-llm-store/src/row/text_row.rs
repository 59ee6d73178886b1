//! Stored texts and their words in the index.

/// A text of a run; the hash of its plan is empty.
#[derive(Debug)]
pub(crate) struct TextRow {
    pub(crate) hash: String,
    pub(crate) text: String,
}

/// A text that contains the searched words.
#[derive(Debug)]
pub(crate) struct Passage {
    pub(crate) text_id: i64,
    pub(crate) run_id: String,
    pub(crate) hash: String,
    pub(crate) created_at_ms: i64,
    pub(crate) asked_by: Option<String>,
    /// The text itself, if the query needs it.
    pub(crate) text: Option<String>,
}

/// Which words of a text match the last word of a phrase.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WordMatching {
    /// Those that begin with it.
    Beginnings,
    /// Only the word itself. The index then returns the newest texts at once, however many there are.
    Whole,
}

/// The words of a text.
#[derive(Debug)]
pub(crate) struct IndexedText {
    pub(crate) text_id: i64,
    /// The words, separated by spaces.
    pub(crate) line: String,
}

/// Which runs to index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum IndexScope {
    /// All runs, for a search.
    All,
    /// Only closed runs, which get no more texts.
    Closed,
}
