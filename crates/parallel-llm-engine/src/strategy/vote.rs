//! The answer that most others agree with, as it is; by count, or by what each seat's accuracy says. It costs no call
//! beyond the panel, but for one where a model is to say what the answers come to.
//!
//! Where the answers cannot be compared by what they come to, the one that shares most with the others has the most of
//! their votes. Between clusters that weigh the same the one with the strongest seat wins, else the one with the first.

use std::sync::Arc;

use crate::agreement::Agreement;
use crate::call::run_context::RunContext;
use crate::panel::gather::Usable;
use crate::request::recipe::Extractor;
use crate::run::outcome::Outcome;
use crate::strategy::is_gated;
use crate::strategy::parts::{counting, extraction};

pub(super) async fn decide(
    context: &Arc<RunContext>,
    usable: &[Usable],
    agreement: Option<&Agreement>,
) -> Outcome {
    let is_read = context.plan.knobs.extractor() == Extractor::Llm && usable.len() > 1;
    if is_read && !is_gated(context, agreement) {
        return extraction::vote(context, usable, agreement).await;
    }
    counting::counted(context, usable, agreement)
}
