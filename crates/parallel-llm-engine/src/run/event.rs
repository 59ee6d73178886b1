//! Durable facts about a run. A run is the list of its events; everything shown of it is their fold
//! ([`crate::run::Run`]).
//!
//! Stored for ever: a variant or field may be added, never changed or taken away.

use serde::{Deserialize, Serialize};

use crate::plan::caller_slot::CallerSlot;
use crate::request::panel::SeatNumber;
use crate::run::outcome::Outcome;
use crate::run::reopening::Reopening;
use crate::value::answer::{Answer, Failure};
use crate::value::money::PicoUsd;
use crate::value::retry::Retry;
use crate::value::usage::Usage;

/// One upstream request: whose, and which try. Attempts count from 1; 0 is a call that was never sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Attempt {
    /// Who makes the call. Stored under its first name.
    #[serde(rename = "place")]
    pub slot: CallerSlot,
    /// Which try of that call.
    pub number: u32,
}

/// One durable fact.
///
/// Whoever reads events matches all of them: the compiler then names every place that has to know a new one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    /// The run has begun; its plan is stored beside it.
    Started {
        /// Names what was asked; see [`crate::plan::RunPlan::plan_hash`].
        plan_hash: String,
        /// The worst case of its cost, held against the budget.
        reserved: PicoUsd,
    },
    /// A request is about to leave. Durable before its first byte does.
    Sent {
        /// Which request.
        attempt: Attempt,
    },
    /// The provider took the request and named it; from here on it may cost money.
    Accepted {
        /// Which request.
        attempt: Attempt,
        /// The provider's name for it.
        generation_id: String,
    },
    /// A whole answer.
    Answered {
        /// Which request.
        attempt: Attempt,
        /// What it gave.
        answer: Answer,
    },
    /// An answer that stopped before its end.
    Cut {
        /// Which request.
        attempt: Attempt,
        /// The text so far.
        answer: Answer,
        /// Why it stopped.
        failure: Failure,
    },
    /// No answer from this request.
    Failed {
        /// Which request.
        attempt: Attempt,
        /// Why.
        failure: Failure,
        /// What the engine does about it.
        retry: Retry,
        /// What it cost all the same; `None` where nobody knows.
        cost: Option<PicoUsd>,
        /// From sending to the failure, in milliseconds. Another word in JSON, because [`Recorded`] writes its own
        /// moment into the same object.
        #[serde(rename = "took_ms")]
        elapsed_ms: u64,
    },
    /// The request was given up because the run or the caller no longer wanted it.
    Cancelled {
        /// Which request.
        attempt: Attempt,
        /// The text so far, where there was any.
        answer: Option<Answer>,
        /// What it cost, where that is known without a text: nothing, where no byte of it left.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cost: Option<PicoUsd>,
    },
    /// Seats were not asked, because those asked before them were enough.
    #[serde(rename = "spared")]
    Skipped {
        /// Which.
        seats: Vec<SeatNumber>,
    },
    /// The run goes on: it was interrupted, or there is more to be had of it than its newest answer.
    Reopened {
        /// What is wanted of it now.
        #[serde(flatten)]
        reopening: Reopening,
        /// The worst case of what that costs, held against the budget.
        reserved: PicoUsd,
    },
    /// What a request cost of which nobody had heard the end, as its provider tells it later.
    Reconciled {
        /// Which request.
        attempt: Attempt,
        /// What it cost.
        cost: PicoUsd,
        /// What it used.
        usage: Usage,
    },
    /// The answer of the run is settled.
    Decided {
        /// What came of it. Boxed, because it is by far the largest, and most events are not this one.
        outcome: Box<Outcome>,
    },
    /// Late seats are in or given up; nothing more will happen.
    Closed {
        /// What the run cost in all, as far as known.
        cost: PicoUsd,
    },
}

impl Event {
    /// The request the event is about, where it is about one.
    pub const fn attempt(&self) -> Option<Attempt> {
        match self {
            Self::Sent { attempt }
            | Self::Accepted { attempt, .. }
            | Self::Answered { attempt, .. }
            | Self::Cut { attempt, .. }
            | Self::Failed { attempt, .. }
            | Self::Cancelled { attempt, .. }
            | Self::Reconciled { attempt, .. } => Some(*attempt),
            Self::Started { .. }
            | Self::Skipped { .. }
            | Self::Reopened { .. }
            | Self::Decided { .. }
            | Self::Closed { .. } => None,
        }
    }

    /// The same end, as that of a request that was given up before it came.
    pub(crate) fn given_up(self) -> Self {
        match self {
            Self::Answered { attempt, answer } | Self::Cut { attempt, answer, .. } => {
                Self::Cancelled { attempt, answer: Some(answer), cost: None }
            }
            Self::Failed { attempt, cost, .. } => Self::Cancelled { attempt, answer: None, cost },
            Self::Sent { .. }
            | Self::Accepted { .. }
            | Self::Cancelled { .. }
            | Self::Reconciled { .. }
            | Self::Started { .. }
            | Self::Skipped { .. }
            | Self::Reopened { .. }
            | Self::Decided { .. }
            | Self::Closed { .. } => self,
        }
    }

