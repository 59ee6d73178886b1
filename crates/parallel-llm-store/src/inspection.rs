//! The state of the database: version, size, contents, integrity.

use std::collections::BTreeMap;

use parallel_llm_engine::RunId;

/// The version, size and contents of the database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DatabaseState {
    /// The name and version of the database engine.
    pub version: String,
    /// The version of the schema.
    pub format: u32,
    /// Its size in bytes, without the write-ahead log.
    pub bytes: u64,
    /// The size of the write-ahead log in bytes.
    pub log_bytes: u64,
    /// Whether an unfinished purge left words in the index that are not overwritten yet.
    pub has_purged_words: bool,
    /// The number of runs by status. An interrupted run counts as `running`.
    pub runs: BTreeMap<String, u64>,
}

impl DatabaseState {
    /// The number of all runs.
    pub fn runs_total(&self) -> u64 {
        self.runs.values().sum()
    }
}

/// The depth of an integrity check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CheckDepth {
    /// All pages, without comparing indexes with their tables.
    Quick,
    /// Pages and indexes, and every text and row against its checksum.
    Full,
}

/// The result of an integrity check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Integrity {
    /// No damage was found.
    Intact,
    /// Damage was found.
    Damaged(DamageReport),
    /// No damage was found before the time ran out.
    Unfinished,
}

/// The damage of a database.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DamageReport {
    /// The first problems; problems of pages in the database's words.
    pub problems: Vec<String>,
    /// The runs with damaged data, oldest first; at most 1,000. Empty if only pages were checked.
    pub runs: Vec<RunId>,
}
