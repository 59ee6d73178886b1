//! Universal self-consistency: a judge says which answer the others most support in substance, where that cannot be
//! counted; that one stands, word for word.
//!
//! The same as best of N but for the question. It is asked in one order, because what an answer comes to is seen from any
//! place in the list.

use std::sync::Arc;

use crate::call::run_context::RunContext;
use crate::prompt::Task;
use crate::run::outcome::Outcome;
use crate::strategy::parts::answers::Answers;
use crate::strategy::parts::selection;

pub(super) async fn decide(context: &Arc<RunContext>, answers: Answers<'_>) -> Outcome {
    selection::first_of(context, Task::Consistency, answers).await
}
