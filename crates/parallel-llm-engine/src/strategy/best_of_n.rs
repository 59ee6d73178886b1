//! The strategy `best-of-n`: a judge reads all answers in two orders and selects the best one.
//!
//! A judge that prefers another answer in the other order has not decided: the result is a tie, and of the two answers the
//! one closer to all others is selected. With `by=check` the check command decides and no judge is asked.

use std::sync::Arc;

use crate::call::run_context::RunContext;
use crate::prompt::Task;
use crate::run::outcome::Outcome;
use crate::strategy::parts::answers::Answers;
use crate::strategy::parts::{check, selection};

pub(super) async fn decide(context: &Arc<RunContext>, answers: Answers<'_>) -> Outcome {
    if context.plan.strategy_options.is_checked() {
        return check::select(context, answers.usable).await;
    }
    selection::select(context, Task::Judge, answers).await
}
