//! The comparison of the answers by a model, read out of its reply in a run.
//!
//! The comparison itself is not stored: without the reply text there is none.

use crate::plan::seed;
use crate::plan::step::StepRole;
use crate::prompt::reply::{self, Analysis, Claim};
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

/// How many answers make a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClaimStatus {
    /// All answers make it.
    Consensus,
    /// Some answer contradicts it.
    Contradiction,
    /// One answer makes it, and none contradicts it.
    Unique,
    /// Some answers make it, and the others do not mention it.
    Shared,
}

impl ClaimStatus {
    /// The status of a claim among `answers` answers.
    pub const fn of(claim: &Claim, answers: usize) -> Self {
        match (claim.supported_by.len(), claim.contradicted_by.len()) {
            (_, 1..) => Self::Contradiction,
            (all, 0) if all > 1 && all == answers => Self::Consensus,
            (1, 0) => Self::Unique,
            _ => Self::Shared,
        }
    }
}
