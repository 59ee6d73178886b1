//! Debate: every seat holds its answer against the others and keeps or changes it, some times over; then the most frequent
//! of the newest answers stands, word for word.
//!
//! A debate does not make right answers likelier by itself: seats also give up right ones because most say otherwise. So
//! the outcome tells for each round who changed its answer, and who then said what most had said.

use std::sync::Arc;

use crate::call::run_context::RunContext;
use crate::plan::step::StepRole;
use crate::prompt::Task;
use crate::run::outcome::{Outcome, Round};
use crate::strategy::parts::answers::Answers;
use crate::strategy::parts::counting;
use crate::strategy::parts::rounds::{self, AfterRounds, Again};
use crate::strategy::parts::verbatim::verbatim;

const REVISING: Again = Again { role: StepRole::Reviser, task: Task::Revise, word: "round", after: 0 };

pub(super) async fn decide(context: &Arc<RunContext>, answers: Answers<'_>) -> Outcome {
    if let [only] = answers.usable {
        return verbatim(context, only, "only one answer came, so there was nothing to debate");
    }
    let rounds = 1..=u16::from(context.plan.strategy_options.rounds());
    let after_rounds = match rounds::ask(context, answers, REVISING, rounds).await {
        Ok(after_rounds) => after_rounds,
        Err(failure) => return Outcome::none(failure),
    };
    let outcome = counting::counted(context, after_rounds.answers());
    let after = match after_rounds.rounds.len() {
        0 => ", before anybody was asked again".to_owned(),
        1 if after_rounds.is_silent() => "; nobody answered when asked again".to_owned(),
        1 => format!(", after 1 round{}", changes(&after_rounds)),
        more => format!(", after {more} rounds{}", changes(&after_rounds)),
    };
    let reason = format!("{}{after}", outcome.reason);
    after_rounds.with_story(Outcome { reason, ..outcome })
}

/// How often a seat changed what its answer comes to, where that can be told of every answer.
fn changes(after_rounds: &AfterRounds) -> String {
    let changes = |round: &Round| round.untold.is_empty().then_some(round.changed.len());
    match after_rounds.rounds.iter().map(changes).sum::<Option<usize>>() {
        None => String::new(),
        Some(0) => " (no change)".to_owned(),
        Some(1) => " (1 change)".to_owned(),
        Some(more) => format!(" ({more} changes)"),
    }
}
