//! The strategy `consistency` (universal self-consistency): a judge selects the answer the others support most.
//!
//! It differs from best of N only in the question to the judge. One order is enough, because the value of an answer does not
//! depend on its position in the list.

use std::sync::Arc;

use crate::call::run_context::RunContext;
use crate::prompt::Task;
use crate::run::outcome::Outcome;
use crate::strategy::parts::answers::Answers;
use crate::strategy::parts::selection;

pub(super) async fn decide(context: &Arc<RunContext>, answers: Answers<'_>) -> Outcome {
    selection::select(context, Task::Consistency, answers).await
}
