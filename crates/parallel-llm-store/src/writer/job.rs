//! The writer's jobs and their results.

use std::fmt;
use std::time::Instant;

use parallel_llm_engine::port::Lease;
use parallel_llm_engine::run::event::Attempt;
use parallel_llm_engine::{BatchId, Failure, RunId};
use tokio::sync::oneshot;

use crate::batch::{Claim, Claims, JobEnd};
use crate::database::Transaction;
use crate::database::reply::Reply;
use crate::row::compressed::TextBody;
use crate::row::event_batch::EventBatch;
use crate::row::ownership::Stamp;
use crate::system::error::DatabaseError;
use crate::upkeep::purge::{PurgeStep, ReclaimStep};

/// The result of work that the database could do: admitted, or refused with a reason.
pub(crate) type Admission<T> = Result<T, Failure>;

/// Work for the writer.
#[derive(Debug)]
pub(crate) enum Work {
    /// Write events.
    Append { lease: Lease, batch: EventBatch },
    /// Write a partial text of an unfinished reply.
    Checkpoint { lease: Lease, attempt: Attempt, text: String },
    /// Give a run to this process, if its newest event is still `seq`.
    TakeOver { run_id: RunId, seq: Option<u64> },
    /// Close decided runs whose process is gone.
    CloseAbandoned,
    /// Release runs that this process no longer writes.
    Release(Vec<Lease>),
    /// Add texts to the index.
    Index,
    /// Remove the first of these runs, as many as fit in one step.
    Purge(Vec<RunId>),
    /// Take a step of overwriting purged data and freeing pages. The first step starts from the beginning.
    Reclaim { is_first: bool },
    /// Truncate the write-ahead log after the transaction.
    TruncateWal,
    /// Import spill files, which happens before any other work.
    ImportSpills,
    /// Claim jobs of a batch for this process.
    Claim { batch_id: BatchId, limit: usize },
    /// End a claim.
    Settle { claim: Claim, end: Box<JobEnd> },
    /// Write something that the writer does not keep in memory.
    Write(Write),
}

impl Work {
    /// The lease that is lost if this work fails: the engine then stops writing to its run.
    pub(super) fn lease_at_risk(&self) -> Option<Lease> {
        match self {
            // A run that has not begun has nothing to lose.
            Self::Append { lease, batch } => batch.continues().then_some(*lease),
            _ => None,
        }
    }

    /// The run of this work, if the writer may have it cached.
    pub(super) const fn run_id(&self) -> Option<RunId> {
        match self {
            Self::Append { lease, .. } | Self::Checkpoint { lease, .. } => Some(lease.run_id),
            Self::TakeOver { run_id, .. } => Some(*run_id),
            _ => None,
        }
    }

    /// The events that go to a file if the database does not accept them: those of a run in progress. Events that begin
    /// a run or a further part of one need the database's admission, and nothing has been paid for them yet.
    pub(super) fn spillable(&self) -> Option<(Lease, &EventBatch)> {
        match self {
            Self::Append { lease, batch } if batch.continues() && batch.reopening().is_none() => {
                Some((*lease, batch))
            }
            _ => None,
        }
    }

    /// Whether this work may begin a run or a further part of one, which only one process may do at a time.
    pub(super) fn is_admission(&self) -> bool {
        match self {
            Self::Append { batch, .. } => !batch.continues() || batch.reopening().is_some(),
            _ => false,
        }
    }

    /// The batch that it changes.
    pub(super) fn batch_id(&self) -> Option<BatchId> {
        match self {
            Self::Claim { batch_id, .. } => Some(*batch_id),
            Self::Settle { claim, .. } => Some(claim.batch_id),
            Self::Write(write) => write.batch_id,
            _ => None,
        }
    }

    /// Whether this work is worth waiting for a lock. Partial texts and the like are not.
    pub(super) const fn can_wait(&self) -> bool {
        match self {
            Self::Checkpoint { .. } | Self::CloseAbandoned | Self::Release(_) | Self::Index => false,
            Self::Write(write) => write.can_wait,
            _ => true,
        }
    }

    /// The run whose events these are.
    pub(super) const fn appended(&self) -> Option<RunId> {
        match self {
            Self::Append { lease, .. } => Some(lease.run_id),
            _ => None,
        }
    }

    /// Approximate bytes to be written, as far as known in advance.
    pub(super) fn bytes(&self) -> usize {
        match self {
            Self::Append { batch, .. } => {
                let texts = batch.texts.values().map(TextBody::len);
                texts.chain(batch.bodies.iter().map(String::len)).sum()
            }
            Self::Write(write) => write.bytes,
            _ => 0,
        }
    }
}

/// The result of work.
#[derive(Debug)]
pub(crate) enum Done {
    /// The work is durable.
    Written,
    /// The run belongs to this process now.
    TakenOver(TakenOver),
    /// Another process has taken over the run of this lease.
    Overtaken(Lease),
    /// Whether more texts wait for the index.
    Indexed(bool),
    /// The runs that were removed.
    Purged(PurgeStep),
    /// How far the overwriting has come.
    Reclaimed(ReclaimStep),
    /// Whether the log is empty.
    WalTruncated(bool),
    /// The claims; `None` if the batch is unknown.
    Claimed(Option<Box<Claims>>),
    /// The result of a write.
    Replied(Reply),
}

/// A run that this process has taken over.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TakenOver {
    pub(crate) lease: Lease,
    /// Whether its texts are stored.
    pub(crate) keeps_texts: bool,
}

/// Work, and the channel for its result.
#[derive(Debug)]
pub(crate) struct Job {
    pub(crate) work: Work,
    pub(crate) reply: oneshot::Sender<Result<Done, Failure>>,
    /// Until when it waits for the locks of other processes, by [`crate::system::clock::shared_now`].
    pub(crate) deadline: Instant,
}

/// A function of the transaction, which is called again if the transaction has to be repeated.
type WriteFn = dyn Fn(&mut Transaction, &Stamp) -> Result<Admission<Reply>, DatabaseError> + Send;

/// A write that touches nothing the writer keeps in memory.
pub(crate) struct Write {
    pub(super) function: Box<WriteFn>,
    /// The batch that it is about.
    pub(super) batch_id: Option<BatchId>,
    /// Approximate bytes to be written.
    pub(super) bytes: usize,
    /// Whether it is worth waiting for a lock.
    pub(super) can_wait: bool,
}

impl Write {
    pub(super) fn new<T: Send + 'static>(
        write: impl Fn(&mut Transaction, &Stamp) -> Result<Admission<T>, DatabaseError> + Send + 'static,
    ) -> Self {
        let write = move |transaction: &mut Transaction, stamp: &Stamp| {
            Ok(write(transaction, stamp)?.map(Reply::new))
        };
        Self { function: Box::new(write), batch_id: None, bytes: 0, can_wait: true }
    }
}

impl fmt::Debug for Write {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Write").field("batch_id", &self.batch_id).finish_non_exhaustive()
    }
}
