//! The writer's work on batches, and its results.

use parallel_llm_engine::BatchId;

use crate::batch::{Batch, BatchChange, Claim, Claims, JobEnd, NewBatch};
use crate::row::compressed::TextBody;
use crate::row::job_row::NewJobRow;

/// Work on batches.
#[derive(Debug)]
pub(crate) enum BatchWork {
    Create(NewBatch),
    AddJobs { batch_id: BatchId, jobs: Vec<NewJobRow> },
    Change { batch_id: BatchId, change: BatchChange },
    Delete(BatchId),
    Claim { batch_id: BatchId, limit: usize },
    Settle { claim: Claim, end: Box<JobEnd> },
    ReleaseLost,
}

/// The result of work on batches.
#[derive(Clone, Debug)]
pub(crate) enum BatchDone {
    /// The batch after it, if there is one.
    Batch(Option<Batch>),
    /// The lines whose own names are taken.
    Taken(Vec<u64>),
    /// The claims; `None` if the batch is unknown.
    Claims(Option<Claims>),
    /// Whether there was a batch.
    Deleted(bool),
    /// It is done.
    Done,
}

impl BatchWork {
    /// The batch that it changes.
    pub(super) const fn batch_id(&self) -> Option<BatchId> {
        match self {
            Self::Create(NewBatch { id, .. }) | Self::Delete(id) => Some(*id),
            Self::AddJobs { batch_id, .. } | Self::Change { batch_id, .. } | Self::Claim { batch_id, .. } => {
                Some(*batch_id)
            }
            Self::Settle { claim, .. } => Some(claim.batch_id),
            Self::ReleaseLost => None,
        }
    }

    /// Approximate bytes to be written.
    pub(super) fn bytes(&self) -> usize {
        match self {
            Self::AddJobs { jobs, .. } => {
                jobs.iter().filter_map(|job| job.request.as_ref()).map(TextBody::len).sum()
            }
            _ => 0,
        }
    }
}
