//! Batches through the store: reading them, and asking the writer to change them.

use parallel_llm_engine::{BatchId, Failure};

use crate::batch::{Batch, BatchChange, BatchJob, Claim, Claims, JobEnd, JobsPage, NewBatch, NewJob};
use crate::database::Reader;
use crate::store::Store;

/// The most jobs in a page, and the most claimed at once.
const JOBS_MAX: usize = 500;
/// The most batches that are listed, or worked on at once.
const BATCHES_MAX: usize = 500;

impl Store {
    /// Creates a batch without jobs. Fails with `usage` if there is one of its id.
    pub async fn create_batch(&self, new: NewBatch) -> Result<Batch, Failure> {
        self.shared.writer.create_batch(new).await
    }

    /// Adds jobs to a batch whose file is being read. A job whose own name is taken becomes bad; returns these lines.
    pub async fn add_jobs(&self, batch_id: BatchId, jobs: Vec<NewJob>) -> Result<Vec<u64>, Failure> {
        self.shared.writer.add_jobs(batch_id, jobs).await
    }

    /// Changes a batch as a whole. Fails with `usage` if it is in no state for that, `None` if it is unknown.
    pub async fn change_batch(
        &self,
        batch_id: BatchId,
        change: BatchChange,
    ) -> Result<Option<Batch>, Failure> {
        self.shared.writer.change_batch(batch_id, change).await
    }

    /// Removes a batch and its jobs; its runs stay. Returns whether there was one.
    pub async fn delete_batch(&self, batch_id: BatchId) -> Result<bool, Failure> {
        self.shared.writer.delete_batch(batch_id).await
    }

    /// Claims up to `limit` jobs of a batch for this process, as far as its budget allows; pauses it if it allows none
    /// and none is in progress. `None` if there is no such batch.
    pub async fn claim_jobs(&self, batch_id: BatchId, limit: usize) -> Result<Option<Claims>, Failure> {
        self.shared.writer.claim_jobs(batch_id, limit.min(JOBS_MAX)).await
    }

    /// Ends a claim. Fails with `busy` if another process has claimed the job since.
    pub async fn settle_job(&self, claim: Claim, end: JobEnd) -> Result<(), Failure> {
        self.shared.writer.settle_job(claim, end).await
    }

    /// Gives back the claims of processes that are gone.
    pub async fn release_lost_jobs(&self) -> Result<(), Failure> {
        self.shared.writer.release_lost_jobs().await
    }

    /// The batches, newest first; up to 500.
    pub async fn batches(&self) -> Result<Vec<Batch>, Failure> {
        self.shared.database.read(|reader: &Reader<'_>| Ok(reader.batches(BATCHES_MAX)?)).await
    }

    /// The batches with jobs that are or will be claimed, oldest first; up to 500, so that the oldest are worked on first.
    pub async fn open_batches(&self) -> Result<Vec<Batch>, Failure> {
        self.shared.database.read(|reader: &Reader<'_>| Ok(reader.open_batches(BATCHES_MAX)?)).await
    }

    /// A batch; `None` if it is unknown.
    pub async fn batch(&self, batch_id: BatchId) -> Result<Option<Batch>, Failure> {
        self.shared.database.read(move |reader: &Reader<'_>| Ok(reader.batch(batch_id)?)).await
    }

    /// A page of the jobs of a batch.
    pub async fn batch_jobs(&self, page: JobsPage) -> Result<Vec<BatchJob>, Failure> {
        let page = JobsPage { limit: page.limit.min(JOBS_MAX), ..page };
        self.shared.database.read(move |reader: &Reader<'_>| Ok(reader.batch_jobs(&page)?)).await
    }
}
