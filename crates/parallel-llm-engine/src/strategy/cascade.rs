//! A cascade: some of the panel are asked first, and where they agree nobody else is. Otherwise the others are asked too, and
//! a synthesizer fuses all answers, unless these agree.
//!
//! Whom it asks first and when it goes on is decided in [`crate::panel::escalation`], before anything is fused.

use std::sync::Arc;

use crate::call::run_context::RunContext;
use crate::run::outcome::Outcome;
use crate::strategy::parts::answers::Answers;
use crate::strategy::parts::synthesis;

pub(super) async fn decide(context: &Arc<RunContext>, answers: Answers<'_>) -> Outcome {
    synthesis::of(context, answers).await
}
