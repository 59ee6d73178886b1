//! Outcomes that are one of the answers, word for word: because a strategy chose it, because there was no other, or because
//! nobody could fuse.

use std::sync::Arc;

use crate::call::run_context::RunContext;
use crate::panel::gather::Usable;
use crate::request::panel::SeatNumber;
use crate::run::outcome::{Outcome, OutcomeKind};
use crate::strategy::parts::best::best;
use crate::value::answer::Failure;
use crate::value::code::Code;

/// The best answer as it is, where the answers were to be fused and nobody could.
pub(crate) fn unfused(context: &RunContext, usable: &[Usable], why: Failure) -> Outcome {
    let chosen = best(usable, &strongest(context));
    let how = by_default(context, chosen, "closest to the others");
    let reason = format!("{}; this is the answer {how}, word for word", why.message);
    Outcome { unfused: Some(why), ..verbatim(context, chosen, reason) }
}

/// One answer as it is, chosen among several.
pub(crate) fn selected(context: &RunContext, chosen: &Usable, reason: impl Into<String>) -> Outcome {
    Outcome { kind: OutcomeKind::Selected, ..verbatim(context, chosen, reason) }
}

/// One answer as it is.
pub(crate) fn verbatim(context: &RunContext, chosen: &Usable, reason: impl Into<String>) -> Outcome {
    let model = context.plan.seats[chosen.seat.index()].model.clone();
    let mut outcome =
        Outcome::new(OutcomeKind::Verbatim, reason).with_text(Arc::clone(&chosen.answer.text), model);
    outcome.base_seat = Some(chosen.seat);
    outcome.base_step = chosen.step;
    outcome
}

/// What there is where a defect ended a strategy: the best answer, word for word. What was paid for is given.
pub(crate) fn fallback(context: &RunContext, usable: &[Usable]) -> Outcome {
    unfused(context, usable, Failure::new(Code::Internal, "a defect ended the fusing"))
}

/// The seats that are best by the user's word: where nothing else decides, they do.
pub(crate) fn strongest(context: &RunContext) -> Vec<SeatNumber> {
    let strongest = context.plan.seats.iter().filter(|seat| seat.strongest);
    strongest.map(|seat| seat.number).collect()
}

/// Why an answer stands where nothing else decides, with these words where it is not that of the strongest seat.
pub(crate) fn by_default(context: &RunContext, chosen: &Usable, otherwise: &'static str) -> &'static str {
    if strongest(context).contains(&chosen.seat) { "of the strongest seat" } else { otherwise }
}
