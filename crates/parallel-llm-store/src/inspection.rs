//! How the database stands: what it is, how large, and whether it is whole.

use std::collections::BTreeMap;

use parallel_llm_engine::RunId;

/// What the database is, and how much is in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DatabaseState {
    /// The name and version of what reads and writes it.
    pub version: String,
    /// The version of its format.
    pub format: u32,
    /// Its size in bytes, without the write-ahead log.
    pub bytes: u64,
    /// The size of the write-ahead log in bytes.
    pub log_bytes: u64,
    /// Whether a purge was given up before the words of its runs were overwritten in the index.
    pub has_purged_words: bool,
    /// How many runs there are, by the word of their status. One that a process left unfinished is counted as `running`.
    pub runs: BTreeMap<String, u64>,
}

impl DatabaseState {
    /// How many runs there are in all.
    pub fn runs_total(&self) -> u64 {
        self.runs.values().sum()
    }
}

/// How much of the database is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CheckDepth {
    /// Every page, but not whether each index has what its table has.
    Quick,
    /// Everything, and whether each text and each row is what was written.
    Full,
}

/// What came of looking whether the database is whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Integrity {
    /// It is.
    Intact,
    /// It is not.
    Damaged(DamageReport),
    /// Nothing was found as far as was looked; there was no time for all of it.
    Unfinished,
}

/// What is wrong with a database.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DamageReport {
    /// The first problems, those of its pages in the words of what reads them.
    pub problems: Vec<String>,
    /// The runs of which something is not what was written, oldest first; at most 1,000. None where only pages were looked at.
    pub runs: Vec<RunId>,
}
