//! The comparison of the answers by a model, read out of its reply in a run.
//!
//! The comparison itself is not stored: without the reply text there is none.

use crate::plan::seed;
use crate::plan::step::StepRole;
use crate::prompt::reply::{self, Analysis};
use crate::run::Run;

/// The analysis by the synthesizer of the current text, or by a separate call. `None` if there was none, if the reply has
/// none, or if the reply is not stored.
pub fn of(run: &Run) -> Option<Analysis> {
    let reading = run.outcome.as_ref()?.reading.as_ref()?;
    let reply = run.view(reading.by)?.answer.as_ref()?;
    // A later part of the run may have called the slot again with other answers.
    if reply.text_hash != reading.reply_hash || reply.text.is_empty() {
        return None;
    }
    let shown = reading.labelled_seats();
    match run.plan.role_of(reading.by) {
        Some(StepRole::Analyst) => reply::comparison(&reply.text, &shown),
        _ => reply::analysis(&reply.text, &seed::codes_of(&run.plan, reading.by), &shown),
    }
}
