//! Batches through the store: reading them, and asking the writer to change them.

use parallel_llm_engine::{BatchId, Failure};

use super::store::Store;
use crate::batch::{Batch, BatchChange, BatchJob, Claim, Claims, JobEnd, JobsPage, NewBatch, NewJob};
use crate::database::{Reader, Transaction};
use crate::row::compressed::TextBody;
use crate::row::job_row::NewJobRow;
use crate::row::ownership::Stamp;
use crate::writer::batches;

/// The most jobs in a page, and the most claimed at once.
const JOBS_MAX: usize = 500;
/// The most batches that are listed, or worked on at once.
const BATCHES_MAX: usize = 500;

impl Store {
    /// Creates a batch without jobs. Fails with `usage` if there is one of its id.
    pub async fn create_batch(&self, new: NewBatch) -> Result<Batch, Failure> {
        let batch_id = new.id;
        let create = move |into: &mut Transaction, stamp: &Stamp| batches::create(into, &new, stamp.now_ms);
        self.shared.writer.write_batch(batch_id, 0, create).await
    }

    /// Adds jobs to a batch whose file is being read. A job whose own name is taken becomes bad; returns these lines.
    pub async fn add_jobs(&self, batch_id: BatchId, jobs: Vec<NewJob>) -> Result<Vec<u64>, Failure> {
        // Compressed here and not on the thread that all runs share: compressing takes longer than writing.
        let jobs: Vec<NewJobRow> = jobs.into_iter().map(|job| NewJobRow::of(batch_id, job)).collect();
        let bytes = jobs.iter().filter_map(|job| job.request.as_ref()).map(TextBody::len).sum();
        let add = move |into: &mut Transaction, _: &Stamp| batches::add_jobs(into, batch_id, &jobs);
        self.shared.writer.write_batch(batch_id, bytes, add).await
    }

    /// Changes a batch as a whole. Fails with `usage` if it is in no state for that, `None` if it is unknown.
    pub async fn change_batch(
        &self,
        batch_id: BatchId,
        change: BatchChange,
    ) -> Result<Option<Batch>, Failure> {
        let change = move |into: &mut Transaction, _: &Stamp| batches::change(into, batch_id, change);
        self.shared.writer.write_batch(batch_id, 0, change).await
    }

    /// Removes a batch and its jobs; its runs stay. Returns whether there was one.
    pub async fn delete_batch(&self, batch_id: BatchId) -> Result<bool, Failure> {
        let delete = move |into: &mut Transaction, _: &Stamp| Ok(Ok(into.delete_batch(batch_id)?));
        self.shared.writer.write_batch(batch_id, 0, delete).await
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
        self.shared.writer.write(|into, stamp| batches::release_lost(into, stamp.now_ms)).await
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
