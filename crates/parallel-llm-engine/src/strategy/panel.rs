//! The strategy `panel`: all answers one after the other, each under the name of its model.

use std::future::{Ready, ready};

use super::parts::choice::answers::Answers;
use crate::call::run_context::RunContext;
use crate::panel::gather::Usable;
use crate::run::outcome::{Outcome, OutcomeKind};

/// Escapes a line of an answer that equals one of the headings, so that no answer can pose as another model's.
const ESCAPE: char = '\\';

pub(super) fn decide(context: &RunContext, answers: Answers<'_>) -> Ready<Outcome> {
    ready(outcome(context, answers.usable))
}

fn outcome(context: &RunContext, usable: &[Usable]) -> Outcome {
    let heading = |one: &Usable| match context.text_of(one.seat) {
        Some(text) => format!("# {}", text.stage),
        None => format!("# {}. {}", one.seat, context.author(one.seat)),
    };
    let headings: Vec<String> = usable.iter().map(heading).collect();
    let listed = usable.iter().zip(&headings).map(|(one, heading)| {
        let lines = one.answer.text.trim().lines().map(|line| {
            let is_forged = headings.iter().any(|heading| line.trim() == heading);
            if is_forged { format!("{ESCAPE}{line}") } else { line.to_owned() }
        });
        format!("{heading}\n\n{}", lines.collect::<Vec<_>>().join("\n"))
    });
    let text = listed.collect::<Vec<_>>().join("\n\n");
    let reason = match usable.len() {
        1 => "one answer came, and nothing was to be made of several".to_owned(),
        count => format!("{count} answers are listed unchanged"),
    };
    Outcome::new(OutcomeKind::Listed, reason).with_joint_text(text.into())
}
