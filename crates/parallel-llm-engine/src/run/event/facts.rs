//! Facts about an event by its variant: its request, its answer, its cost, and how it changes the run.

use crate::value::answer::{Answer, Failure};
use crate::value::money::PicoUsd;
use crate::value::retry::Retry;

use super::{Attempt, Event};

impl Event {
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
            | Self::StageDecided { .. }
            | Self::Decided { .. }
            | Self::Closed { .. }
            | Self::Merged { .. } => self,
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
            | Self::StageDecided { .. }
            | Self::Decided { .. }
            | Self::Closed { .. }
            | Self::Merged { .. } => None,
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
            | Self::StageDecided { .. }
            | Self::Decided { .. }
            | Self::Closed { .. }
            | Self::Merged { .. } => false,
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
            | Self::StageDecided { .. }
            | Self::Decided { .. }
            | Self::Closed { .. }
            | Self::Merged { .. } => false,
        }
    }

    /// Whether the event closes this part of the run.
    pub const fn closes(&self) -> bool {
        match self {
            Self::Closed { .. } => true,
            Self::Started { .. }
            | Self::Skipped { .. }
            | Self::Reopened { .. }
            | Self::StageDecided { .. }
            | Self::Decided { .. }
            | Self::Sent { .. }
            | Self::Accepted { .. }
            | Self::Answered { .. }
            | Self::Cut { .. }
            | Self::Failed { .. }
            | Self::Cancelled { .. }
            | Self::Reconciled { .. }
            | Self::Merged { .. } => false,
        }
    }

    /// Whether a further part of the run begins.
    pub const fn reopens(&self) -> bool {
        match self {
            Self::Reopened { .. } => true,
            Self::Started { .. }
            | Self::Skipped { .. }
            | Self::StageDecided { .. }
            | Self::Decided { .. }
            | Self::Closed { .. }
            | Self::Sent { .. }
            | Self::Accepted { .. }
            | Self::Answered { .. }
            | Self::Cut { .. }
            | Self::Failed { .. }
            | Self::Cancelled { .. }
            | Self::Reconciled { .. }
            | Self::Merged { .. } => false,
        }
    }

    /// The cost of the request by this event, if it is known.
    pub fn cost(&self) -> Option<PicoUsd> {
        match self {
            Self::Merged { held, .. } => held.cost(),
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
            | Self::StageDecided { .. }
            | Self::Decided { .. }
            | Self::Closed { .. } => None,
        }
    }

    /// The answer in the event, whose text is stored apart.
    pub fn answer(&self) -> Option<&Answer> {
        match self {
            Self::Merged { held, .. } => held.answer(),
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
            | Self::StageDecided { .. }
            | Self::Decided { .. }
            | Self::Closed { .. } => None,
        }
    }

    /// The event without the answer line, which is text.
    #[must_use]
    pub(crate) fn without_line(mut self) -> Self {
        if let Some(answer) = self.answer_mut() {
            answer.line = None;
        }
        self
    }

    /// As [`Event::answer`], to put a stored text back.
    pub fn answer_mut(&mut self) -> Option<&mut Answer> {
        match self {
            Self::Merged { held, .. } => held.answer_mut(),
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
            | Self::StageDecided { .. }
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
