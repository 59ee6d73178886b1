//! The requests of a run, paired from its events: when each was sent, and how it ended.

use std::collections::BTreeMap;

use parallel_llm_engine::run::Run;
use parallel_llm_engine::run::event::Attempt;
use parallel_llm_engine::value::retry::Retry;
use parallel_llm_engine::{Answer, Code, Event, Failure, ModelRef, PicoUsd, Recorded};

/// The requests of a run that are under way; as many at most as the plan has calls.
#[derive(Debug, Default)]
pub(super) struct OpenCalls(BTreeMap<Attempt, OpenCall>);

/// A request that has been sent.
#[derive(Clone, Debug)]
struct OpenCall {
    sent_ms: u64,
    generation_id: Option<String>,
}

/// A step of a request.
pub(super) enum CallStep<'a> {
    /// It leaves.
    Sent(&'a ModelRef),
    /// It has ended.
    Ended(EndedCall<'a>),
    /// Its cost is known, after its end.
    Priced(&'a ModelRef, PicoUsd),
}

/// A request that has ended. Times are in milliseconds from the start of the run.
pub(super) struct EndedCall<'a> {
    pub(super) attempt: Attempt,
    pub(super) model: &'a ModelRef,
    /// When it was sent; `None` if it never was.
    pub(super) sent_ms: Option<u64>,
    pub(super) ended_ms: u64,
    pub(super) generation_id: Option<String>,
    /// Its text: whole, cut, or what a cancelled one had.
    pub(super) answer: Option<&'a Answer>,
    /// Why it has no whole answer.
    pub(super) code: Option<Code>,
    /// The HTTP status of a failure.
    pub(super) status: Option<u16>,
    /// Whether it is tried again.
    pub(super) is_retried: bool,
    pub(super) cost: Option<PicoUsd>,
}

impl EndedCall<'_> {
    /// Whether it gave a whole answer.
    pub(super) const fn is_answered(&self) -> bool {
        self.answer.is_some() && self.code.is_none()
    }
}

impl OpenCalls {
    /// The step that an event is, if it is one; `run` has the event already.
    pub(super) fn take<'a>(&mut self, run: &'a Run, recorded: &'a Recorded) -> Option<CallStep<'a>> {
        let attempt = recorded.event.attempt()?;
        let model = &run.view(attempt.slot)?.model;
        let (failure, is_retried) = match &recorded.event {
            Event::Sent { .. } => {
                let open = OpenCall { sent_ms: recorded.elapsed_ms, generation_id: None };
                self.0.insert(attempt, open);
                return Some(CallStep::Sent(model));
            }
            Event::Accepted { generation_id, .. } => {
                if let Some(open) = self.0.get_mut(&attempt) {
                    open.generation_id = Some(generation_id.clone());
                }
                return None;
            }
            Event::Reconciled { cost, .. } => return Some(CallStep::Priced(model, *cost)),
            Event::Answered { .. } | Event::Cancelled { .. } => (None, false),
            Event::Cut { failure, .. } => (Some(failure), false),
            Event::Failed { failure, retry, .. } => (Some(failure), *retry != Retry::Never),
            _ => return None,
        };
        let is_cancelled = matches!(recorded.event, Event::Cancelled { .. });
        let open = self.0.remove(&attempt);
        let answer = recorded.event.answer();
        let sent_ms = open.as_ref().map(|open| open.sent_ms);
        Some(CallStep::Ended(EndedCall {
            attempt,
            model,
            sent_ms,
            ended_ms: ended_ms(recorded, sent_ms),
            generation_id: answer
                .and_then(|answer| answer.generation_id.clone())
                .or_else(|| open.and_then(|open| open.generation_id)),
            answer,
            code: failure.map(|failure| failure.code).or(is_cancelled.then_some(Code::Cancelled)),
            status: failure.and_then(|failure: &Failure| failure.status),
            is_retried,
            cost: recorded.event.cost(),
        }))
    }

    /// How many are under way.
    pub(super) fn count(&self) -> usize {
        self.0.len()
    }
}

/// When a request ended. The event may come later, because ends share commits with what follows.
fn ended_ms(recorded: &Recorded, sent_ms: Option<u64>) -> u64 {
    let took = match &recorded.event {
        Event::Failed { elapsed_ms, .. } => Some(*elapsed_ms),
        event => event.answer().map(|answer| answer.elapsed_ms),
    };
    sent_ms.zip(took).map_or(recorded.elapsed_ms, |(sent, took)| sent + took)
}
