//! The state of the database: version, size, contents, integrity.

use std::collections::{BTreeMap, BTreeSet};

use parallel_llm_engine::RunId;

/// Most problems named; more say the same.
const PROBLEMS_MAX: usize = 10;
/// Most damaged runs listed. With more, the database needs to be restored anyway.
pub(crate) const DAMAGED_RUNS_MAX: usize = 1_000;

/// The version, size and contents of the database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DatabaseState {
    /// The name and version of the database engine.
    pub version: String,
    /// The version of the schema.
    pub format: u32,
    /// Its size in bytes, without the write-ahead log.
    pub bytes: u64,
    /// The size of the write-ahead log in bytes; `None` on a server, which looks after its own.
    pub log_bytes: Option<u64>,
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

/// What a checked row is part of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Whole {
    Run,
    Batch,
}

impl Whole {
    const fn word(self) -> &'static str {
        match self {
            Self::Run => "run",
            Self::Batch => "batch",
        }
    }
}

/// A problem that a check found.
pub(crate) struct Finding {
    problem: String,
    /// The run concerned, if any. Damaged itself, it may be an invalid id.
    run_id: Option<String>,
}

impl Finding {
    /// A problem of no certain run.
    pub(crate) fn of(problem: impl Into<String>) -> Self {
        Self { problem: problem.into(), run_id: None }
    }

    /// A part of a run or a batch that does not match its checksum.
    pub(crate) fn unsound(part: &str, whole: Whole, id: Option<String>) -> Self {
        let (word, named) = (whole.word(), id.as_deref().unwrap_or("?"));
        let problem = format!("{part} of the {word} {named} is not what was written");
        Self { problem, run_id: id.filter(|_| whole == Whole::Run) }
    }

    /// A run without one of its events.
    pub(crate) fn lacks_event(run_id: String) -> Self {
        Self { problem: format!("an event of the run {run_id} is missing"), run_id: Some(run_id) }
    }
}

/// The problem that the database has a part, such as a trigger on a table, that is not ours: it may change what is written.
pub(crate) fn foreign_part(part: &str) -> String {
    format!("it has the {part}, which this program does not make")
}

/// The findings of a check so far.
#[derive(Debug, Default)]
pub(crate) struct Findings {
    problems: Vec<String>,
    runs: BTreeSet<RunId>,
}

impl Findings {
    pub(crate) fn add(&mut self, finding: Finding) {
        if self.problems.len() < PROBLEMS_MAX {
            self.problems.push(finding.problem);
        }
        self.runs.extend(finding.run_id.and_then(|id| id.parse::<RunId>().ok()));
    }

    /// Whether no more can be listed.
    pub(crate) fn is_full(&self) -> bool {
        self.runs.len() >= DAMAGED_RUNS_MAX
    }

    /// The report; `None` without findings.
    pub(crate) fn damages(self) -> Option<DamageReport> {
        let runs = self.runs.into_iter().collect();
        (!self.problems.is_empty()).then_some(DamageReport { problems: self.problems, runs })
    }
}
