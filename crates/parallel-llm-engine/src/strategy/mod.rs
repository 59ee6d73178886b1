//! How answers become one text. One strategy is one file, one same-named test, one name in
//! [`crate::recipe::Strategy`] and one line here.
//!
//! A strategy builds text only through [`crate::prompt`], calls models only through the same path as a seat,
//! and reads replies only through [`crate::parse`]. If everything it tries fails, the best answer is returned
//! word for word and the outcome says so: what was paid for is never lost.

mod best;
mod synthesize;
mod vote;

use std::sync::Arc;

use crate::agreement::Agreement;
use crate::answer::Failure;
use crate::code::Code;
use crate::gather::Usable;
use crate::outcome::{Outcome, OutcomeKind};
use crate::recipe::Strategy;
use crate::seat::Desk;
use best::best;

/// What there is where a defect ended a strategy: the best answer, word for word. What was paid for is given.
pub(crate) fn fallback(desk: &Desk, usable: &[Usable]) -> Outcome {
    unfused(desk, usable, Failure::new(Code::Internal, "a defect ended the fusing"))
}

/// Makes one text of the answers, of which there is at least one.
pub(crate) async fn decide(desk: &Arc<Desk>, usable: &[Usable], agreement: Option<&Agreement>) -> Outcome {
    match desk.plan.strategy {
        Strategy::Synthesize => synthesize::decide(desk, usable, agreement).await,
        Strategy::Vote => vote::decide(desk, usable, agreement),
    }
}

/// The best answer as it is, where the answers were to be fused and nobody could.
fn unfused(desk: &Desk, usable: &[Usable], why: Failure) -> Outcome {
    let reason = format!("{}; this is the answer closest to the others, word for word", why.message);
    Outcome { unfused: Some(why), ..verbatim(desk, best(usable), reason) }
}

/// One answer as it is, chosen among several.
fn selected(desk: &Desk, chosen: &Usable, reason: impl Into<String>) -> Outcome {
    Outcome { kind: OutcomeKind::Selected, ..verbatim(desk, chosen, reason) }
}

/// One answer as it is.
fn verbatim(desk: &Desk, chosen: &Usable, reason: impl Into<String>) -> Outcome {
    let model = desk.plan.seats[chosen.seat.index()].model.clone();
    let mut outcome =
        Outcome::new(OutcomeKind::Verbatim, reason).with_text(Arc::clone(&chosen.answer.text), model);
    outcome.base_seat = Some(chosen.seat);
    outcome
}
