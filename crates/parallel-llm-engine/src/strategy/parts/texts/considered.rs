//! Selects the answers a text is made of.

use super::early;
use crate::call::run_context::RunContext;
use crate::panel::gather::Usable;
use crate::plan::step::StepRole;
use crate::run::{Run, SeatStatus, SeatView};

/// The considered answers, in the order of the panel. If an interrupted run has already paid for calls that read answers, or
/// has an early draft, answers that came after those calls are left out, because the calls have not read them.
pub(crate) fn considered(context: &RunContext, usable: &[Usable]) -> Vec<Usable> {
    let has_given =
        |view: &&SeatView| !view.is_reported && matches!(view.status, SeatStatus::Answered | SeatStatus::Cut);
    let was_there = |run: &Run, one: &Usable, began_ms: u64| {
        run.ended_ms(one.seat).is_some_and(|ended_ms| ended_ms <= began_ms)
    };
    let early = early::finished_draft(context);
    let mut considered: Vec<Usable> = context.hub.with_run(|run| {
        let is_text = |view: &&SeatView| {
            let role = context.plan.role_of(view.slot);
            !matches!(role, Some(StepRole::Draft | StepRole::Equivalence))
        };
        let began_ms = run.called().filter(has_given).filter(is_text).filter_map(|view| view.sent_ms).min();
        let was_there = |one: &&Usable| began_ms.is_none_or(|began_ms| was_there(run, one, began_ms));
        match &early {
            Some(draft) => usable.iter().filter(|one| draft.reads.contains(&one.seat)).cloned().collect(),
            None => usable.iter().filter(was_there).cloned().collect(),
        }
    });
    // The order of arrival must not influence the result.
    considered.sort_by_key(|one| one.seat);
    considered
}
