//! The strategy `best-of-n`: one answer is selected and stands word for word.
//!
//! The option `by` says who selects. A judge ranks all answers, or says which one the others support most (universal
//! self-consistency), or compares two at a time. A check command needs no judge.

mod tournament;

use std::sync::Arc;

use super::parts::calls::selection;
use super::parts::choice::answers::Answers;
use super::parts::choice::check;
use crate::call::run_context::RunContext;
use crate::prompt::Task;
use crate::request::strategy::By;
use crate::run::outcome::Outcome;
use tournament::Pairing;

pub(super) async fn decide(context: &Arc<RunContext>, answers: Answers<'_>) -> Outcome {
    match context.plan.strategy_options.by() {
        By::Judge => selection::select(context, Task::Judge, answers).await,
        By::Pairs => tournament::select(context, Pairing::Knockout, answers).await,
        By::League => tournament::select(context, Pairing::League, answers).await,
        By::Consistency => selection::select(context, Task::Consistency, answers).await,
        By::Check => check::select(context, answers.usable).await,
    }
}
