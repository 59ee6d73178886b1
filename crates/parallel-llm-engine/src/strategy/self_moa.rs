//! The strategy `self-moa`: several samples of one model are fused.
//!
//! `plan/samples.rs` makes the panel of one model; the rest is a synthesis like any other.

use std::sync::Arc;

use crate::call::run_context::RunContext;
use crate::run::outcome::Outcome;
use crate::strategy::parts::answers::Answers;
use crate::strategy::parts::synthesis;

pub(super) async fn decide(context: &Arc<RunContext>, answers: Answers<'_>) -> Outcome {
    synthesis::synthesize(context, answers).await
}
