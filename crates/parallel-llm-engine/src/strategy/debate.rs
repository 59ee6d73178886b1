//! The strategy `debate`: in rounds, every seat compares its answer with the others and keeps or changes it, then a vote.
//!
//! A debate alone does not make right answers likelier, because seats also drop right answers to follow the majority. So the
//! outcome reports for each round which seats changed their answer and which of them followed the majority.

use std::sync::Arc;

use crate::call::run_context::RunContext;
use crate::plan::step::StepRole;
use crate::prompt::Task;
use crate::run::outcome::{Outcome, Round};
use crate::strategy::parts::answers::Answers;
use crate::strategy::parts::counting;
use crate::strategy::parts::rounds::{self, AfterRounds, RoundKind};
use crate::strategy::parts::verbatim::lone;

const REVISING: RoundKind =
    RoundKind { role: StepRole::Reviser, task: Task::Revise, word: "round", after: 0 };

pub(super) async fn decide(context: &Arc<RunContext>, answers: Answers<'_>) -> Outcome {
    if let [only] = answers.usable {
        return lone(context, only, "debate");
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
    after_rounds.with_rounds(Outcome { reason, ..outcome })
}

/// How often the value of an answer changed, if that is known for every answer.
fn changes(after_rounds: &AfterRounds) -> String {
    let changes = |round: &Round| round.undetermined.is_empty().then_some(round.changed.len());
    match after_rounds.rounds.iter().map(changes).sum::<Option<usize>>() {
        None => String::new(),
        Some(0) => " (no change)".to_owned(),
        Some(1) => " (1 change)".to_owned(),
        Some(more) => format!(" ({more} changes)"),
    }
}
