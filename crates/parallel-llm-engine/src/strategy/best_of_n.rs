//! Best of N: a judge reads all answers in two orders and says which is best; that one stands, word for word. With `by=check`
//! the user's own check command says it, and no judge is asked.
//!
//! A judge that changes its mind with the order has not decided: then it is a tie, and of the two the one closer to all
//! the others stands.

use std::sync::Arc;

use crate::call::run_context::RunContext;
use crate::prompt::Task;
use crate::run::outcome::Outcome;
use crate::strategy::parts::answers::Answers;
use crate::strategy::parts::{check, selection};

pub(super) async fn decide(context: &Arc<RunContext>, answers: Answers<'_>) -> Outcome {
    if context.plan.strategy_options.is_checked() {
        return check::choose(context, answers.usable).await;
    }
    selection::first_of(context, Task::Judge, answers).await
}
