//! The calls of a strategy. Results that the run already has are reused, and only missing calls are made.
//!
//! A strategy lists its calls and reads their results. Only this module knows that an interrupted run may have some results
//! already. Invariants: a call that was paid for is not made again; nor is a call that the run continued without.

mod recorded;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures_util::future::join_all;

use crate::call::deadline::Deadline;
use crate::call::run_context::RunContext;
use crate::call::upstream_call::{Admission, UpstreamCall};
use crate::plan::caller_slot::CallerSlot;
use crate::plan::step::StepKey;
use crate::prompt::reply::Reveal;
use crate::run::SeatView;
use crate::run::event::{CallEnd, Event};
use crate::run::prompt_record::Prompt;
use crate::value::answer::{Answer, Failure};
use crate::value::code::Code;
use crate::value::money::PicoUsd;

/// A call that a strategy wants.
pub(crate) struct PlannedCall {
    pub(crate) slot: CallerSlot,
    pub(crate) prompt: Prompt,
    /// Which part of the streaming reply is shown.
    pub(crate) reveal: Reveal,
    pub(crate) dependents: Dependents,
}

/// Later calls that depend on a call. Once one of them was sent, the call must not be made any more, because its result would
/// contradict what they were based on.
#[derive(Clone, Copy)]
pub(crate) enum Dependents {
    /// No call depends on it.
    Nothing,
    /// The same question to a later judge, asked because this one gave no judgement, and every later question.
    Questions(Question),
    /// The call in which a synthesizer writes the text.
    Text,
}

/// A question to a judge.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Question {
    /// Its number among the questions to this judge, from 0.
    pub(crate) number: u16,
    /// How many questions have been asked of all judges, including it and those asked together with it.
    pub(crate) count: u16,
    /// In how many orders of the answers each is asked.
    pub(crate) orders: u16,
}

impl Question {
    /// The only question.
    pub(crate) const fn only(orders: u16) -> Self {
        Self { number: 0, count: 1, orders }
    }

    /// The number of its call in this order (from 1) among all calls to one judge.
    pub(crate) const fn round(self, order: u16) -> u16 {
        self.number * self.orders + order
    }

    /// Whether the step `sent` was asked after the step `own` of this question.
    const fn is_before(self, own: StepKey, sent: StepKey) -> bool {
        let is_later_question = sent.round > self.count * self.orders;
        let is_same_question = (sent.round - 1) / self.orders == self.number;
        is_later_question
            || (is_same_question
                && matches!((own.by, sent.by), (CallerSlot::Synthesizer(own), CallerSlot::Synthesizer(sent)) if own.0 < sent.0))
    }
}

/// Makes one call. Its end is staged and shares the next commit.
pub(crate) async fn make(context: &Arc<RunContext>, call: PlannedCall) -> Result<Answer, Failure> {
    let mut gave = all(context, vec![call]).await;
    gave.pop().expect("one call, one end")
}

/// Makes these calls concurrently and returns their results in order.
pub(crate) async fn all(context: &Arc<RunContext>, calls: Vec<PlannedCall>) -> Vec<Result<Answer, Failure>> {
    within(context, context.deadline, calls).await
}

/// As [`all`], with another deadline.
pub(crate) async fn within(
    context: &Arc<RunContext>,
    deadline: Deadline,
    calls: Vec<PlannedCall>,
) -> Vec<Result<Answer, Failure>> {
    let open = AtomicUsize::new(calls.len());
    let recorded = recorded::results(context, &calls);
    // All ask for admission before the first is awaited, so that the calls admitted at once share one commit.
    let begun = recorded.into_iter().zip(calls).map(|(recorded, call)| match recorded {
        Some(gave) => PendingCall::Recorded(gave),
        None => begin(context, deadline, call),
    });
    let begun: Vec<PendingCall> = begun.collect();
    join_all(begun.into_iter().map(|begun| finish(context, begun, &open))).await
}

/// A call that is about to be awaited.
enum PendingCall {
    /// The run already has its result.
    Recorded(Result<Answer, Failure>),
    /// The call is made now.
    Now(Box<UpstreamCall>, Admission),
}

fn begin(context: &Arc<RunContext>, deadline: Deadline, call: PlannedCall) -> PendingCall {
    let PlannedCall { slot, prompt, reveal, .. } = call;
    let seat = context.plan.seat_at(slot).expect("a strategy calls slots of its plan only");
    let mut upstream = Box::new(UpstreamCall::new(context, slot, seat, prompt, reveal).within(deadline));
    let admission = upstream.admit();
    PendingCall::Now(upstream, admission)
}

/// Awaits the end of a call. `open` counts the calls of the group that have not ended, including this one.
async fn finish(context: &RunContext, begun: PendingCall, open: &AtomicUsize) -> Result<Answer, Failure> {
    let event = match begun {
        PendingCall::Recorded(gave) => {
            open.fetch_sub(1, Ordering::Relaxed);
            return gave;
        }
        PendingCall::Now(upstream, admission) => upstream.finish(admission).await,
    };
    let gave = result_of(&event);
    context.log.stage(event);
    if open.fetch_sub(1, Ordering::Relaxed) > 1 {
        // Make it durable without waiting for the others. A failed write appears when the next call is sent.
        let _ = context.log.commit().await;
    }
    gave
}

/// The cost of these calls for the current text; `None` if that of one is unknown.
pub(crate) fn cost(context: &RunContext, slots: impl IntoIterator<Item = CallerSlot>) -> Option<PicoUsd> {
    context.hub.with_run(|run| {
        let views = slots.into_iter().filter_map(|slot| run.view(slot));
        views.map(SeatView::unreported_cost).sum()
    })
}

/// The result of a call from the event that ended it.
pub(crate) fn result_of(event: &Event) -> Result<Answer, Failure> {
    match event.end() {
        Some(CallEnd::Answered(answer)) => Ok(answer.clone()),
        Some(CallEnd::Cut(_, failure) | CallEnd::Failed(failure)) => Err(failure.clone()),
        Some(CallEnd::Cancelled) | None => {
            Err(Failure::new(Code::Cancelled, "the run was cancelled while its answer was written"))
        }
    }
}
