//! The answer that most others agree with, as it is; by count, or by what each seat's accuracy says. It costs no call
//! beyond the panel, but for one where a model is to say what the answers come to.
//!
//! Where the answers cannot be compared by what they come to, the one that shares most with the others has the most of
//! their votes. Between clusters that weigh the same the one with the strongest seat wins, else the one with the first.

use std::sync::Arc;

use crate::call::run_context::RunContext;
use crate::request::strategy::Extractor;
use crate::run::outcome::Outcome;
use crate::strategy::parts::answers::Answers;
use crate::strategy::parts::gate::is_gated;
use crate::strategy::parts::{counting, extraction};

pub(super) async fn decide(context: &Arc<RunContext>, answers: Answers<'_>) -> Outcome {
    let is_read = context.plan.strategy_options.extractor() == Extractor::Llm && answers.usable.len() > 1;
    if is_read && !is_gated(context, answers.agreement) {
        return extraction::vote(context, answers).await;
    }
    counting::counted(context, answers)
}
