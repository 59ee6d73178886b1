//! The strategy `race`: the first answer is selected.
//!
//! [`crate::panel::escalation`] decides which seats are asked when.

use std::cmp::Reverse;
use std::future::{Ready, ready};

use super::parts::choice::answers::Answers;
use super::parts::choice::verbatim::{selected, verbatim};
use crate::call::run_context::RunContext;
use crate::panel::gather::Usable;
use crate::run::outcome::Outcome;

pub(super) fn decide(context: &RunContext, answers: Answers<'_>) -> Ready<Outcome> {
    ready(outcome(context, answers.usable))
}

fn outcome(context: &RunContext, usable: &[Usable]) -> Outcome {
    let ended_ms = |one: &Usable| context.hub.with_run(|run| run.ended_ms(one.seat)).unwrap_or(u64::MAX);
    // Whole answers before cut ones; of answers that came at the same moment, that of the first seat.
    let first = usable.iter().max_by_key(|one| (!one.cut, Reverse((ended_ms(one), one.seat))));
    let first = first.expect("there is at least one answer");
    match context.plan.seats.len() {
        1 => verbatim(context, first, "one model was asked"),
        seats => selected(context, first, format!("it came first of {seats}")),
    }
}
