//! The input of a strategy: the usable answers and their agreement.

use crate::agreement::{Agreement, AnswerText};
use crate::call::run_context::RunContext;
use crate::panel::gather::Usable;
use crate::request::StoreMode;

/// The answers a strategy makes one text of.
#[derive(Clone, Copy)]
pub(crate) struct Answers<'a> {
    /// The answers in the order of the panel; at least one.
    pub(crate) usable: &'a [Usable],
    /// Their agreement, if they can be compared.
    pub(crate) agreement: Option<&'a Agreement>,
}

/// The agreement of answers, with their values if the texts of the run are kept.
pub(crate) fn agreement(context: &RunContext, usable: &[Usable]) -> Option<Agreement> {
    let answers = usable.iter().map(|one| (one.seat, AnswerText::from(one)));
    let agreement = context.agreement(answers)?;
    Some(match context.plan.store {
        StoreMode::Metadata => agreement.without_values(),
        StoreMode::Full | StoreMode::None => agreement,
    })
}
