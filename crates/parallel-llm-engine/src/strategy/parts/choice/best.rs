//! The best answer without a model: that of the strongest seat, else the one that shares most with the others.
//!
//! The choice is deterministic, so a fallback can be explained and repeated.

use std::cmp::Reverse;

use crate::panel::gather::Usable;
use crate::request::panel::SeatNumber;
use crate::text::shingles::{self, Shingles};

/// The overlap of two texts with the same words. A whole number, so that equal answers are exactly equal.
pub(crate) const SAME: usize = 1_000_000;

/// The answer of the strongest seat, else the one closest to the others. Whole answers come before cut ones, and the
/// earlier seat wins a tie.
pub(crate) fn best<'a>(usable: &'a [Usable], strongest: &[SeatNumber]) -> &'a Usable {
    best_first(usable, strongest)[0]
}

/// Among the answers of these seats, that of the strongest seat, else the one closest to all others.
pub(crate) fn best_among<'a>(
    usable: &'a [Usable],
    strongest: &[SeatNumber],
    seats: &[SeatNumber],
) -> &'a Usable {
    let among = best_first(usable, strongest).into_iter().find(|one| seats.contains(&one.seat));
    among.expect("there is at least one answer")
}

/// The answers, that of the strongest seat first, then the one closest to the others.
pub(crate) fn best_first<'a>(usable: &'a [Usable], strongest: &[SeatNumber]) -> Vec<&'a Usable> {
    let rank = |(one, agreement): &(&Usable, usize)| {
        let is_strongest = strongest.contains(&one.seat);
        (!one.cut, !one.answer.truncated(), is_strongest, *agreement, Reverse(one.seat))
    };
    let mut ranked: Vec<(&Usable, usize)> = usable.iter().zip(overlaps(usable)).collect();
    ranked.sort_by_key(|one| Reverse(rank(one)));
    ranked.into_iter().map(|(one, _)| one).collect()
}

/// The sum of the overlaps of each answer with all others.
fn overlaps(usable: &[Usable]) -> Vec<usize> {
    let words: Vec<Shingles> = usable.iter().map(|one| shingles::words(&one.answer.text)).collect();
    let mut overlaps = vec![0; words.len()];
    for (one, first) in words.iter().enumerate() {
        for (other, second) in words.iter().enumerate().skip(one + 1) {
            let overlap = overlap(first, second);
            overlaps[one] += overlap;
            overlaps[other] += overlap;
        }
    }
    overlaps
}

/// The shared words of two texts as a share of all their words (Jaccard), in parts of [`SAME`].
pub(crate) fn overlap(one: &Shingles, other: &Shingles) -> usize {
    let shared = one.intersection(other).count();
    let all = one.len() + other.len() - shared;
    (shared * SAME).checked_div(all).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::answer::Answer;

    fn usable(seat: u8, text: &str, cut: bool) -> Usable {
        Usable { seat: SeatNumber(seat), answer: Answer::new(text), cut, step: None }
    }

    #[test]
    fn the_answer_most_similar_to_the_others_is_best() {
        let panel = [
            usable(1, "bananas grow upwards towards sunlight", false),
            usable(2, "use idempotency keys and a unique constraint", false),
            usable(3, "use idempotency keys, a unique constraint and an outbox", false),
            usable(4, "use idempotency keys and a unique constraint with an outbox", true),
        ];
        assert_eq!(best(&panel, &[]).seat, SeatNumber(3));
        assert_eq!(best(&panel, &[SeatNumber(1)]).seat, SeatNumber(1));
        // A cut answer does not represent whole ones.
        assert_eq!(best(&panel, &[SeatNumber(4)]).seat, SeatNumber(3));
        let mut reversed = panel.clone();
        reversed.reverse();
        assert_eq!(best(&reversed, &[]).seat, SeatNumber(3));
        assert_eq!(best(&[usable(2, "same", false), usable(1, "same", false)], &[]).seat, SeatNumber(1));
    }

    #[test]
    fn short_words_and_scripts_without_spaces_count() {
        let best_of = |texts: [&str; 3]| {
            let panel: Vec<Usable> = (1..).zip(texts).map(|(seat, text)| usable(seat, text, false)).collect();
            best(&panel, &[]).seat.0
        };
        assert_eq!(best_of(["41", "42", "It is 42."]), 2);
        assert_eq!(best_of(["香蕉向着阳光生长", "潮汐由月球的引力引起", "月球的引力引起潮汐"]), 2);
        assert_eq!(best_of(["กล้วยโตขึ้นหาแสง", "น้ำขึ้นน้ำลงเพราะดวงจันทร์", "ดวงจันทร์ทำให้น้ำขึ้นน้ำลง"]), 2);
    }
}
