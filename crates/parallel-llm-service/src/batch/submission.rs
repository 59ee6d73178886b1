//! Submitting a batch: its lines are checked and stored one after the other, so that a file of any size takes little
//! memory.

use parallel_llm_engine::request::StoreMode;
use parallel_llm_engine::value::next::Next;
use parallel_llm_engine::{BatchId, Code, Failure, PicoUsd};
use parallel_llm_settings::clock;
use parallel_llm_store::{Batch, BatchChange, JobRequest, NewBatch, NewJob, Store};

use super::{Batches, question};
use crate::ask::Question;
use crate::report::expected_cost::ExpectedCost;

/// The most jobs in one write, and the most bytes of them, a little more than that with a long last one.
const WRITE_JOBS_MAX: usize = 256;
const WRITE_BYTES_MAX: usize = 4 << 20;
/// The most bad lines that are kept to be shown at the end; the store has all.
const BAD_SHOWN_MAX: usize = 20;

/// A line of a file.
#[derive(Debug)]
pub struct Line {
    /// Its number, from 1.
    pub number: u64,
    /// The caller's own name for it.
    pub custom_id: Option<String>,
    /// What it asks, or why it cannot be read.
    pub question: Result<Question, Failure>,
}

/// A batch whose file is being read.
pub struct Submission<'a> {
    batches: &'a Batches,
    store: &'a Store,
    id: BatchId,
    budget: PicoUsd,
    waiting: Vec<NewJob>,
    waiting_bytes: usize,
    summary: Summary,
}

/// What the lines were.
#[derive(Debug, Default)]
struct Summary {
    cost: ExpectedCost,
    bad: Vec<(u64, Failure)>,
}

/// A batch whose file was read.
#[derive(Debug)]
pub struct Submitted {
    /// The batch.
    pub batch: Batch,
    /// What all its jobs will cost together.
    pub cost: ExpectedCost,
    /// The first lines that cannot be used, and why.
    pub bad: Vec<(u64, Failure)>,
}

impl Batches {
    /// Begins to submit a batch. Without a budget, that of the settings is the budget of the whole.
    pub async fn submit(&self, name: &str, budget: Option<PicoUsd>) -> Result<Submission<'_>, Failure> {
        let settings = self.asking.planner.settings();
        if settings.store != StoreMode::Full {
            let message = "a batch needs its answers to be stored, and the setting `store` says otherwise";
            return Err(Failure::new(Code::Usage, message).with_next([Next::Set("store".into())]));
        }
        let store = self.store().await?;
        let identity = clock::new_identity()?.run_id;
        let id = BatchId::from_parts(identity.unix_ms(), identity.bits());
        let budget = budget.unwrap_or(settings.budget);
        store.create_batch(NewBatch { id, name: name.to_owned(), budget }).await?;
        let summary = Summary::default();
        Ok(Submission { batches: self, store, id, budget, waiting: Vec::new(), waiting_bytes: 0, summary })
    }
}

impl Submission<'_> {
    /// The id of the batch.
    pub const fn id(&self) -> BatchId {
        self.id
    }

    /// Checks a line and stores it. Fails if no line could be asked, such as without a key.
    pub async fn add(&mut self, line: Line) -> Result<(), Failure> {
        let Line { number, custom_id, question } = line;
        let content = match question {
            Ok(question) => match self.check(question).await {
                Err(failure) if is_of_all(&failure) => return Err(failure),
                checked => checked,
            },
            Err(failure) => Err(failure),
        };
        match &content {
            Ok(request) => self.waiting_bytes += request.json.len(),
            Err(failure) => self.note_bad(number, failure.clone()),
        }
        self.waiting.push(NewJob { line: number, custom_id, content });
        if self.waiting.len() >= WRITE_JOBS_MAX || self.waiting_bytes >= WRITE_BYTES_MAX {
            self.write().await?;
        }
        Ok(())
    }

    /// Ends the file: its jobs may be asked from now on. A batch without a usable line is removed.
    pub async fn finish(mut self) -> Result<Submitted, Failure> {
        let submitted = self.checked().await?;
        let batch = self.batches.change(self.id, BatchChange::Begin).await?;
        Ok(Submitted { batch, ..submitted })
    }

    /// Ends the file, and removes what was stored: nothing of it is ever asked.
    pub async fn dry_run(mut self) -> Result<Submitted, Failure> {
        let submitted = self.checked().await?;
        self.store.delete_batch(self.id).await?;
        Ok(submitted)
    }

    async fn checked(&mut self) -> Result<Submitted, Failure> {
        self.write().await?;
        let batch = self.batches.get(self.id).await?;
        let mut bad = std::mem::take(&mut self.summary.bad);
        bad.sort_by_key(|(line, _)| *line);
        if batch.open() == 0 {
            self.store.delete_batch(self.id).await?;
            let why = bad.first().map(|(line, failure)| format!(": line {line}: {}", failure.message));
            let message = format!("no line of the file can be used{}", why.unwrap_or_default());
            let steps = bad.first().map(|(_, failure)| failure.next_steps().to_vec());
            let steps = steps.unwrap_or_else(|| Next::Example(LINE_EXAMPLE.into()).into());
            return Err(Failure::new(Code::Usage, message).with_next(steps));
        }
        Ok(Submitted { batch, cost: std::mem::take(&mut self.summary.cost), bad })
    }

    /// Removes what was stored, because the file could not be read to its end.
    pub async fn give_up(self) {
        // What stays is shown as a batch that was not read, and nothing of it is ever asked.
        drop(self.store.delete_batch(self.id).await);
    }

    async fn check(&mut self, mut question: Question) -> Result<JobRequest, Failure> {
        // A folder for each of ten thousand runs is rarely wanted; `runs export` makes one.
        question.request.files = question.request.files.or(Some(false));
        let json = question::stored(&question);
        // Whoever allows more for the whole allows it for a line that sets no budget of its own.
        let usual = self.batches.asking.planner.settings().budget;
        question.request.budget.get_or_insert(usual.max(self.budget));
        let quote = self.batches.asking.quote(question).await?;
        quote.check()?;
        let cost = quote.plan().map_or_else(ExpectedCost::default, ExpectedCost::of);
        let worst_case = cost.worst_case.known_part();
        self.summary.cost = std::mem::take(&mut self.summary.cost).plus(&cost);
        Ok(JobRequest { json, worst_case })
    }

    async fn write(&mut self) -> Result<(), Failure> {
        if self.waiting.is_empty() {
            return Ok(());
        }
        self.waiting_bytes = 0;
        let taken = self.store.add_jobs(self.id, std::mem::take(&mut self.waiting)).await?;
        for line in taken {
            self.note_bad(line, Failure::new(Code::Usage, "an earlier line has the same id"));
        }
        Ok(())
    }

    fn note_bad(&mut self, line: u64, failure: Failure) {
        if self.summary.bad.len() < BAD_SHOWN_MAX {
            self.summary.bad.push((line, failure));
        }
    }
}

/// A line of a file, for whoever wrote it otherwise.
pub const LINE_EXAMPLE: &str = "{\"prompt\": \"Why?\"}, one question a line";

/// Whether every other line would fail in the same way.
const fn is_of_all(failure: &Failure) -> bool {
    failure.code.stops_key()
        || matches!(
            failure.code,
            Code::SettingsInvalid
                | Code::InsecureUrl
                | Code::Storage
                | Code::Internal
                | Code::CheckUnavailable
        )
}
