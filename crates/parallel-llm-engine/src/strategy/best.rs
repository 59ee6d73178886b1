//! Which answer stands for all when nobody can fuse them: the one that shares most with the others. Pure and
//! deterministic, so a fallback can be explained and repeated.

use std::collections::BTreeSet;

use crate::gather::Usable;

/// The words compared per answer. Enough for any answer a person reads; keeps 64 long ones cheap to compare.
const WORDS_MAX: usize = 5_000;

/// The answer closest to the others. Whole answers come before cut ones, and the earlier seat wins a tie.
pub(super) fn best(usable: &[Usable]) -> &Usable {
    let words: Vec<BTreeSet<String>> = usable.iter().map(|one| words(&one.answer.text)).collect();
    let agreement = |index: usize| -> f64 {
        words
            .iter()
            .enumerate()
            .filter(|(other, _)| *other != index)
            .map(|(_, set)| overlap(&words[index], set))
            .sum()
    };
    let rank = |index: usize| {
        let one = &usable[index];
        (!one.cut, !one.answer.truncated(), agreement(index))
    };
    let better = |one: usize, other: usize| {
        let (first, second) = (rank(one), rank(other));
        let order = (first.0, first.1).cmp(&(second.0, second.1)).then(first.2.total_cmp(&second.2));
        order.then(usable[other].seat.cmp(&usable[one].seat))
    };
    let index =
        (0..usable.len()).max_by(|one, other| better(*one, *other)).expect("there is at least one answer");
    &usable[index]
}

fn words(text: &str) -> BTreeSet<String> {
    let words =
        text.split(|character: char| !character.is_alphanumeric()).filter(|word| word.chars().count() > 2);
    words.take(WORDS_MAX).map(str::to_lowercase).collect()
}

/// Shared words as a part of all words of both.
fn overlap(one: &BTreeSet<String>, other: &BTreeSet<String>) -> f64 {
    let shared = one.intersection(other).count();
    let all = one.len() + other.len() - shared;
    if all == 0 { 0.0 } else { shared as f64 / all as f64 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::answer::Answer;
    use crate::panel::SeatNumber;

    fn usable(seat: u8, text: &str, cut: bool) -> Usable {
        Usable { seat: SeatNumber(seat), answer: Answer::new(text), cut }
    }

    #[test]
    fn the_one_most_like_the_others_stands_for_all() {
        let panel = [
            usable(1, "bananas grow upwards towards sunlight", false),
            usable(2, "use idempotency keys and a unique constraint", false),
            usable(3, "use idempotency keys, a unique constraint and an outbox", false),
            usable(4, "use idempotency keys and a unique constraint with an outbox", true),
        ];
        assert_eq!(best(&panel).seat, SeatNumber(3));
        let mut reversed = panel.clone();
        reversed.reverse();
        assert_eq!(best(&reversed).seat, SeatNumber(3));
        assert_eq!(best(&[usable(2, "same", false), usable(1, "same", false)]).seat, SeatNumber(1));
    }
}
