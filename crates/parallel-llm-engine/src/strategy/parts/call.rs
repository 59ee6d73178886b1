//! The calls of a strategy. What the run has of a call is taken, and only what is missing is asked for.
//!
//! A strategy says which calls it wants and reads what they gave; that a run may have been interrupted, and has some of it
//! already, is known here and nowhere above. What always holds: what was paid for is not asked for again, and neither is a
//! call that the run has gone on without.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures_util::future::join_all;

use crate::call::deadline::Deadline;
use crate::call::run_context::RunContext;
use crate::call::upstream_call::{Admission, UpstreamCall};
use crate::plan::caller_slot::CallerSlot;
use crate::plan::step::StepKey;
use crate::prompt::reply::Reveal;
use crate::request::Message;
use crate::run::event::{CallEnd, Event};
use crate::run::{Run, SeatStatus, SeatView};
use crate::value::answer::{Answer, Failure};
use crate::value::code::Code;
use crate::value::money::PicoUsd;
use crate::value::next::Operation;

/// A call that a strategy wants.
pub(crate) struct PlannedCall {
    pub(crate) slot: CallerSlot,
    pub(crate) messages: Arc<[Message]>,
    /// What of its reply is shown while it comes.
    pub(crate) reveal: Reveal,
    pub(crate) rests: Rests,
}

/// What rests on a call, so that it may not be made any more once that was asked for: it would be read beside other replies
/// than those that came after it.
#[derive(Clone, Copy)]
pub(crate) enum Rests {
    /// Nothing that a later reply could contradict.
    Nothing,
    /// The same question put to a later judge, because this one had no verdict; and every later question.
    Questions(Question),
    /// The text that a synthesizer writes.
    Text,
}

/// Which question a call puts to a judge.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Question {
    /// Its number among those of this judge, from 0.
    pub(crate) number: u16,
    /// How many have been put, to whomever, once it and those put along with it are.
    pub(crate) count: u16,
    /// In how many orders of the answers each is put.
    pub(crate) orders: u16,
}

impl Question {
    /// One question and no other.
    pub(crate) const fn only(orders: u16) -> Self {
        Self { number: 0, count: 1, orders }
    }

    /// Its call in this order, the first being 1, among all calls of one judge.
    pub(crate) const fn round(self, order: u16) -> u16 {
        self.number * self.orders + order
    }

    /// Whether `sent` came after the call `own` of this question.
    const fn is_before(self, own: StepKey, sent: StepKey) -> bool {
        let is_later_question = sent.round > self.count * self.orders;
        let is_same_question = (sent.round - 1) / self.orders == self.number;
        is_later_question
            || (is_same_question
                && matches!((own.by, sent.by), (CallerSlot::Synthesizer(own), CallerSlot::Synthesizer(sent)) if own.0 < sent.0))
    }
}

/// Makes a call of a place of the plan. What it gives goes along with the next commit.
pub(crate) async fn make(context: &Arc<RunContext>, call: PlannedCall) -> Result<Answer, Failure> {
    let mut gave = all(context, vec![call]).await;
    gave.pop().expect("one call, one end")
}

/// Makes these calls at once and returns what they gave, in their order.
pub(crate) async fn all(context: &Arc<RunContext>, calls: Vec<PlannedCall>) -> Vec<Result<Answer, Failure>> {
    within(context, context.deadline, calls).await
}

/// The same with another end of their time.
pub(crate) async fn within(
    context: &Arc<RunContext>,
    deadline: Deadline,
    calls: Vec<PlannedCall>,
) -> Vec<Result<Answer, Failure>> {
    let open = AtomicUsize::new(calls.len());
    let recorded = recorded(context, &calls);
    // All are admitted before the first goes on, so that those admitted at once share one commit.
    let begun = recorded.into_iter().zip(calls).map(|(recorded, call)| match recorded {
        Some(gave) => Begun::Before(gave),
        None => begin(context, deadline, call),
    });
    let begun: Vec<Begun> = begun.collect();
    join_all(begun.into_iter().map(|begun| finish(context, begun, &open))).await
}

/// How far a call is.
enum Begun {
    /// The run has what it came to.
    Before(Result<Answer, Failure>),
    /// It is made now.
    Now(Box<UpstreamCall>, Admission),
}

fn begin(context: &Arc<RunContext>, deadline: Deadline, call: PlannedCall) -> Begun {
    let PlannedCall { slot, messages, reveal, .. } = call;
    let seat = context.plan.seat_at(slot).expect("a strategy calls slots of its plan only");
    let mut upstream = Box::new(UpstreamCall::new(context, slot, seat, messages, reveal).within(deadline));
    let admission = upstream.admit();
    Begun::Now(upstream, admission)
}

