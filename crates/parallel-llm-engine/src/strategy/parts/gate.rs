//! The gate: if all answers agree, one of them is selected and no model reads them.

use crate::agreement::Agreement;
use crate::call::run_context::RunContext;
use crate::request::strategy::Gate;
use crate::run::outcome::Outcome;
use crate::strategy::parts::answers::Answers;
use crate::strategy::parts::best::best;
use crate::strategy::parts::verbatim::{selected, strongest};

/// Whether the gate is on and all answers agree. It is off if the user asks for another text of the answers.
pub(crate) fn is_gated(context: &RunContext, agreement: Option<&Agreement>) -> bool {
    let is_on = context.plan.strategy_options.gate.unwrap_or_default() == Gate::Unanimous
        && !context.hub.with_run(|run| run.rewrites);
    is_on && agreement.is_some_and(Agreement::is_unanimous)
}

/// The outcome if the gate applies; `None` if the answers must be read.
pub(crate) fn gated(context: &RunContext, Answers { usable, agreement }: Answers<'_>) -> Option<Outcome> {
    let agreement = agreement.filter(|_| is_gated(context, agreement))?;
    let value = agreement.value().map_or("the same".to_owned(), |value| format!("`{value}`"));
    let reason = format!("all {} answers say {value}, so nothing was fused", agreement.of);
    Some(selected(context, best(usable, &strongest(context)), reason))
}
