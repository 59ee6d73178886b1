//! What the writer is asked to do, and what comes of it.

use parallel_llm_engine::port::Lease;
use parallel_llm_engine::run::event::Attempt;
use parallel_llm_engine::{Failure, RunId};
use tokio::sync::oneshot;
use tokio::time::Instant;

use crate::purge::{PurgeStep, ReclaimStep};
use crate::row::compressed::TextBody;
use crate::row::event_batch::EventBatch;
use crate::tokens::{NewToken, Token};

/// What became of a piece of work that the database could do: let in, or refused and why.
pub(crate) type Admission<T> = Result<T, Failure>;

/// What the writer is asked to do.
#[derive(Debug)]
pub(crate) enum Work {
    /// Write events.
    Append { lease: Lease, batch: EventBatch },
    /// Keep the text of a reply on its way.
    Checkpoint { lease: Lease, attempt: Attempt, text: String },
    /// Give a run to this process, if nothing has happened in it after the event `seq`.
    TakeOver { run_id: RunId, seq: Option<u64> },
    /// Give runs away that nobody here writes any more.
    Release(Vec<Lease>),
    /// Put texts into the index of words.
    Index,
    /// Take runs away, as many of the first of them as one step does.
    Purge(Vec<RunId>),
    /// Overwrite what is left of purged runs and give free pages back, as far as one step goes. The first step begins anew.
    Reclaim { is_first: bool },
    /// Empty the write-ahead log, after the transaction.
    TruncateWal,
    /// Take in what was spilled, which is done before any other work.
    ImportSpills,
    /// Make a token.
    CreateToken(NewToken),
    /// Revoke the token of this number.
    RevokeToken(i64),
    /// Note that the token of this number was used.
    NoteTokenUse(i64),
}

impl Work {
    /// The right to a run that is lost if this fails: the engine writes no more of it then.
    pub(super) fn lease_at_risk(&self) -> Option<Lease> {
        match self {
            // Of one that has not begun there is nothing to lose.
            Self::Append { lease, batch } => batch.continues().then_some(*lease),
            _ => None,
        }
    }

    /// The run it is about, where it is about one that the writer may have cached.
    pub(super) const fn run_id(&self) -> Option<RunId> {
        match self {
            Self::Append { lease, .. } | Self::Checkpoint { lease, .. } => Some(lease.run_id),
            Self::TakeOver { run_id, .. } => Some(*run_id),
            _ => None,
        }
    }

    /// The events that are kept in a file where the database does not take them: those of a run under way. What begins a
    /// run, or a further part of one, has to be let in by the database, and nothing has been paid for it yet.
    pub(super) fn spillable(&self) -> Option<(Lease, &EventBatch)> {
        match self {
            Self::Append { lease, batch } if batch.continues() && batch.reopening().is_none() => {
                Some((*lease, batch))
            }
            _ => None,
        }
    }

    /// Whether it is worth waiting for. A text on its way and the like are not.
    pub(super) const fn can_wait(&self) -> bool {
        !matches!(self, Self::Checkpoint { .. } | Self::NoteTokenUse(_) | Self::Release(_) | Self::Index)
    }

    /// The run whose events these are.
    pub(super) const fn appended(&self) -> Option<RunId> {
        match self {
            Self::Append { lease, .. } => Some(lease.run_id),
            _ => None,
        }
    }

    /// About how much this writes, as far as that is known before it is done.
    pub(super) fn bytes(&self) -> usize {
        match self {
            Self::Append { batch, .. } => {
                let texts = batch.texts.values().map(TextBody::len);
                texts.chain(batch.bodies.iter().map(String::len)).sum()
            }
            _ => 0,
        }
    }
}

/// What came of it.
#[derive(Clone, Debug)]
pub(crate) enum Done {
    /// It is written.
    Written,
    /// The run is this process's now.
    TakenOver(TakenOver),
    /// Whether there is more to index.
    Indexed(bool),
    /// Which runs are gone.
    Purged(PurgeStep),
    /// How far the overwriting has come.
    Reclaimed(ReclaimStep),
    /// Whether the log is empty.
    WalTruncated(bool),
    /// The token as it is now, where there is one.
    Token(Option<Token>),
}

/// A run that was given to this process.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TakenOver {
    pub(crate) lease: Lease,
    /// Whether its texts are stored.
    pub(crate) keeps_texts: bool,
}

/// What was asked, and where the answer goes.
#[derive(Debug)]
pub(crate) struct Job {
    pub(crate) work: Work,
    pub(crate) reply: oneshot::Sender<Result<Done, Failure>>,
    /// Until when it waits for those of other processes.
    pub(crate) deadline: Instant,
}
