//! Which seats are asked at once, and which only where those do not settle it. Pure.
//!
//! What always holds: a seat that waits is asked as soon as those before it can no longer settle it, so holding it back
//! costs time and never an answer.

use crate::agreement::Agreement;
use crate::panel::SeatNumber;
use crate::plan::RunPlan;

/// How many seats of the panel are asked at once.
pub(crate) fn first(plan: &RunPlan) -> usize {
    plan.knobs.first.map_or(plan.seats.len(), usize::from)
}

/// Whether these answers settle it, so that nobody else is asked: they all say the same.
pub(crate) fn is_settled<'a>(
    plan: &RunPlan,
    answers: impl IntoIterator<Item = (SeatNumber, &'a str)>,
) -> bool {
    Agreement::of(&plan.question(), answers).is_some_and(|agreement| agreement.is_unanimous())
}
