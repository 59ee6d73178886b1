//! A text as the database holds it, and its words in the index.

/// A text of a run; of the plan the hash is empty.
#[derive(Debug)]
pub(crate) struct TextRow {
    pub(crate) hash: String,
    pub(crate) text: String,
}

/// A text in which words were found.
#[derive(Debug)]
pub(crate) struct Passage {
    pub(crate) text_id: i64,
    pub(crate) run_id: String,
    pub(crate) hash: String,
    pub(crate) created_at_ms: i64,
    /// The text itself, where the query needs it.
    pub(crate) text: Option<String>,
}

/// The words of a text.
#[derive(Debug)]
pub(crate) struct IndexedText {
    pub(crate) text_id: i64,
    /// A space between any two.
    pub(crate) line: String,
}

/// Which runs to index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum IndexScope {
    /// All, because somebody searches.
    All,
    /// Those that are over: nothing more is to come of them.
    Closed,
}
