//! Batches: files of questions, each worked through as a run.
//!
//! ```text
//! lines → Submission → store → Worker: claim → ask → settle → BatchResults
//! ```
//!
//! A batch is the owner's. Invariants: nothing of it is asked before its file is read to the end; a job's run has a key of
//! its own, so that a job that is claimed a second time goes on with the run that it has; and a failure that every other
//! job would meet pauses the batch.

mod question;
mod results;
mod submission;
mod worker;

use std::sync::Arc;

use parallel_llm_engine::value::next::Next;
use parallel_llm_engine::{BatchId, Code, Failure};
use parallel_llm_store::{Batch, BatchChange, BatchJob, JobFilter, JobsPage, Store};

use crate::ask::Asking;
use crate::lazy::Lazy;

pub use results::{BatchResults, JobOutcome};
pub use submission::{LINE_EXAMPLE, Line, Submission, Submitted};
pub use worker::{WorkScope, Worker};

/// The batches of the data folder or the database.
#[derive(Clone)]
pub struct Batches {
    pub(crate) asking: Asking,
    pub(crate) store: Arc<Lazy<Store>>,
}

impl Batches {
    /// All batches, newest first, up to 500.
    pub async fn list(&self) -> Result<Vec<Batch>, Failure> {
        self.store().await?.batches().await
    }

    /// The batch of this id or beginning of one; the newest without a name.
    pub async fn find(&self, name: Option<&str>) -> Result<Batch, Failure> {
        let unknown =
            |message: String| Failure::new(Code::Usage, message).with_next([Next::See("batch list".into())]);
        if let Some(id) = name.and_then(|name| name.trim().to_ascii_uppercase().parse().ok()) {
            let batch = self.store().await?.batch(id).await?;
            return batch.ok_or_else(|| unknown(format!("there is no batch {id}")));
        }
        let all = self.list().await?;
        let Some(name) = name else {
            return all.into_iter().next().ok_or_else(|| {
                let next = [Next::Type("batch submit FILE.jsonl".into())];
                Failure::new(Code::Usage, "there is no batch yet").with_next(next)
            });
        };
        let prefix = name.trim().to_ascii_uppercase();
        let mut found = all.into_iter().filter(|batch| batch.id.to_string().starts_with(&prefix));
        match (found.next(), found.next()) {
            (Some(batch), None) => Ok(batch),
            (Some(_), _) => Err(unknown(format!("`{name}` is the beginning of more than one id"))),
            (None, _) => Err(unknown(format!("there is no batch `{name}`"))),
        }
    }

    /// The batch as it is now.
    pub async fn get(&self, batch_id: BatchId) -> Result<Batch, Failure> {
        self.store().await?.batch(batch_id).await?.ok_or_else(|| gone(batch_id))
    }

    /// Changes a batch as a whole.
    pub async fn change(&self, batch_id: BatchId, change: BatchChange) -> Result<Batch, Failure> {
        self.store().await?.change_batch(batch_id, change).await?.ok_or_else(|| gone(batch_id))
    }

    /// Removes a batch and its jobs; its runs stay. Fails with `busy` while jobs of it are in progress.
    pub async fn remove(&self, batch_id: BatchId) -> Result<(), Failure> {
        let store = self.store().await?;
        let batch = self.get(batch_id).await?;
        if batch.running > 0 {
            let message = format!("{} questions of the batch {batch_id} are in progress", batch.running);
            let next = [Next::Type(format!("batch cancel {batch_id}").into())];
            return Err(Failure::new(Code::Busy, message).with_next(next));
        }
        store.delete_batch(batch_id).await.map(drop)
    }

    /// The first jobs of a batch that failed, and that cannot be used if they are wanted, in the order of their lines.
    pub async fn unanswered(
        &self,
        batch_id: BatchId,
        with_bad: bool,
        limit: usize,
    ) -> Result<Vec<BatchJob>, Failure> {
        let store = self.store().await?;
        let mut jobs = Vec::new();
        let filters = [JobFilter::Failed].into_iter().chain(with_bad.then_some(JobFilter::Bad));
        for filter in filters {
            jobs.extend(store.batch_jobs(JobsPage { batch_id, filter, after_line: 0, limit }).await?);
        }
        jobs.sort_by_key(|job| job.line);
        jobs.truncate(limit);
        Ok(jobs)
    }

    async fn store(&self) -> Result<&Store, Failure> {
        self.asking.planner.principal.check_owner()?;
        self.store.get().await
    }
}

fn gone(batch_id: BatchId) -> Failure {
    Failure::new(Code::Usage, format!("the batch {batch_id} was removed"))
        .with_next([Next::See("batch list".into())])
}
