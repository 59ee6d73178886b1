//! What a reader of the answers said they agree and differ in, read out of a run: a view, kept nowhere.
//!
//! Pure. What always holds: where the words of the run are not kept, or not any more, there is no analysis.

use crate::plan::seed;
use crate::plan::step::StepRole;
use crate::prompt;
use crate::prompt::reply::{self, Analysis, Claim};
use crate::request::panel::SeatNumber;
use crate::run::Run;

/// The analysis of the reader who made the text that stands, or was asked beside it; `None` where nobody was, where the
/// reply has none, or where it is not kept.
pub fn of(run: &Run) -> Option<Analysis> {
    let reading = run.outcome.as_ref()?.reading.as_ref()?;
    let reply = run.view(reading.by)?.answer.as_ref()?;
    // The place may have been asked once more since, and may have been shown others.
    if reply.text_hash != reading.reply_hash || reply.text.is_empty() {
        return None;
    }
    let labels = (0..).map(prompt::label);
    let shown: Vec<(String, SeatNumber)> = labels.zip(reading.shown.iter().copied()).collect();
    match run.plan.role_of(reading.by) {
        Some(StepRole::Analyst) => reply::comparison(&reply.text, &shown),
        _ => reply::analysis(&reply.text, &seed::codes_of(&run.plan, reading.by), &shown),
    }
}

/// What a claim is among those of several answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClaimStatus {
    /// All say so.
    Consensus,
    /// Somebody says otherwise.
    Contradiction,
    /// One says so alone, and nobody says otherwise.
    Unique,
    /// Some say so, and the others do not speak of it.
    Shared,
}

impl ClaimStatus {
    /// The standing of a claim among so many answers.
    pub const fn of(claim: &Claim, answers: usize) -> Self {
        match (claim.supported_by.len(), claim.contradicted_by.len()) {
            (_, 1..) => Self::Contradiction,
            (all, 0) if all > 1 && all == answers => Self::Consensus,
            (1, 0) => Self::Unique,
            _ => Self::Shared,
        }
    }
}
