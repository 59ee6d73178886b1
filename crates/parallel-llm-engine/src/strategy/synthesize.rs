//! Synthesis: a synthesizer chooses the best answer as its base and patches it with justified changes, or writes from all
//! answers alike where that is wanted.
//!
//! The synthesizers are asked in the order of their chain until one gives a text. Each failure is a warning; if
//! all fail, the best answer is returned word for word.

use std::sync::Arc;

use crate::agreement::Agreement;
use crate::call::run_context::RunContext;
use crate::panel::gather::Usable;
use crate::run::outcome::Outcome;
use crate::strategy::parts::fusion;

pub(super) async fn decide(
    context: &Arc<RunContext>,
    usable: &[Usable],
    agreement: Option<&Agreement>,
) -> Outcome {
    fusion::decide(context, usable, agreement).await
}
