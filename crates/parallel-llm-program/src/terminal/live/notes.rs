//! The reasons below the rows of calls: one that several calls share is shown once, and so is one too long for a row.

use parallel_llm_engine::run::{Run, SeatView};
use parallel_llm_engine::text::safe;
use parallel_llm_engine::{CallerSlot, Failure};

use super::super::columns;
use super::super::console::Size;
use super::super::line::{Line, Span, wrap};
use super::super::missing::{and, number, ranges};
use super::super::seat::{SeatLine, failure};
use super::super::vocabulary;

/// The most rows of a reason that several calls share, and of any other.
const SHARED_ROWS_MAX: usize = 4;
const SINGLE_ROWS_MAX: usize = 2;
/// Of so many rows, one may be taken from the calls for a shared reason.
const ROWS_PER_NOTE: usize = 3;
/// The indentation of a reason, and of its further rows.
const INDENT: &str = "     ";
const FURTHER_INDENT: &str = "       ";

/// The reasons below the rows.
#[derive(Default)]
pub(super) struct Notes {
    /// Their rows.
    pub(super) lines: Vec<Line>,
    /// The calls whose reason is among them.
    slots: Vec<CallerSlot>,
}

/// Calls that failed for one reason.
struct Note<'r> {
    failure: &'r Failure,
    views: Vec<&'r SeatView>,
}

impl Notes {
    /// The reasons of these calls that several share, or for which `fits` finds no room beside the call. They take the
    /// rows that the calls leave free, and a shared reason a few more.
    pub(super) fn of(
        run: &Run,
        views: &[&SeatView],
        room: Size,
        fits: impl Fn(&SeatView, &str) -> bool,
    ) -> Self {
        let mut reasons: Vec<Note<'_>> = Vec::new();
        for view in views {
            let Some(failure) = failure(view) else { continue };
            match reasons.iter_mut().find(|reason| reason.failure.says_the_same(failure)) {
                Some(reason) => reason.views.push(view),
                None => reasons.push(Note { failure, views: vec![view] }),
            }
        }
        reasons.retain(|reason| reason.is_shared() || !fits(reason.views[0], &reason.failure.message));
        reasons.sort_by_key(|reason| !reason.is_shared());
        let free = room.rows.saturating_sub(views.len());
        let mut shared_left = reasons.iter().filter(|reason| reason.is_shared()).count();
        let mut notes = Self::default();
        for reason in reasons {
            // A reason of one call is not worth the row of another call.
            let rows = if reason.is_shared() { free.max(room.rows / ROWS_PER_NOTE) } else { free };
            shared_left = shared_left.saturating_sub(1);
            let rows = rows.saturating_sub(notes.lines.len() + shared_left).min(reason.rows_max());
            if rows > 0 {
                notes.lines.extend(reason.lines(run, room.columns, rows));
                notes.slots.extend(reason.views.iter().map(|view| view.slot));
            }
        }
        notes
    }

    /// Whether the reason of this call is among them.
    pub(super) fn have(&self, slot: CallerSlot) -> bool {
        self.slots.contains(&slot)
    }
}

impl Note<'_> {
    const fn is_shared(&self) -> bool {
        self.views.len() > 1
    }

    const fn rows_max(&self) -> usize {
        if self.is_shared() { SHARED_ROWS_MAX } else { SINGLE_ROWS_MAX }
    }

    /// The reason in at most this many rows; a row that is cut ends with an ellipsis.
    fn lines(&self, run: &Run, width: usize, rows: usize) -> Vec<Line> {
        let Failure { message, .. } = self.failure;
        let next = self.is_shared().then(|| vocabulary::describe(self.failure.next_steps()));
        let next = next.map(|next| format!(" (next: {next})")).unwrap_or_default();
        let text = format!("{}: {message}{next}", who(run, &self.views));
        let style = SeatLine::of(self.views[0], 0).tone.style();
        let text = Span::new(safe::excerpt(&text, text.len()), style);
        let text_width = width.saturating_sub(FURTHER_INDENT.len());
        let mut lines = wrap(&[text], text_width);
        let blank = Span::new(" ", style);
        if lines.len() > rows {
            // The last row is filled up with what would be cut, so that the ellipsis stands at its end.
            let rest = lines.split_off(rows.saturating_sub(1));
            let spans = rest.iter().take(2).flat_map(|line| line.spans.iter().chain([&blank]));
            let text: String = spans.map(|span| span.text.as_str()).collect();
            lines.push(Line::of(columns::shortened(&format!("{text}…"), text_width), style));
        }
        let indents = std::iter::once(INDENT).chain(std::iter::repeat(FURTHER_INDENT));
        lines.into_iter().zip(indents).map(|(line, indent)| line.prefixed(indent, style)).collect()
    }
}

/// The calls in words: `seats 1-3 and 5`, `fusing`.
fn who(run: &Run, views: &[&SeatView]) -> String {
    let seats: Vec<u8> = views.iter().filter_map(|view| number(view.slot)).collect();
    let seats = ranges(&seats);
    let mut names = Vec::new();
    match seats.as_slice() {
        [] => {}
        [seat] if !seat.contains('-') => names.push(format!("seat {seat}")),
        seats => names.push(format!("seats {}", and(seats))),
    }
    let mut tasks: Vec<&str> = views.iter().filter_map(|view| run.task(view.slot)).collect();
    tasks.dedup();
    names.extend(tasks.into_iter().map(str::to_owned));
    and(&names)
}
