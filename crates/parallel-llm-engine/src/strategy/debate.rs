//! Debate: every seat holds its answer against the others and keeps or changes it, some times over; then the most frequent
//! of the newest answers stands, word for word.
//!
//! A debate does not make right answers likelier by itself: seats also give up right ones because most say otherwise. So
//! the outcome tells for each round who changed its answer, and who then said what most had said.

use std::sync::Arc;

use crate::agreement::Agreement;
use crate::call::upstream_call::Desk;
use crate::panel::gather::Usable;
use crate::plan::step::Role;
use crate::prompt::Task;
use crate::run::outcome::Outcome;
use crate::strategy::parts::counting;
use crate::strategy::parts::rounds::{self, Again, Standing};
use crate::strategy::verbatim;

const REVISING: Again = Again { role: Role::Reviser, task: Task::Revise, word: "round", after: 0 };

pub(super) async fn decide(desk: &Arc<Desk>, usable: &[Usable], agreement: Option<&Agreement>) -> Outcome {
    if let [only] = usable {
        return verbatim(desk, only, "only one answer came, so there was nothing to debate");
    }
    let rounds = 1..=u16::from(desk.plan.knobs.rounds());
    let standing = match rounds::ask(desk, (usable, agreement), REVISING, rounds).await {
        Ok(standing) => standing,
        Err(failure) => return Outcome::none(failure),
    };
    let outcome = counting::counted(desk, &standing.newest, standing.agreement.as_ref());
    let after = match standing.rounds() {
        0 => ", before anybody was asked again".to_owned(),
        1 if standing.is_silent() => "; nobody answered when asked again".to_owned(),
        1 => format!(", after 1 round{}", changes(&standing)),
        more => format!(", after {more} rounds{}", changes(&standing)),
    };
    let reason = format!("{}{after}", outcome.reason);
    standing.told_in(Outcome { reason, ..outcome })
}

/// How often a seat changed what its answer comes to, where that can be told.
fn changes(standing: &Standing) -> String {
    match standing.changes() {
        None => String::new(),
        Some(0) => " (no change)".to_owned(),
        Some(1) => " (1 change)".to_owned(),
        Some(more) => format!(" ({more} changes)"),
    }
}