/// Brings a call to its end; `open` counts those of its fellows that have not come to theirs, and itself.
async fn finish(context: &RunContext, begun: Begun, open: &AtomicUsize) -> Result<Answer, Failure> {
    let event = match begun {
        Begun::Before(gave) => {
            open.fetch_sub(1, Ordering::Relaxed);
            return gave;
        }
        Begun::Now(upstream, admission) => upstream.finish(admission).await,
    };
    let gave = given(&event);
    context.log.stage(event);
    if open.fetch_sub(1, Ordering::Relaxed) > 1 {
        // What was paid for does not wait for its fellows. A failed write shows where the next call wants to be sent.
        let _ = context.log.commit().await;
    }
    gave
}

/// What the run has of each of these calls already; `None` where it is to be made.
fn recorded(context: &RunContext, calls: &[PlannedCall]) -> Vec<Option<Result<Answer, Failure>>> {
    let sent = context.hub.with_run(Sent::of);
    let passed = |call: &PlannedCall| sent.has_passed(context, call).then(|| Err(passed()));
    context.hub.with_run(|run| {
        calls.iter().map(|call| given_before(run, call.slot).or_else(|| passed(call))).collect()
    })
}

/// What the run has of a call that may not be made again: a text was paid, and of a request nobody has heard the end of
/// nobody knows.
fn given_before(run: &Run, slot: CallerSlot) -> Option<Result<Answer, Failure>> {
    let view = run.view(slot)?;
    match (view.status, &view.answer, &view.failure) {
        (SeatStatus::Unknown, ..) => Some(Err(unheard_of())),
        // What an outcome has reported already was wanted of another part.
        _ if view.is_reported => None,
        (SeatStatus::Answered, Some(answer), _) => Some(Ok(answer.clone())),
        (SeatStatus::Cut, _, Some(failure)) => Some(Err(failure.clone())),
        _ => None,
    }
}

/// The calls of the synthesizers in force that were sent for the text that is made now.
struct Sent {
    steps: Vec<StepKey>,
    /// Whether one of them was asked for the text itself.
    has_text: bool,
}

impl Sent {
    fn of(run: &Run) -> Self {
        let is_sent =
            |slot: CallerSlot| run.view(slot).is_some_and(|view| view.attempts > 0 && !view.is_reported);
        // A text that was begun before, by synthesizers of its own, is no concern of this one.
        let chain: Vec<CallerSlot> =
            run.chain().iter().map(|one| CallerSlot::Synthesizer(one.number)).collect();
        let steps = run.plan.steps.iter().filter(|step| chain.contains(&step.key.by));
        let steps =
            steps.filter(|step| is_sent(CallerSlot::Step(step.number))).map(|step| step.key).collect();
        Self { steps, has_text: chain.into_iter().any(is_sent) }
    }

    /// Whether the run has gone on without this call.
    fn has_passed(&self, context: &RunContext, call: &PlannedCall) -> bool {
        match (call.rests, context.plan.step_at(call.slot)) {
            (Rests::Questions(question), Some(step)) => {
                let mut later = self.steps.iter().filter(|sent| sent.role == step.key.role);
                later.any(|sent| question.is_before(step.key, *sent))
            }
            (Rests::Text, _) => self.has_text,
            (Rests::Nothing | Rests::Questions(_), _) => false,
        }
    }
}

/// What these calls have cost for the text that is made now, as far as known; `None` where it is not known of one.
pub(crate) fn cost(context: &RunContext, slots: impl IntoIterator<Item = CallerSlot>) -> Option<PicoUsd> {
    context.hub.with_run(|run| {
        let views = slots.into_iter().filter_map(|slot| run.view(slot));
        views.map(SeatView::unreported_cost).sum()
    })
}

fn passed() -> Failure {
    Failure::new(Code::Interrupted, "it gave none before the run went on without it")
        .with_next(Operation::Resend)
}

fn unheard_of() -> Failure {
    Failure::new(
        Code::Interrupted,
        "it was asked before and never heard of; it may have been paid, so it was not asked again",
    )
    .with_next(Operation::Synthesize)
}

/// What a call gave that is over.
fn given(event: &Event) -> Result<Answer, Failure> {
    match event.end() {
        Some(CallEnd::Answered(answer)) => Ok(answer.clone()),
        Some(CallEnd::Cut(_, failure) | CallEnd::Failed(failure)) => Err(failure.clone()),
        Some(CallEnd::Cancelled) | None => {
            Err(Failure::new(Code::Cancelled, "the run was cancelled while its answer was written"))
        }
    }
}
