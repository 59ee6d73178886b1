//! Synthesis: a synthesizer chooses the best answer as its base and patches it with justified changes, or writes from all
//! answers alike where that is wanted.
//!
//! The synthesizers are asked in the order of their chain until one gives a text. Each failure is a warning; if
//! all fail, the best answer is returned word for word.

use std::sync::Arc;

use crate::agreement::Agreement;
use crate::call::upstream_call::Desk;
use crate::panel::gather::Usable;
use crate::run::outcome::Outcome;
use crate::strategy::parts::fusion;

pub(super) async fn decide(desk: &Arc<Desk>, usable: &[Usable], agreement: Option<&Agreement>) -> Outcome {
    fusion::decide(desk, usable, agreement).await
}
