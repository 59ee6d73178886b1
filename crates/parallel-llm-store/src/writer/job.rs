//! What the writer is asked to do, and what comes of it.

use parallel_llm_engine::port::Lease;
use parallel_llm_engine::run::event::Attempt;
use parallel_llm_engine::{Failure, RunId};
use tokio::sync::oneshot;
use tokio::time::Instant;

use crate::purge::{PurgeStep, ReclaimStep};
use crate::row::compressed::Packed;
use crate::row::entries::Entries;
use crate::tokens::{NewToken, Token};

/// What the writer is asked to do.
#[derive(Debug)]
pub(crate) enum Work {
    /// Write events.
    Append(Lease, Entries),
    /// Keep the text of a reply on its way.
    Checkpoint(Lease, Attempt, String),
    /// Give a run to this process, if nothing has happened in it after this event.
    TakeOver(RunId, Option<u64>),
    /// Give runs away that nobody here writes any more.
    LetGo(Vec<Lease>),
    /// Put texts into the index of words.
    Index,
    /// Take runs away, as many of the first of them as one step does.
    Purge(Vec<RunId>),
    /// Overwrite what is left of purged runs and give free pages back, as far as one step goes. The first step begins anew.
    Reclaim { is_first: bool },
    /// Empty the write-ahead log, after the transaction.
    ClearLog,
    /// Take in what was spilled, which is done before any other work.
    TakeIn,
    /// Make a token.
    CreateToken(NewToken),
    /// Revoke the token of this number.
    RevokeToken(i64),
    /// Note that the token of this number was used.
    NoteTokenUse(i64),
}

impl Work {
    /// The right to a run that is lost if this fails: the engine writes no more of it then.
    pub(crate) fn at_stake(&self) -> Option<Lease> {
        match self {
            // Of one that has not begun there is nothing to lose.
            Self::Append(lease, entries) => entries.go_on().then_some(*lease),
            _ => None,
        }
    }

    /// The run it is about, where it is about one whose events the writer may have at hand.
    pub(crate) const fn run_id(&self) -> Option<RunId> {
        match self {
            Self::Append(lease, _) | Self::Checkpoint(lease, ..) => Some(lease.run_id),
            Self::TakeOver(run_id, _) => Some(*run_id),
            _ => None,
        }
    }

    /// The events that are kept in a file where the database does not take them: those of a run under way. What begins a
    /// run, or a further part of one, has to be let in by the database, and nothing has been paid for it yet.
    pub(crate) fn spillable(&self) -> Option<(Lease, &Entries)> {
        match self {
            Self::Append(lease, entries) if entries.go_on() && entries.reopening().is_none() => {
                Some((*lease, entries))
            }
            _ => None,
        }
    }

    /// Whether it is worth waiting for. A text on its way and the like are not.
    pub(crate) const fn is_patient(&self) -> bool {
        !matches!(self, Self::Checkpoint(..) | Self::NoteTokenUse(_) | Self::LetGo(_) | Self::Index)
    }

    /// The run whose events these are.
    pub(crate) const fn appended(&self) -> Option<RunId> {
        match self {
            Self::Append(lease, _) => Some(lease.run_id),
            _ => None,
        }
    }

    /// About how much this writes; what a checkpoint does is known when it is done.
    pub(crate) fn bytes(&self) -> usize {
        match self {
            Self::Append(_, entries) => {
                let texts = entries.texts.values().map(Packed::len);
                texts.chain(entries.bodies.iter().map(String::len)).sum()
            }
            _ => 0,
        }
    }
}

/// What came of it.
#[derive(Clone, Debug)]
pub(crate) enum Done {
    /// Nothing to tell.
    Written,
    /// The lease that holds now.
    Taken(Lease),
    /// Whether there is more to index.
    Indexed(bool),
    /// Which runs are gone.
    Purged(PurgeStep),
    /// How far the overwriting has come.
    Reclaimed(ReclaimStep),
    /// Whether the log is empty.
    LogCleared(bool),
    /// The token as it is now, where there is one.
    Token(Option<Token>),
}

/// What was asked, and where the answer goes.
#[derive(Debug)]
pub(crate) struct Job {
    pub(crate) work: Work,
    pub(crate) reply: oneshot::Sender<Result<Done, Failure>>,
    /// Until when it waits for those of other processes.
    pub(crate) deadline: Instant,
}
