//! The calls of a strategy: made once, or taken from what an earlier part of the run has of them.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures_util::future::join_all;

use crate::call::deadline::Deadline;
use crate::call::run_context::RunContext;
use crate::call::upstream_call::{Admission, UpstreamCall};
use crate::plan::caller_slot::Place;
use crate::prompt::reply::Reveal;
use crate::request::Message;
use crate::run::SeatStatus;
use crate::run::event::Event;
use crate::value::answer::{Answer, Failure};
use crate::value::code::Code;

/// A call to be made.
pub(crate) struct Call {
    pub(crate) place: Place,
    pub(crate) messages: Arc<[Message]>,
    /// What of its reply is shown while it comes.
    pub(crate) reveal: Reveal,
}

/// Makes a call of a place of the plan. What it gives goes along with the next commit.
pub(crate) async fn make(context: &Arc<RunContext>, call: Call) -> Result<Answer, Failure> {
    let mut gave = all(context, vec![call]).await;
    gave.pop().expect("one call, one end")
}

/// Makes these calls at once and returns what they gave, in their order.
pub(crate) async fn all(context: &Arc<RunContext>, calls: Vec<Call>) -> Vec<Result<Answer, Failure>> {
    within(context, context.deadline, calls).await
}

/// The same with another end of their time.
pub(crate) async fn within(
    context: &Arc<RunContext>,
    deadline: Deadline,
    calls: Vec<Call>,
) -> Vec<Result<Answer, Failure>> {
    let open = AtomicUsize::new(calls.len());
    // All are admitted before the first goes on, so that those admitted at once share one commit.
    let begun: Vec<Begun> = calls.into_iter().map(|call| begin(context, deadline, call)).collect();
    join_all(begun.into_iter().map(|begun| finish(context, begun, &open))).await
}

/// How far a call is.
enum Begun {
    /// An earlier part of the run made it.
    Before(Result<Answer, Failure>),
    /// It is made now.
    Now(Box<UpstreamCall>, Admission),
}

fn begin(context: &Arc<RunContext>, deadline: Deadline, Call { place, messages, reveal }: Call) -> Begun {
    if let Some(gave) = given_before(context, place) {
        return Begun::Before(gave);
    }
    let seat = context.plan.seat_at(place).expect("a strategy calls places of its plan only");
    let mut upstream = Box::new(UpstreamCall::new(context, place, seat, messages, reveal).within(deadline));
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
    context.log.stage(event.clone());
    if open.fetch_sub(1, Ordering::Relaxed) > 1 {
        // What was paid for does not wait for its fellows. A failed write shows where the next call wants to be sent.
        let _ = context.log.commit().await;
    }
    given(event)
}

/// What an earlier part of the run has of this call, where it may not be made again: a text was paid, and of a request
/// nobody has heard the end of nobody knows.
pub(crate) fn given_before(context: &RunContext, place: Place) -> Option<Result<Answer, Failure>> {
    context.hub.look(|run| {
        let view = run.place(place)?;
        match (view.status, &view.answer, &view.failure) {
            (SeatStatus::Unknown, ..) => Some(Err(unheard_of())),
            // What an outcome tells of already was wanted of another part.
            _ if view.told_of => None,
            (SeatStatus::Answered, Some(answer), _) => Some(Ok(answer.clone())),
            (SeatStatus::Cut, _, Some(failure)) => Some(Err(failure.clone())),
            _ => None,
        }
    })
}

/// Whether this call was sent, for the text that is made now: in an earlier part of the run, where it was not yet wanted in
/// this one.
pub(crate) fn was_sent(context: &RunContext, place: Place) -> bool {
    context.hub.look(|run| run.place(place).is_some_and(|view| view.attempts > 0 && !view.told_of))
}

fn unheard_of() -> Failure {
    Failure::new(Code::Interrupted, "it was asked before and never heard of")
        .with_next("it may have been paid, so it was not asked again")
}

fn given(event: Event) -> Result<Answer, Failure> {
    match event {
        Event::Answered { answer, .. } => Ok(answer),
        Event::Cut { failure, .. } | Event::Failed { failure, .. } => Err(failure),
        _ => Err(Failure::new(Code::Cancelled, "the run was cancelled while its answer was written")),
    }
}
