//! The results of calls that the run already has, from an earlier part or from before an interruption.

use crate::call::run_context::RunContext;
use crate::plan::caller_slot::CallerSlot;
use crate::plan::step::StepKey;
use crate::run::{Run, SeatStatus};
use crate::value::answer::{Answer, Failure};
use crate::value::code::Code;
use crate::value::next::Operation;

use super::{Dependents, PlannedCall};

/// The recorded result of each call; `None` if the call must be made.
pub(super) fn results(context: &RunContext, calls: &[PlannedCall]) -> Vec<Option<Result<Answer, Failure>>> {
    let chain = context.chain_slots();
    let sent = context.hub.with_run(|run| Sent::of(run, &chain));
    let passed = |call: &PlannedCall| sent.has_passed(context, call).then(|| Err(passed()));
    context.hub.with_run(|run| {
        calls.iter().map(|call| earlier_result(run, call.slot).or_else(|| passed(call))).collect()
    })
}

/// The result of a call that must not be made again: its text is paid for, or its end is unknown, so that it may be.
fn earlier_result(run: &Run, slot: CallerSlot) -> Option<Result<Answer, Failure>> {
    let view = run.view(slot)?;
    match (view.status, &view.answer, &view.failure) {
        (SeatStatus::Unknown, ..) => Some(Err(end_unknown())),
        // A result that an outcome has reported belongs to an earlier part.
        _ if view.is_reported => None,
        (SeatStatus::Answered, Some(answer), _) => Some(Ok(answer.clone())),
        (SeatStatus::Cut, _, Some(failure)) => Some(Err(failure.clone())),
        _ => None,
    }
}

/// The calls of these synthesizers that were sent for the current text.
struct Sent {
    steps: Vec<StepKey>,
    /// Whether one of them was the call for the text itself.
    has_text: bool,
}

impl Sent {
    fn of(run: &Run, chain: &[CallerSlot]) -> Self {
        let is_sent =
            |slot: CallerSlot| run.view(slot).is_some_and(|view| view.attempts > 0 && !view.is_reported);
        // Calls of the synthesizers of earlier parts do not concern this text.
        let steps = run.plan.steps.iter().filter(|step| chain.contains(&step.key.by));
        let steps =
            steps.filter(|step| is_sent(CallerSlot::Step(step.number))).map(|step| step.key).collect();
        Self { steps, has_text: chain.iter().copied().any(is_sent) }
    }

    /// Whether the run continued without this call.
    fn has_passed(&self, context: &RunContext, call: &PlannedCall) -> bool {
        match (call.dependents, context.plan.step_at(call.slot)) {
            (Dependents::Questions(question), Some(step)) => {
                let mut later = self.steps.iter().filter(|sent| sent.role == step.key.role);
                later.any(|sent| question.is_before(step.key, *sent))
            }
            (Dependents::Text, _) => self.has_text,
            (Dependents::Nothing | Dependents::Questions(_), _) => false,
        }
    }
}

fn passed() -> Failure {
    Failure::new(Code::Interrupted, "it gave none before the run went on without it")
        .with_next(Operation::Resend)
}

fn end_unknown() -> Failure {
    Failure::new(
        Code::Interrupted,
        "it was asked before and never heard of; it may have been paid, so it was not asked again",
    )
    .with_next(Operation::Synthesize)
}
