//! One model, several samples, fused: the panel is one model so many times, which the plan has seen to (see
//! `plan/samples.rs`). From there on it is a synthesis like any other.

use std::sync::Arc;

use crate::call::run_context::RunContext;
use crate::run::outcome::Outcome;
use crate::strategy::parts::answers::Answers;
use crate::strategy::parts::synthesis;

pub(super) async fn decide(context: &Arc<RunContext>, answers: Answers<'_>) -> Outcome {
    synthesis::of(context, answers).await
}
