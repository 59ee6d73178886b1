//! Statuses as glyphs, which stand beside their words and never alone.

use parallel_llm_engine::{RunStatus, SeatStatus};

/// The glyph of a call.
pub(crate) const fn of_call(status: SeatStatus) -> &'static str {
    match status {
        SeatStatus::Waiting => "◌",
        SeatStatus::Streaming => "▸",
        SeatStatus::Answered => "✓",
        SeatStatus::Cut => "✂",
        SeatStatus::Failed => "✕",
        SeatStatus::Refused => "⊘",
        SeatStatus::Cancelled => "■",
        SeatStatus::Skipped => "↷",
        SeatStatus::Unknown => "?",
    }
}

/// The glyph of a run.
pub(crate) const fn of_run(status: RunStatus) -> &'static str {
    match status {
        RunStatus::Running => "▸",
        RunStatus::Complete => "✓",
        RunStatus::Partial => "◐",
        RunStatus::Failed => "✕",
        RunStatus::Cancelled => "■",
        RunStatus::Interrupted => "!",
    }
}
