//! The gate: equal texts are not fused, nor are answers with one short answer if the strategy counts those.

use super::answers::Answers;
use super::best::best;
use super::verbatim::{selected, strongest};
use crate::agreement::Agreement;
use crate::call::run_context::RunContext;
use crate::run::outcome::Outcome;
use crate::text::shingles;

/// Whether there is nothing to fuse. There is always something if the user asks for another text of the answers.
pub(crate) fn is_gated(context: &RunContext, Answers { usable, agreement }: Answers<'_>) -> bool {
    let is_equal = || {
        usable
            .windows(2)
            .all(|two| shingles::exact(&two[0].answer.text) == shingles::exact(&two[1].answer.text))
    };
    let agrees = match agreement.filter(|_| context.plan.strategy_choice().counts()) {
        Some(agreement) => agreement.is_unanimous(),
        None => is_equal(),
    };
    !context.hub.with_run(|run| run.rewrites) && usable.len() > 1 && agrees
}

/// The outcome if the gate applies; `None` if the answers must be read.
pub(crate) fn gated(context: &RunContext, answers: Answers<'_>) -> Option<Outcome> {
    let Answers { usable, agreement } = answers;
    if !is_gated(context, answers) {
        return None;
    }
    let agreement = agreement.filter(|agreement| agreement.is_unanimous());
    let value = agreement.and_then(Agreement::value);
    let value = value.map_or("the same".to_owned(), |value| format!("`{value}`"));
    let also = agreement.and_then(|agreement| Some(agreement.equivalence_of(agreement.clusters.first()?)));
    let also = also.unwrap_or_default();
    let all = if usable.len() == 2 { "both".to_owned() } else { format!("all {}", usable.len()) };
    let reason = format!("{all} answers say {value}{also}, so nothing was fused");
    Some(selected(context, best(usable, &strongest(context)), reason))
}
