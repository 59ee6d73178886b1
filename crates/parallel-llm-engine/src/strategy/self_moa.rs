//! One model, several samples, fused: the panel is one model so many times, which the plan has seen to (see
//! `plan/samples.rs`). From there on it is a synthesis like any other.

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
