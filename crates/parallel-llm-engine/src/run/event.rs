//! The durable events of a run. Everything shown of a run is the fold of its events, [`crate::run::Run`].
//!
//! Events are stored for ever: variants and fields may be added, but never changed or removed.

use serde::{Deserialize, Serialize};

use crate::plan::caller_slot::CallerSlot;
use crate::request::panel::SeatNumber;
use crate::run::outcome::Outcome;
use crate::run::reopening::Reopening;
use crate::value::answer::{Answer, Failure};
use crate::value::money::PicoUsd;
use crate::value::retry::Retry;
use crate::value::usage::Usage;

/// One upstream request: its caller slot and its number. Attempts count from 1; 0 is a call that was never sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Attempt {
    /// Who makes the call. Stored under its first name.
    #[serde(rename = "place")]
    pub slot: CallerSlot,
    /// The number of the try.
    pub number: u32,
}

/// One durable event.
///
/// Readers match every variant without `_`, so that the compiler names each place a new variant concerns.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    /// The run has begun; its plan is stored beside it.
    Started {
        /// Identifies the question; see [`crate::plan::RunPlan::plan_hash`].
        plan_hash: String,
        /// The worst case of its cost, which is reserved.
        reserved: PicoUsd,
    },
    /// A request is about to leave. Durable before its first byte does.
    Sent {
        /// Which request.
        attempt: Attempt,
    },
    /// The provider accepted the request and gave it an id. From here on it may cost money.
    Accepted {
        /// Which request.
        attempt: Attempt,
        /// The provider's id of it.
        generation_id: String,
    },
    /// A whole answer.
    Answered {
        /// Which request.
        attempt: Attempt,
        /// The answer.
        answer: Answer,
    },
    /// An answer that broke off before its end.
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
        /// What it cost; `None` if it is unknown.
        cost: Option<PicoUsd>,
        /// From sending to the failure, in milliseconds. It has another name in JSON, because [`Recorded`] writes its own
        /// `elapsed_ms` into the same object.
        #[serde(rename = "took_ms")]
        elapsed_ms: u64,
    },
    /// The request was cancelled by the caller, or because the run no longer needed it.
    Cancelled {
        /// Which request.
        attempt: Attempt,
        /// The text so far, if there was any.
        answer: Option<Answer>,
        /// What it cost, if that is known without a text: zero if no byte of it left.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cost: Option<PicoUsd>,
    },
    /// Seats were not asked, because the answers of the others were enough. Stored under its first name.
    #[serde(rename = "spared")]
    Skipped {
        /// The seats.
        seats: Vec<SeatNumber>,
    },
    /// The run continues: it was interrupted, or the user asked for more.
    Reopened {
        /// The further part.
        #[serde(flatten)]
        reopening: Reopening,
        /// The worst case of its cost, which is reserved.
        reserved: PicoUsd,
    },
    /// The provider reported the cost of a request whose end was not heard.
    Reconciled {
        /// Which request.
        attempt: Attempt,
        /// Its cost.
        cost: PicoUsd,
        /// Its token counts.
        usage: Usage,
    },
    /// The run is decided.
    Decided {
        /// The outcome. Boxed, because it is by far larger than the other variants.
        outcome: Box<Outcome>,
    },
    /// Late seats have ended; nothing more will happen in this part.
    Closed {
        /// The known cost of the whole run.
        cost: PicoUsd,
    },
}

impl Event {
    /// The request the event is about, if any.
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

    /// The end of a call, turned into that of a cancelled one.
    pub(crate) fn into_cancelled(self) -> Self {
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

    /// How the call ended, if the event ends it.
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

    /// Whether the event ends a request without any text.
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

    /// Whether bytes of a request leave once the event is durable, and not before.
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

    /// Whether the event closes this part of the run.
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

    /// The cost of the request by this event, if it is known.
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

    /// The answer in the event, whose text is stored apart.
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

    /// As [`Event::answer`], to put a stored text back.
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

/// How a call ended.
#[derive(Clone, Copy, Debug)]
pub(crate) enum CallEnd<'a> {
    /// With a whole answer.
    Answered(&'a Answer),
    /// With a cut answer, and the reason.
    Cut(&'a Answer, &'a Failure),
    /// Without an answer.
    Failed(&'a Failure),
    /// By cancellation.
    Cancelled,
}

/// An event with its number and time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Recorded {
    /// The number of the event in the run, from 1 without gaps.
    pub seq: u64,
    /// Milliseconds since the start of the run, on a monotonic clock.
    pub elapsed_ms: u64,
    /// What happened.
    #[serde(flatten)]
    pub event: Event,
}
