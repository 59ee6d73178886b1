//! Facts about an event: what it is in the life of a run, and its request, answer, failure, outcome and cost if it has them.
//!
//! A new event says here what it is. Readers that treat several events alike ask for that, and need not know it. What is
//! stored apart and what others may not read is told for each event, since a text that is forgotten here is never purged.

use crate::run::outcome::Outcome;
use crate::value::answer::{Answer, Failure};
use crate::value::money::PicoUsd;
use crate::value::retry::Retry;

use super::{Attempt, Event};

/// What an event is in the life of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventPhase {
    /// The run begins.
    Begins,
    /// A further part of it begins.
    Continues,
    /// Seats are not asked.
    Skips,
    /// Bytes of a request leave once the event is durable, and not before.
    Leaves,
    /// A request may cost money from here on.
    Accepted,
    /// A request has ended.
    Ends,
    /// The cost of an ended request is known.
    Priced,
    /// A stage has its text, or none.
    StageDecides,
    /// The run has its text, or none.
    Decides,
    /// This part of the run is over.
    Closes,
    /// What another process held is taken in.
    Merges,
}

impl Event {
    /// What the event is in the life of the run.
    pub const fn phase(&self) -> EventPhase {
        match self {
            Self::Started { .. } => EventPhase::Begins,
            Self::Reopened { .. } => EventPhase::Continues,
            Self::Skipped { .. } => EventPhase::Skips,
            Self::Sent { .. } => EventPhase::Leaves,
            Self::Accepted { .. } => EventPhase::Accepted,
            Self::Answered { .. } | Self::Cut { .. } | Self::Failed { .. } | Self::Cancelled { .. } => {
                EventPhase::Ends
            }
            Self::Reconciled { .. } => EventPhase::Priced,
            Self::StageDecided { .. } => EventPhase::StageDecides,
            Self::Decided { .. } => EventPhase::Decides,
            Self::Closed { .. } => EventPhase::Closes,
            Self::Merged { .. } => EventPhase::Merges,
        }
    }

    /// The request the event is about, if any.
    pub fn attempt(&self) -> Option<Attempt> {
        match self {
            Self::Merged { held, .. } => held.attempt(),
            Self::Sent { attempt, .. }
            | Self::Accepted { attempt, .. }
            | Self::Answered { attempt, .. }
            | Self::Cut { attempt, .. }
            | Self::Failed { attempt, .. }
            | Self::Cancelled { attempt, .. }
            | Self::Reconciled { attempt, .. } => Some(*attempt),
            Self::Started { .. }
            | Self::Skipped { .. }
            | Self::Reopened { .. }
            | Self::StageDecided { .. }
            | Self::Decided { .. }
            | Self::Closed { .. } => None,
        }
    }

    /// The answer in the event, whose text is stored apart.
    pub fn answer(&self) -> Option<&Answer> {
        match self {
            Self::Merged { held, .. } => held.answer(),
            Self::Answered { answer, .. } | Self::Cut { answer, .. } => Some(answer),
            Self::Cancelled { answer, .. } => answer.as_ref(),
            Self::Started { .. }
            | Self::Sent { .. }
            | Self::Accepted { .. }
            | Self::Failed { .. }
            | Self::Skipped { .. }
            | Self::Reopened { .. }
            | Self::Reconciled { .. }
            | Self::StageDecided { .. }
            | Self::Decided { .. }
            | Self::Closed { .. } => None,
        }
    }

    /// As [`Event::answer`], to put a stored text back.
    pub fn answer_mut(&mut self) -> Option<&mut Answer> {
        match self {
            Self::Merged { held, .. } => held.answer_mut(),
            Self::Answered { answer, .. } | Self::Cut { answer, .. } => Some(answer),
            Self::Cancelled { answer, .. } => answer.as_mut(),
            _ => None,
        }
    }

    /// The outcome in the event, whose text is stored apart: of a stage, or of the run.
    pub fn outcome(&self) -> Option<&Outcome> {
        match self {
            Self::Merged { held, .. } => held.outcome(),
            Self::StageDecided { outcome, .. } | Self::Decided { outcome } => Some(outcome),
            Self::Started { .. }
            | Self::Sent { .. }
            | Self::Accepted { .. }
            | Self::Answered { .. }
            | Self::Cut { .. }
            | Self::Failed { .. }
            | Self::Cancelled { .. }
            | Self::Skipped { .. }
            | Self::Reopened { .. }
            | Self::Reconciled { .. }
            | Self::Closed { .. } => None,
        }
    }

    /// As [`Event::outcome`], to put a stored text back.
    pub fn outcome_mut(&mut self) -> Option<&mut Outcome> {
        match self {
            Self::Merged { held, .. } => held.outcome_mut(),
            Self::StageDecided { outcome, .. } | Self::Decided { outcome } => Some(outcome),
            _ => None,
        }
    }

    /// Why a request has no whole answer.
    pub fn failure_mut(&mut self) -> Option<&mut Failure> {
        match self {
            Self::Merged { held, .. } => held.failure_mut(),
            Self::Cut { failure, .. } | Self::Failed { failure, .. } => Some(failure),
            Self::Started { .. }
            | Self::Sent { .. }
            | Self::Accepted { .. }
            | Self::Answered { .. }
            | Self::Cancelled { .. }
            | Self::Skipped { .. }
            | Self::Reopened { .. }
            | Self::Reconciled { .. }
            | Self::StageDecided { .. }
            | Self::Decided { .. }
            | Self::Closed { .. } => None,
        }
    }

    /// The cost of the request by this event, if it is known.
    pub fn cost(&self) -> Option<PicoUsd> {
        match self {
            Self::Merged { held, .. } => held.cost(),
            Self::Failed { cost, .. } | Self::Cancelled { answer: None, cost, .. } => *cost,
            Self::Reconciled { cost, .. } => Some(*cost),
            _ => self.answer().and_then(|answer| answer.cost),
        }
    }

    /// The end of a call, turned into that of a cancelled one.
    pub(crate) fn into_cancelled(self) -> Self {
        match self {
            Self::Answered { attempt, answer } | Self::Cut { attempt, answer, .. } => {
                Self::Cancelled { attempt, answer: Some(answer), cost: None }
            }
            Self::Failed { attempt, cost, .. } => Self::Cancelled { attempt, answer: None, cost },
            other => other,
        }
    }

    /// How the call ended, if the event ends it and it is not tried again.
    pub(crate) const fn end(&self) -> Option<CallEnd<'_>> {
        match self {
            Self::Answered { answer, .. } => Some(CallEnd::Answered(answer)),
            Self::Cut { answer, failure, .. } => Some(CallEnd::Cut(answer, failure)),
            Self::Failed { failure, retry: Retry::Never, .. } => Some(CallEnd::Failed(failure)),
            Self::Cancelled { .. } => Some(CallEnd::Cancelled),
            _ => None,
        }
    }

    /// Whether the event ends a request without any text.
    pub(crate) fn is_without_text(&self) -> bool {
        self.phase() == EventPhase::Ends && self.answer().is_none()
    }

    /// The event without the answer line, which is text.
    #[must_use]
    pub(crate) fn without_line(mut self) -> Self {
        if let Some(answer) = self.answer_mut() {
            answer.line = None;
        }
        self
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
