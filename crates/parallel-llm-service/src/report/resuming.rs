//! What continuing a run would do. It is for doors, which say each in their own words how; the report's JSON does not
//! hold it.

use parallel_llm_engine::RunStatus;
use parallel_llm_engine::request::StoreMode;
use parallel_llm_engine::run::{Run, SeatStatus, SeatView};

/// How a run can be continued.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resuming {
    /// Its seats without an answer are asked, and its text is made. Nothing is paid twice.
    Ask,
    /// Only seats are left that were sent and never heard of, which may be paid twice.
    Resend,
}

impl Resuming {
    /// Of a run that was interrupted or lacks answers; nothing where its texts are not kept, or no seat could be asked.
    pub(super) fn of(run: &Run) -> Option<Self> {
        let lacks = matches!(run.status, RunStatus::Interrupted | RunStatus::Partial);
        if !lacks || run.plan.store != StoreMode::Full {
            return None;
        }
        if !run.is_decided() {
            return Some(if run.needs_resend() { Self::Resend } else { Self::Ask });
        }
        if run.seats.iter().any(|seat| !seat.status.is_final()) {
            // It is late, and on its way.
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
