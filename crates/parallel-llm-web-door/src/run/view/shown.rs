//! A run as it is shown to a visitor, and the small marks that several of its sections share.

use parallel_llm_engine::run::{SeatStatus, SeatView};
use parallel_llm_engine::{CallerSlot, Recorded, Run, RunStatus, SeatNumber};
use parallel_llm_service::report::Report;

use crate::text::glyphs;
use crate::visit::Visit;

/// The number of colours that seats have; a seat is always named by its number too.
const COLOURS: u8 = 8;

/// A run, all that is known of it, and who looks at it.
#[derive(Clone, Copy)]
pub(crate) struct Shown<'a> {
    pub(crate) run: &'a Run,
    /// The report in the page's words.
    pub(crate) report: &'a Report,
    /// The durable events; empty if they are not stored.
    pub(crate) events: &'a [Recorded],
    pub(crate) visit: &'a Visit,
    /// Whether the visitor can hurry, skip and stop: the run is done in this process, and the visitor may ask.
    pub(crate) can_steer: bool,
    /// The age of the run in milliseconds.
    pub(crate) age_ms: u64,
    /// Whether a page gets this that has been loaded and follows the run.
    pub(crate) is_followed: bool,
}

/// A seat as a small numbered mark that leads to its answer.
pub(crate) struct SeatMark {
    pub(crate) number: u8,
    pub(crate) colour: u8,
    pub(crate) slot: String,
    pub(crate) model: String,
}

/// A status as a glyph, a word for the style, and words for the reader.
pub(crate) struct StatusMark {
    pub(crate) glyph: &'static str,
    pub(crate) word: &'static str,
    pub(crate) label: String,
}

/// A text of the run that can be compared.
pub(crate) struct TextName {
    /// `final`, or the seat's number.
    pub(crate) name: String,
    pub(crate) label: String,
}

impl Shown<'_> {
    /// The run's id.
    pub(crate) fn id(&self) -> String {
        self.run.plan.run_id.to_string()
    }

    /// Whether more may happen.
    pub(crate) fn is_live(&self) -> bool {
        !self.run.closed && !matches!(self.run.status, RunStatus::Interrupted)
    }

    /// Whether the answer is there and late seats are still awaited.
    pub(crate) fn is_late(&self) -> bool {
        self.run.is_decided() && self.is_live()
    }

    /// Whether a seat has ended.
    pub(crate) fn has_ended(&self, seat: u8) -> bool {
        self.run.seat(SeatNumber(seat)).is_some_and(|view| view.status.is_final())
    }

    /// The marks of these seats.
    pub(crate) fn marks(&self, seats: &[u8]) -> Vec<SeatMark> {
        seats.iter().map(|seat| SeatMark::of(self.run, *seat)).collect()
    }

    /// The texts that can be compared: the final one and those of the seats.
    pub(crate) fn texts(&self) -> Vec<TextName> {
        let last = self.run.outcome.as_ref().and_then(|outcome| outcome.text.as_ref());
        let last = last.map(|_| TextName { name: "final".to_owned(), label: "final answer".to_owned() });
        let seats = self.run.seats.iter().zip(1_u8..).filter(|(view, _)| view.text().is_some());
        let seat = |(view, number): (&SeatView, u8)| TextName {
            name: number.to_string(),
            label: format!("{number}: {}", view.who()),
        };
        last.into_iter().chain(seats.map(seat)).collect()
    }
}

impl SeatMark {
    /// The mark of a seat.
    pub(crate) fn of(run: &Run, number: u8) -> Self {
        let model = run.seat(SeatNumber(number)).map(SeatView::who).unwrap_or_default();
        Self { number, colour: colour(number), slot: format!("seat-{number}"), model }
    }
}

/// The colour of a seat, from 1.
pub(crate) const fn colour(number: u8) -> u8 {
    number.saturating_sub(1) % COLOURS + 1
}

/// The id of a slot's element.
pub(crate) fn element(slot: CallerSlot) -> String {
    match slot {
        CallerSlot::Seat(number) => format!("seat-{number}"),
        CallerSlot::Synthesizer(number) => format!("synthesizer-{number}"),
        CallerSlot::Step(number) => format!("step-{number}"),
    }
}

impl StatusMark {
    /// The mark of a call.
    pub(crate) fn of_call(view: &SeatView) -> Self {
        let word = view.status.as_str();
        let glyph = glyphs::of_call(view.status);
        let label = match view.status {
            SeatStatus::Waiting if view.retry_at_ms.is_some() => "waiting to try again",
            SeatStatus::Waiting if view.attempts == 0 => "waiting to be asked",
            SeatStatus::Waiting => "waiting for the first words",
            SeatStatus::Streaming if view.partial.is_empty() => "thinking",
            SeatStatus::Streaming => "writing",
            _ if view.late => return Self { glyph, word, label: format!("{word}, too late") },
            _ => word,
        };
        Self { glyph, word, label: label.to_owned() }
    }

    /// The mark of a run.
    pub(crate) fn of_run(status: RunStatus) -> Self {
        Self { glyph: glyphs::of_run(status), word: status.as_str(), label: status.as_str().to_owned() }
    }
}
