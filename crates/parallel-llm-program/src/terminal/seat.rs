//! A seat on one line: a glyph, a word and figures.

use parallel_llm_engine::run::SeatView;
use parallel_llm_engine::{Failure, SeatStatus};

use super::console::Tone;
use parallel_llm_engine::text::safe;
use parallel_llm_service::report::age::seconds;
use parallel_llm_service::report::cost::Cost;

/// A seat as text.
pub struct SeatLine {
    /// The glyph of the state.
    pub glyph: char,
    /// The word for the state.
    pub word: &'static str,
    /// The meaning, which determines the look.
    pub tone: Tone,
    /// The model, with persona and stance in brackets.
    pub model: String,
    /// Time, tokens and cost, as far as known.
    pub figures: String,
    /// The reason for a problem, on one line.
    pub reason: Option<String>,
    /// When it is asked again.
    pub retry: Option<String>,
}

impl SeatLine {
    /// The seat at this moment, in milliseconds from the start of the run.
    pub fn of(seat: &SeatView, now_ms: u64) -> Self {
        let (glyph, word, tone) = look(seat);
        let message = failure(seat).map(|failure| failure.message.as_str());
        let reason = message.map(|message| safe::excerpt(message, message.len()));
        let retry =
            seat.retry_at_ms.map(|at| format!("trying again in {}", seconds(at.saturating_sub(now_ms))));
        Self { glyph, word, tone, model: seat.who(), figures: figures(seat, now_ms), reason, retry }
    }
}

/// Why a seat has failed, or waits to be asked again. A seat that is being asked again has left its earlier failure behind.
pub fn failure(seat: &SeatView) -> Option<&Failure> {
    let is_over = seat.status.is_final() || seat.retry_at_ms.is_some();
    seat.failure.as_ref().filter(|_| is_over)
}

const fn look(seat: &SeatView) -> (char, &'static str, Tone) {
    match seat.status {
        SeatStatus::Waiting if seat.retry_at_ms.is_some() => ('!', "waiting", Tone::Warning),
        SeatStatus::Waiting if seat.attempts == 0 => ('·', "waiting", Tone::Dim),
        SeatStatus::Waiting => ('·', "asked", Tone::Busy),
        SeatStatus::Streaming if seat.partial.is_empty() => ('~', "thinking", Tone::Busy),
        SeatStatus::Streaming => ('>', "writing", Tone::Busy),
        SeatStatus::Answered if seat.late => ('✓', "late", Tone::Good),
        SeatStatus::Answered => ('✓', "answered", Tone::Good),
        SeatStatus::Cut => ('%', "cut", Tone::Warning),
        SeatStatus::Failed => ('✗', "failed", Tone::Bad),
        SeatStatus::Refused => ('✗', "refused", Tone::Bad),
        SeatStatus::Cancelled => ('-', "cancelled", Tone::Dim),
        SeatStatus::Skipped => ('-', "skipped", Tone::Warning),
        SeatStatus::Unknown => ('?', "unknown", Tone::Warning),
    }
}

fn figures(seat: &SeatView, now_ms: u64) -> String {
    let mut figures = Vec::new();
    let running = || seat.sent_ms.filter(|_| !seat.status.is_final()).map(|sent| now_ms.saturating_sub(sent));
    if let Some(ms) = seat.elapsed_ms.or_else(running) {
        figures.push(format!("{:>7}", seconds(ms)));
    }
    let usage = seat.answer.as_ref().map(|answer| answer.usage);
    match usage.and_then(|usage| usage.output_tokens) {
        Some(tokens) => figures.push(format!("{tokens:>5} tokens")),
        None if !seat.partial.is_empty() => {
            figures.push(format!("{:>5} chars ", seat.partial.chars().count()));
        }
        None => {}
    }
    let cost = Cost::of_seat(seat);
    if cost.known.is_some() && seat.attempts > 0 {
        figures.push(cost.short());
    }
    if !seat.without.is_empty() {
        figures.push(format!("without {}", seat.without.join(", ")));
    }
    figures.join("  ")
}
