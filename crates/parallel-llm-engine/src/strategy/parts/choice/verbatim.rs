//! Outcomes that are one answer, word for word: selected, the only one, or the fallback if fusing failed.

use std::sync::Arc;

use super::best::best;
use crate::call::run_context::RunContext;
use crate::panel::gather::Usable;
use crate::request::panel::SeatNumber;
use crate::run::outcome::{Outcome, OutcomeKind};
use crate::value::answer::Failure;
use crate::value::code::Code;

/// The best answer as the fallback for a fusion that failed.
pub(crate) fn unfused(context: &RunContext, usable: &[Usable], why: Failure) -> Outcome {
    let chosen = best(usable, &strongest(context));
    let how = tie_break(context, chosen, "closest to the others");
    let reason = format!("{}; this is the answer {how}, word for word", why.message);
    Outcome { unfused: Some(why), ..verbatim(context, chosen, reason) }
}

/// The only answer: there is nothing to do `what` with.
pub(crate) fn lone(context: &RunContext, only: &Usable, what: &str) -> Outcome {
    let why = if context.is_of_one() { "one model was asked" } else { "only one answer came" };
    verbatim(context, only, format!("{why}, so there was nothing to {what}"))
}

/// One answer, selected among several.
pub(crate) fn selected(context: &RunContext, chosen: &Usable, reason: impl Into<String>) -> Outcome {
    Outcome { kind: OutcomeKind::Selected, ..verbatim(context, chosen, reason) }
}

/// One answer, word for word.
pub(crate) fn verbatim(context: &RunContext, chosen: &Usable, reason: impl Into<String>) -> Outcome {
    let model = context.author(chosen.seat).clone();
    let mut outcome =
        Outcome::new(OutcomeKind::Verbatim, reason).with_text(Arc::clone(&chosen.answer.text), model);
    outcome.base_seat = Some(chosen.seat);
    outcome.base_step = chosen.step;
    outcome
}

/// The outcome after a panic in a strategy: the best answer, so that what was paid for is not lost.
pub(crate) fn fallback(context: &RunContext, usable: &[Usable]) -> Outcome {
    unfused(context, usable, Failure::new(Code::Internal, "a defect ended the fusing"))
}

/// The seats the user marked as strongest, which break ties.
pub(crate) fn strongest(context: &RunContext) -> Vec<SeatNumber> {
    let strongest = context.plan.seats.iter().filter(|seat| seat.strongest);
    strongest.map(|seat| seat.number).collect()
}

/// The tie-break that decided for an answer: the strongest seat, or else `otherwise`.
pub(crate) fn tie_break(context: &RunContext, chosen: &Usable, otherwise: &'static str) -> &'static str {
    if strongest(context).contains(&chosen.seat) { "of the strongest seat" } else { otherwise }
}
