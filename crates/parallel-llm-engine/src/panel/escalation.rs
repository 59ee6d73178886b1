//! Escalation: which seats are asked at once, and which only if their answers do not settle the question.
//!
//! Invariant: a held-back seat is asked as soon as the others can no longer settle the question, so holding it back costs
//! time and never an answer.

use crate::agreement::AnswerText;
use crate::call::run_context::RunContext;
use crate::plan::RunPlan;
use crate::request::panel::SeatNumber;

/// How many seats of the panel are asked at once.
pub(crate) fn first(plan: &RunPlan) -> usize {
    plan.strategy_choice().first(plan.seats.len())
}

/// How many of the held-back seats are asked next if the question is not settled.
pub(crate) fn next(plan: &RunPlan, held_back: usize) -> usize {
    if plan.strategy.needs_one() { held_back.min(1) } else { held_back }
}

/// When the next seats are asked although the earlier ones have not ended, in milliseconds from the start of the part.
pub(crate) fn hedge_ms(plan: &RunPlan, asked: usize) -> Option<u64> {
    Some(u64::from(plan.strategy_options.hedge_after_ms?).saturating_mul(asked as u64))
}

/// Whether these answers settle the question: all agree, or there is one if the strategy needs only one.
pub(crate) fn is_settled<'a>(
    context: &RunContext,
    answers: impl IntoIterator<Item = (SeatNumber, AnswerText<'a>)>,
) -> bool {
    let mut answers = answers.into_iter();
    if context.plan.strategy.needs_one() {
        return answers.next().is_some();
    }
    context.agreement(answers).is_some_and(|agreement| agreement.is_unanimous())
}
