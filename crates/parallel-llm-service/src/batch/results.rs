//! The results of a batch, read in the order of its lines, a page at a time.

use std::collections::VecDeque;

use parallel_llm_engine::{BatchId, Failure, RunId};
use parallel_llm_store::{BatchJob, JobFilter, JobState, JobsPage, Store};

use super::Batches;
use crate::report::Report;
use crate::runs::History;

/// The jobs of a page.
const PAGE_JOBS: usize = 200;

/// A job with the report of its run.
#[derive(Debug)]
pub struct JobOutcome {
    /// The job.
    pub job: BatchJob,
    /// The report of its run; `None` without an answer, or if the run was removed.
    pub report: Option<Report>,
}

/// The results of a batch.
pub struct BatchResults {
    store: Store,
    history: History,
    batch_id: BatchId,
    page: VecDeque<BatchJob>,
    after_line: u64,
}

impl Batches {
    /// The results of a batch, whatever its state: the jobs that have ended so far, and bad lines.
    pub async fn results(&self, batch_id: BatchId) -> Result<BatchResults, Failure> {
        let (store, history) = (self.store().await?.clone(), self.asking.history.clone());
        Ok(BatchResults { store, history, batch_id, page: VecDeque::new(), after_line: 0 })
    }
}

impl BatchResults {
    /// The next job that has ended; `None` at the end.
    pub async fn next(&mut self) -> Result<Option<JobOutcome>, Failure> {
        loop {
            while let Some(job) = self.page.pop_front() {
                self.after_line = job.line;
                if matches!(job.state, JobState::Waiting | JobState::Running) {
                    continue;
                }
                let report = match job.run_id {
                    Some(id) if job.state == JobState::Answered => self.report(id).await?,
                    _ => None,
                };
                return Ok(Some(JobOutcome { job, report }));
            }
            let (batch_id, after_line) = (self.batch_id, self.after_line);
            let page = JobsPage { batch_id, filter: JobFilter::All, after_line, limit: PAGE_JOBS };
            self.page = self.store.batch_jobs(page).await?.into();
            if self.page.is_empty() {
                return Ok(None);
            }
        }
    }

    async fn report(&self, id: RunId) -> Result<Option<Report>, Failure> {
        match self.history.load(id).await {
            Ok(past) => Ok(Some(past.report())),
            Err(failure) if failure.code == parallel_llm_engine::Code::RunNotFound => Ok(None),
            Err(failure) => Err(failure),
        }
    }
}
