//! How a run can be continued. Doors render it; the report's JSON does not hold it.

use parallel_llm_engine::RunStatus;
use parallel_llm_engine::request::StoreMode;
use parallel_llm_engine::run::{Run, SeatStatus, SeatView};

/// The effect of continuing a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resuming {
    /// Seats without an answer are asked, and the text is made. Nothing is paid twice.
    Ask,
    /// Only seats are left whose request was sent without a known end: asking again may pay twice.
    Resend,
}

impl Resuming {
    /// For a run that was interrupted or lacks answers; `None` if its texts are not kept or no seat can be asked.
    pub(super) fn of(run: &Run) -> Option<Self> {
        let lacks = matches!(run.status, RunStatus::Interrupted | RunStatus::Partial);
        if !lacks || run.plan.store != StoreMode::Full {
            return None;
        }
        if !run.is_decided() {
            return Some(if run.needs_resend() { Self::Resend } else { Self::Ask });
        }
        if run.seats.iter().any(|seat| !seat.status.is_final()) {
            // A late answer is still on its way.
            return None;
        }
        let is_open = |seat: &SeatView| !seat.is_settled();
        let is_lost = |seat: &SeatView| seat.status == SeatStatus::Unknown;
        if run.seats.iter().any(is_open) {
            Some(Self::Ask)
        } else {
            run.seats.iter().any(is_lost).then_some(Self::Resend)
        }
    }
}
