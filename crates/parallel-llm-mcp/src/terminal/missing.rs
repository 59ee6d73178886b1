//! Seats without an answer: one line for each reason, however many seats share it.

use std::fmt::Display;

use parallel_llm_engine::run::{Run, SeatView};
use parallel_llm_engine::text::safe;
use parallel_llm_engine::{CallerSlot, Failure};

use super::seat::{SeatLine, failure};
use super::vocabulary;

/// The longest reason shown, in characters.
const REASON_CHARS_MAX: usize = 240;

/// A reason, and the seats it concerns.
#[derive(PartialEq, Eq)]
struct Reason {
    word: &'static str,
    why: String,
    next: Option<String>,
}

/// The seats that should have an answer and have none, a line for each reason.
pub fn lines(run: &Run) -> Vec<String> {
    let mut reasons: Vec<(Reason, Vec<String>)> = Vec::new();
    for seat in run.missing() {
        let (reason, name) = (reason(run, seat), numbered(seat));
        match reasons.iter_mut().find(|(known, _)| *known == reason) {
            Some((_, names)) => names.push(name),
            None => reasons.push((reason, vec![name])),
        }
    }
    reasons.iter().map(|(reason, names)| line(reason, names)).collect()
}

/// The other call that failed for the same reason, so that the reason need not be repeated.
pub fn same_reason(run: &Run, slot: CallerSlot, failure: &Failure) -> Option<CallerSlot> {
    let has_it = |view: &&SeatView| {
        let known = view.failure.as_ref().filter(|_| view.slot != slot);
        known.is_some_and(|known| is_same(known, failure))
    };
    run.views().find(has_it).map(|view| view.slot)
}

/// Whether two calls failed for the same reason.
pub fn is_same(one: &Failure, other: &Failure) -> bool {
    one.code == other.code && one.message == other.message
}

/// A seat by its number and model.
fn numbered(seat: &SeatView) -> String {
    match seat.slot {
        CallerSlot::Seat(number) => format!("{number} {}", seat.who()),
        CallerSlot::Synthesizer(_) | CallerSlot::Step(_) => seat.who(),
    }
}

fn reason(run: &Run, seat: &SeatView) -> Reason {
    let word = SeatLine::of(seat, run.elapsed_ms).word;
    match failure(seat) {
        Some(failure) => Reason {
            word,
            why: safe::excerpt(&failure.message, REASON_CHARS_MAX),
            next: Some(vocabulary::describe(failure.next_steps())),
        },
        None if run.is_decided() => Reason { word, why: "no longer waited for".to_owned(), next: None },
        None => Reason { word, why: "still at it".to_owned(), next: None },
    }
}

fn line(Reason { word, why, next }: &Reason, names: &[String]) -> String {
    let next = next.as_ref().map(|next| format!(" (next: {next})")).unwrap_or_default();
    safe::for_terminal(&format!("Missing: {} {word}: {why}{next}", and(names)))
}

/// A list in words: `a`, `a and b`, `a, b and c`.
pub fn and(items: &[impl Display]) -> String {
    let Some((last, others)) = items.split_last() else { return String::new() };
    let others: Vec<String> = others.iter().map(ToString::to_string).collect();
    if others.is_empty() { last.to_string() } else { format!("{} and {last}", others.join(", ")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_read_as_words() {
        let none: [&str; 0] = [];
        assert_eq!([and(&none), and(&["a"]), and(&["a", "b", "c"])], ["", "a", "a, b and c"]);
    }
}