    /// How the call came to its end, where the event says so.
    pub(crate) const fn end(&self) -> Option<CallEnd<'_>> {
        match self {
            Self::Answered { answer, .. } => Some(CallEnd::Answered(answer)),
            Self::Cut { answer, failure, .. } => Some(CallEnd::Cut(answer, failure)),
            Self::Failed { failure, retry: Retry::Never, .. } => Some(CallEnd::Failed(failure)),
            Self::Cancelled { .. } => Some(CallEnd::Cancelled),
            Self::Failed { retry: Retry::After { .. } | Retry::Without { .. }, .. }
            | Self::Sent { .. }
            | Self::Accepted { .. }
            | Self::Reconciled { .. }
            | Self::Started { .. }
            | Self::Skipped { .. }
            | Self::Reopened { .. }
            | Self::Decided { .. }
            | Self::Closed { .. } => None,
        }
    }

    /// Whether the request has left nothing behind: no text of it, not even the beginning.
    pub(crate) const fn is_without_text(&self) -> bool {
        match self {
            Self::Failed { .. } | Self::Cancelled { answer: None, .. } => true,
            Self::Cancelled { answer: Some(_), .. }
            | Self::Answered { .. }
            | Self::Cut { .. }
            | Self::Sent { .. }
            | Self::Accepted { .. }
            | Self::Reconciled { .. }
            | Self::Started { .. }
            | Self::Skipped { .. }
            | Self::Reopened { .. }
            | Self::Decided { .. }
            | Self::Closed { .. } => false,
        }
    }

    /// Whether bytes leave once this is durable, and may not leave before.
    pub(crate) const fn lets_bytes_leave(&self) -> bool {
        match self {
            Self::Sent { .. } => true,
            Self::Accepted { .. }
            | Self::Answered { .. }
            | Self::Cut { .. }
            | Self::Failed { .. }
            | Self::Cancelled { .. }
            | Self::Reconciled { .. }
            | Self::Started { .. }
            | Self::Skipped { .. }
            | Self::Reopened { .. }
            | Self::Decided { .. }
            | Self::Closed { .. } => false,
        }
    }

    /// Whether nothing more happens in this part of the run.
    pub const fn closes(&self) -> bool {
        match self {
            Self::Closed { .. } => true,
            Self::Started { .. }
            | Self::Skipped { .. }
            | Self::Reopened { .. }
            | Self::Decided { .. }
            | Self::Sent { .. }
            | Self::Accepted { .. }
            | Self::Answered { .. }
            | Self::Cut { .. }
            | Self::Failed { .. }
            | Self::Cancelled { .. }
            | Self::Reconciled { .. } => false,
        }
    }

    /// Whether a further part of the run begins.
    pub const fn reopens(&self) -> bool {
        match self {
            Self::Reopened { .. } => true,
            Self::Started { .. }
            | Self::Skipped { .. }
            | Self::Decided { .. }
            | Self::Closed { .. }
            | Self::Sent { .. }
            | Self::Accepted { .. }
            | Self::Answered { .. }
            | Self::Cut { .. }
            | Self::Failed { .. }
            | Self::Cancelled { .. }
            | Self::Reconciled { .. } => false,
        }
    }

    /// What the event says of the cost of its request, as far as that is known.
    pub fn cost(&self) -> Option<PicoUsd> {
        match self {
            Self::Failed { cost, .. } | Self::Cancelled { answer: None, cost, .. } => *cost,
            Self::Reconciled { cost, .. } => Some(*cost),
            Self::Answered { answer, .. }
            | Self::Cut { answer, .. }
            | Self::Cancelled { answer: Some(answer), .. } => answer.cost,
            Self::Sent { .. }
            | Self::Accepted { .. }
            | Self::Started { .. }
            | Self::Skipped { .. }
            | Self::Reopened { .. }
            | Self::Decided { .. }
            | Self::Closed { .. } => None,
        }
    }

    /// The answer the event carries, whose text is stored apart.
    pub const fn answer(&self) -> Option<&Answer> {
        match self {
            Self::Answered { answer, .. }
            | Self::Cut { answer, .. }
            | Self::Cancelled { answer: Some(answer), .. } => Some(answer),
            Self::Cancelled { answer: None, .. }
            | Self::Sent { .. }
            | Self::Accepted { .. }
            | Self::Failed { .. }
            | Self::Reconciled { .. }
            | Self::Started { .. }
            | Self::Skipped { .. }
            | Self::Reopened { .. }
            | Self::Decided { .. }
            | Self::Closed { .. } => None,
        }
    }

    /// As [`Event::answer`], for putting a stored text back.
    pub const fn answer_mut(&mut self) -> Option<&mut Answer> {
        match self {
            Self::Answered { answer, .. }
            | Self::Cut { answer, .. }
            | Self::Cancelled { answer: Some(answer), .. } => Some(answer),
            Self::Cancelled { answer: None, .. }
            | Self::Sent { .. }
            | Self::Accepted { .. }
            | Self::Failed { .. }
            | Self::Reconciled { .. }
            | Self::Started { .. }
            | Self::Skipped { .. }
            | Self::Reopened { .. }
            | Self::Decided { .. }
            | Self::Closed { .. } => None,
        }
    }
}

/// How a call came to its end.
#[derive(Clone, Copy, Debug)]
pub(crate) enum CallEnd<'a> {
    /// With a whole answer.
    Answered(&'a Answer),
    /// With an answer that stopped before its end, and why it stopped.
    Cut(&'a Answer, &'a Failure),
    /// With nothing.
    Failed(&'a Failure),
    /// It was given up.
    Cancelled,
}

/// An event with its place in the run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Recorded {
    /// Numbers the events of a run from 1, without gaps.
    pub seq: u64,
    /// From the start of the run, in milliseconds, on a clock that never jumps.
    pub elapsed_ms: u64,
    /// What happened.
    #[serde(flatten)]
    pub event: Event,
}
