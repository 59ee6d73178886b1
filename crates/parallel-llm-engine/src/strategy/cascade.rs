//! The strategy `cascade`: some seats are asked first, and the others only if those disagree.
//!
//! If the answers still disagree, a synthesizer fuses all of them. [`crate::panel::escalation`] decides which seats are asked
//! first and when the others are.

use std::sync::Arc;

use super::parts::choice::answers::Answers;
use super::parts::texts::synthesis;
use crate::call::run_context::RunContext;
use crate::run::outcome::Outcome;

pub(super) async fn decide(context: &Arc<RunContext>, answers: Answers<'_>) -> Outcome {
    synthesis::synthesize(context, answers).await
}
