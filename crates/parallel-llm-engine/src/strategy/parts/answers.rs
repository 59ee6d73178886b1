//! The answers a strategy works with: what there is, and which of them say the same.

use crate::agreement::Agreement;
use crate::call::run_context::RunContext;
use crate::panel::gather::Usable;
use crate::request::StoreMode;

/// What a strategy makes one text of.
#[derive(Clone, Copy)]
pub(crate) struct Answers<'a> {
    /// In the order of the panel; there is at least one.
    pub(crate) usable: &'a [Usable],
    /// Which of them say the same, where that can be told.
    pub(crate) agreement: Option<&'a Agreement>,
}

/// Which of the answers say the same, with what they say as far as the words of the run are kept.
pub(crate) fn agreement(context: &RunContext, usable: &[Usable]) -> Option<Agreement> {
    let answers = usable.iter().map(|one| (one.seat, &*one.answer.text));
    Agreement::by(context.plan.strategy_options.extractor(), &context.plan.question(), answers)
        .map(|agreement| kept(context, agreement))
}

/// As much of it as is kept of the words of the run.
pub(crate) fn kept(context: &RunContext, agreement: Agreement) -> Agreement {
    match context.plan.store {
        StoreMode::Metadata => agreement.without_values(),
        StoreMode::Full | StoreMode::None => agreement,
    }
}
