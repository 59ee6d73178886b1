//! The writer's jobs and their results.

use std::time::Instant;

use parallel_llm_engine::port::Lease;
use parallel_llm_engine::run::event::Attempt;
use parallel_llm_engine::{BatchId, Failure, RunId};
use tokio::sync::oneshot;

use crate::purge::{PurgeStep, ReclaimStep};
use crate::row::compressed::TextBody;
use crate::row::event_batch::EventBatch;
use crate::sessions::SessionWork;
use crate::tokens::{NewToken, Token};
use crate::writer::batch_work::{BatchDone, BatchWork};

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
    /// Ask the process of a run to give it up.
    RequestCancel(RunId),
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
    /// Make a token.
    CreateToken(NewToken),
    /// Revoke the token of this number.
    RevokeToken(i64),
    /// Record that the token of this number was used.
    NoteTokenUse(i64),
    /// Something about sessions of browsers.
    Session(SessionWork),
    /// Something about batches.
    Batch(BatchWork),
    /// Show that a transaction can be made.
    Nothing,
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
            Self::Batch(work) => work.batch_id(),
            _ => None,
        }
    }

    /// Whether this work is worth waiting for a lock. Partial texts and the like are not.
    pub(super) const fn can_wait(&self) -> bool {
        !matches!(
            self,
            Self::Checkpoint { .. }
                | Self::CloseAbandoned
                | Self::NoteTokenUse(_)
                | Self::Session(SessionWork::NoteUse(_))
                | Self::Release(_)
                | Self::Index
                | Self::Nothing
        )
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
            Self::Batch(work) => work.bytes(),
            _ => 0,
        }
    }
}

/// The result of work.
#[derive(Clone, Debug)]
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
    /// The current token, if it exists.
    Token(Option<Token>),
    /// The result of work on batches.
    Batch(BatchDone),
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
    /// Until when it waits for the locks of other processes, by [`crate::clock::shared_now`].
    pub(crate) deadline: Instant,
}
