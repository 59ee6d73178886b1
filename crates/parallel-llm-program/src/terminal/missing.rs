//! Seats without a whole answer: one line for each reason, however many seats share it.

use std::fmt::Display;

use parallel_llm_engine::CallerSlot;
use parallel_llm_engine::run::{Run, SeatView};
use parallel_llm_engine::text::safe;
use parallel_llm_engine::value::next::{Next, Operation};

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

/// The seats that should have an answer and have none, and those whose answer broke off and was used: a line for each
/// reason.
pub fn lines(run: &Run) -> Vec<String> {
    let missing = by_reason(run, run.missing()).map(|line| format!("Missing: {line}"));
    let cut = by_reason(run, run.used_although_cut()).map(|line| format!("Used although cut: {line}"));
    missing.chain(cut).map(|line| safe::for_terminal(&line)).collect()
}

fn by_reason<'r>(run: &Run, seats: impl Iterator<Item = &'r SeatView>) -> impl Iterator<Item = String> {
    let mut reasons: Vec<(Reason, Vec<&SeatView>)> = Vec::new();
    for seat in seats {
        let reason = reason(run, seat);
        match reasons.iter_mut().find(|(known, _)| *known == reason) {
            Some((_, seats)) => seats.push(seat),
            None => reasons.push((reason, vec![seat])),
        }
    }
    let all = run.seats.len();
    // The names of the whole panel stand above, and say nothing here.
    let named = move |seats: &[&SeatView]| {
        if all > 2 && seats.len() == all { vec![format!("all {all} seats")] } else { names(seats) }
    };
    reasons.into_iter().map(move |(reason, seats)| line(&reason, &named(&seats)))
}

/// Calls in words, those of one model together: `1 and 3-5 a/b`, `2 c/d`.
fn names(views: &[&SeatView]) -> Vec<String> {
    let mut models: Vec<(String, Vec<u8>)> = Vec::new();
    for view in views {
        let (who, number) = (view.who(), number(view.slot));
        match models.iter_mut().find(|(known, _)| *known == who) {
            Some((_, numbers)) => numbers.extend(number),
            None => models.push((who, number.into_iter().collect())),
        }
    }
    let named = |(who, numbers): &(String, Vec<u8>)| format!("{} {who}", and(&ranges(numbers)));
    models.iter().map(|model| named(model).trim_start().to_owned()).collect()
}

/// The number of a seat.
pub fn number(slot: CallerSlot) -> Option<u8> {
    match slot {
        CallerSlot::Seat(number) => Some(number.0),
        CallerSlot::Synthesizer(_) | CallerSlot::Step(_) => None,
    }
}

/// Rising numbers, three or more in a row as a range: `1-3`, `5`.
pub fn ranges(numbers: &[u8]) -> Vec<String> {
    let rows = numbers.chunk_by(|one, next| one.checked_add(1) == Some(*next));
    let written = |row: &[u8]| match row {
        [first, .., last] if row.len() > 2 => vec![format!("{first}-{last}")],
        row => row.iter().map(ToString::to_string).collect(),
    };
    rows.flat_map(written).collect()
}

fn reason(run: &Run, seat: &SeatView) -> Reason {
    let word = SeatLine::of(seat, run.elapsed_ms).word;
    match failure(seat) {
        Some(failure) => Reason {
            word,
            why: safe::excerpt(&failure.message, REASON_CHARS_MAX),
            // The last line of the summary names the command that shows the run.
            next: Some(failure.next_steps())
                .filter(|steps| *steps != [Next::Use(Operation::ShowRun)])
                .map(vocabulary::describe),
        },
        None if run.is_decided() => {
            Reason { word, why: "the answer did not wait for it".to_owned(), next: None }
        }
        None => Reason { word, why: "still at it".to_owned(), next: None },
    }
}

fn line(Reason { word, why, next }: &Reason, names: &[String]) -> String {
    let next = next.as_ref().map(|next| format!(" (next: {next})")).unwrap_or_default();
    format!("{} {word}: {why}{next}", and(names))
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
    fn seats_in_a_row_are_a_range() {
        assert_eq!(ranges(&[1, 2, 3, 5, 7, 8, 255]), ["1-3", "5", "7", "8", "255"]);
        assert!(ranges(&[]).is_empty());
    }

    #[test]
    fn lists_read_as_words() {
        let none: [&str; 0] = [];
        assert_eq!([and(&none), and(&["a"]), and(&["a", "b", "c"])], ["", "a", "a, b and c"]);
    }
}
