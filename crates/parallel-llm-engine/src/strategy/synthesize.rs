//! The strategy `synthesize`: a synthesizer takes the best answer as its base and makes justified changes.
//!
//! The synthesizers are asked in the order of their chain until one gives a text. Each failure is a warning; if all fail, the
//! best answer is returned word for word.

use std::sync::Arc;

use super::parts::choice::answers::Answers;
use super::parts::texts::synthesis;
use crate::call::run_context::RunContext;
use crate::run::outcome::Outcome;

pub(super) async fn decide(context: &Arc<RunContext>, answers: Answers<'_>) -> Outcome {
    synthesis::synthesize(context, answers).await
}
