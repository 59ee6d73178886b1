//! One text of the answers: the only answer, one of unanimous answers, an early draft, or a new fusion.

use std::sync::Arc;

use super::{early, fusion};
use crate::call::run_context::RunContext;
use crate::run::outcome::Outcome;
use crate::strategy::parts::choice::answers::Answers;
use crate::strategy::parts::choice::gate::gated;
use crate::strategy::parts::choice::verbatim::lone;
use crate::value::money::PicoUsd;

/// Fuses the answers, unless there is nothing to fuse.
pub(crate) async fn synthesize(context: &Arc<RunContext>, answers: Answers<'_>) -> Outcome {
    if let [only] = answers.usable {
        return lone(context, only, "fuse");
    }
    if let Some(outcome) = gated(context, answers) {
        return outcome;
    }
    let begun = early::outcome(context, answers);
    let is_early = begun.is_some();
    let mut outcome = match begun {
        Some(outcome) => outcome,
        None => fusion::write(context, answers).await,
    };
    if let Some(worth) = &mut outcome.worth {
        // The cost of an early draft is counted with the drafts below.
        let written = if is_early { Some(PicoUsd::ZERO) } else { worth.extra_cost };
        worth.extra_cost = written.zip(early::cost(context)).map(|(written, early)| written.plus(early));
    }
    outcome.warnings.extend(early::warnings(context));
    outcome
}
