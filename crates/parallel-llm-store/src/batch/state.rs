//! A batch and its jobs as they are shown.

use parallel_llm_engine::{BatchId, Failure, PicoUsd, RunId};

/// Whether the jobs of a batch are claimed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BatchState {
    /// Its file is not read to its end: nothing of it is asked.
    Reading,
    /// Its jobs are claimed while any wait.
    Running,
    /// No job is claimed until its user resumes it.
    Paused,
    /// No job is claimed any more.
    Cancelled,
}

impl BatchState {
    const ALL: [Self; 4] = [Self::Reading, Self::Running, Self::Paused, Self::Cancelled];

    /// Its name, as stored.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Reading => "reading",
            Self::Running => "running",
            Self::Paused => "paused",
            Self::Cancelled => "cancelled",
        }
    }

    pub(crate) fn by_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.word() == word)
    }
}

/// A batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Batch {
    /// Its id.
    pub id: BatchId,
    /// The name of its file.
    pub name: String,
    /// Whether its jobs are claimed.
    pub state: BatchState,
    /// Why it is paused; `None` if its user paused it, or if it is not paused.
    pub pause: Option<Failure>,
    /// What all its runs may cost together.
    pub budget: PicoUsd,
    /// When it was submitted, in milliseconds since 1970.
    pub created_at_ms: i64,
    /// When a job of it ended last.
    pub settled_at_ms: Option<i64>,
    /// Its lines, bad ones included.
    pub jobs: u64,
    /// Lines that cannot be used.
    pub bad: u64,
    /// Jobs with an answer.
    pub answered: u64,
    /// Those of them that lack a seat.
    pub partial: u64,
    /// Jobs without an answer that are not asked again by themselves.
    pub failed: u64,
    /// What its jobs have cost.
    pub spent: JobCost,
    /// What the jobs in progress may cost at worst.
    pub reserved: PicoUsd,
    /// Jobs that a process has claimed.
    pub running: u64,
    /// The processes that have claimed them.
    pub workers: u64,
}

impl Batch {
    /// Jobs that have neither an answer nor failed.
    pub const fn open(&self) -> u64 {
        self.jobs.saturating_sub(self.bad + self.answered + self.failed)
    }

    /// Jobs that no process has claimed.
    pub const fn waiting(&self) -> u64 {
        self.open().saturating_sub(self.running)
    }

    /// Whether its file was read and every job has ended.
    pub fn is_finished(&self) -> bool {
        self.state != BatchState::Reading && self.open() == 0
    }
}

/// What the run of a job has cost, or all of a batch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct JobCost {
    /// What is known.
    pub known: PicoUsd,
    /// The most that calls of unknown cost can have cost besides. It counts against the budget.
    pub unknown_max: PicoUsd,
    /// Jobs with a call whose cost and price nobody knows, so that nothing bounds it.
    pub unbounded: u64,
}

impl JobCost {
    /// The most that it can be, as far as prices are known.
    pub const fn most(self) -> PicoUsd {
        self.known.plus(self.unknown_max)
    }
}

/// The state of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JobState {
    /// Its line cannot be used.
    Bad,
    /// It may be claimed.
    Waiting,
    /// A process has claimed it.
    Running,
    /// Its run has an answer.
    Answered,
    /// It has no answer, and will not be asked again by itself.
    Failed,
}

impl JobState {
    const ALL: [Self; 5] = [Self::Bad, Self::Waiting, Self::Running, Self::Answered, Self::Failed];

    /// Its name, as stored.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Bad => "bad",
            Self::Waiting => "waiting",
            Self::Running => "running",
            Self::Answered => "answered",
            Self::Failed => "failed",
        }
    }

    pub(crate) fn by_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.word() == word)
    }
}

/// A job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BatchJob {
    /// The line of the file, from 1.
    pub line: u64,
    /// The caller's own name for it.
    pub custom_id: Option<String>,
    /// Its state.
    pub state: JobState,
    /// Its run, once one has begun and ended or was given up.
    pub run_id: Option<RunId>,
    /// What its run has cost.
    pub cost: JobCost,
    /// Why it has no answer, or why it was put off last.
    pub failure: Option<Failure>,
}

/// Which jobs of a batch to read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum JobFilter {
    /// All.
    #[default]
    All,
    /// Those that failed.
    Failed,
    /// Those whose line cannot be used.
    Bad,
}

/// A page of the jobs of a batch, in the order of their lines.
#[derive(Clone, Copy, Debug)]
pub struct JobsPage {
    /// The batch.
    pub batch_id: BatchId,
    /// Which jobs.
    pub filter: JobFilter,
    /// Only jobs after this line.
    pub after_line: u64,
    /// The most jobs to return, up to 500.
    pub limit: usize,
}
