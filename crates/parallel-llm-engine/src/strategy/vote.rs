//! The strategy `vote`: the answer most others agree with is selected, by count or weighted by accuracy.
//!
//! It needs no call besides the panel, except one with `extractor=llm`. If the answers cannot be compared by value, the one
//! closest to the others is selected. Between clusters of equal weight, the one with the strongest seat wins, else the one
//! with the first seat.

use std::sync::Arc;

use crate::call::run_context::RunContext;
use crate::request::strategy::Extractor;
use crate::run::outcome::Outcome;
use crate::strategy::parts::answers::Answers;
use crate::strategy::parts::gate::is_gated;
use crate::strategy::parts::{counting, extraction};

pub(super) async fn decide(context: &Arc<RunContext>, answers: Answers<'_>) -> Outcome {
    let is_read = context.plan.strategy_options.extractor() == Extractor::Llm && answers.usable.len() > 1;
    if is_read && !is_gated(context, answers) {
        return extraction::vote(context, answers).await;
    }
    counting::counted(context, answers)
}
