//! A cascade: some of the panel are asked first, and where they agree nobody else is. Otherwise the others are asked too, and
//! a synthesizer fuses all answers, unless these agree.
//!
//! Whom it asks first and when it goes on is decided in [`crate::panel::escalation`], before anything is fused.

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
