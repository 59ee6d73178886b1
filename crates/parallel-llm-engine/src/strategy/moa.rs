//! The strategy `moa` (mixture of agents): every seat answers again in layers, then a synthesizer fuses the last layer.
//!
//! In each layer the seats read the answers of the layer before. The synthesizer starts from the newest answer of a seat,
//! which is also the fallback if it fails; the outcome names the step that gave it.

use std::sync::Arc;

use super::parts::choice::answers::Answers;
use super::parts::choice::gate::gated;
use super::parts::choice::verbatim::lone;
use super::parts::texts::{fusion, rounds};
use crate::call::run_context::RunContext;
use crate::run::outcome::Outcome;

pub(super) async fn decide(context: &Arc<RunContext>, answers: Answers<'_>) -> Outcome {
    if let [only] = answers.usable {
        return lone(context, only, "fuse");
    }
    let began_ms = context.deadline.elapsed_ms();
    // The panel itself is layer 1.
    let layers = 2..=u16::from(context.plan.strategy_options.layers());
    let after_rounds = match rounds::ask(context, answers, layers).await {
        Ok(after_rounds) => after_rounds,
        Err(failure) => return Outcome::none(failure),
    };
    let mut outcome = match gated(context, after_rounds.answers()) {
        Some(outcome) => outcome,
        None => fusion::write(context, after_rounds.answers()).await,
    };
    if let Some(worth) = &mut outcome.worth {
        let layers_cost = after_rounds.cost(context);
        worth.extra_cost = worth.extra_cost.and_then(|cost| Some(cost.plus(layers_cost?)));
        worth.extra_ms = context.deadline.elapsed_ms().saturating_sub(began_ms);
    }
    after_rounds.with_rounds(outcome)
}
