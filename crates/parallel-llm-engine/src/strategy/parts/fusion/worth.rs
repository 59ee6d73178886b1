//! What fusing added to its base: the wording drawn from other answers, and how much the text differs.

use std::collections::BTreeSet;

use similar::TextDiff;

use crate::panel::gather::Usable;
use crate::request::panel::SeatNumber;
use crate::text::shingles::phrases;

/// The most bytes of two texts whose edit ratio is computed; beyond that it takes too long.
const EDIT_BYTES_MAX: usize = 200_000;
/// An answer was drawn from if it has at least one in this many of the new phrases. A bound is needed, because a few phrases of
/// a long text are in every answer.
const PHRASES_SHARE: usize = 50;

/// The seats, except that of the base, whose answers share wording with the final text that the base lacks.
pub(super) fn drawn_from(base: &Usable, text: &str, usable: &[Usable]) -> Vec<SeatNumber> {
    if text.len() > EDIT_BYTES_MAX {
        return Vec::new();
    }
    let old = phrases(&base.answer.text);
    let new: BTreeSet<u64> = phrases(text).difference(&old).copied().collect();
    if new.is_empty() {
        return Vec::new();
    }
    let enough = (new.len() / PHRASES_SHARE).max(1);
    let others = usable.iter().filter(|one| one.seat != base.seat);
    let drawn =
        others.filter(|one| phrases(&one.answer.text).intersection(&new).take(enough).count() == enough);
    drawn.map(|one| one.seat).collect()
}

/// How much the final text differs from its base, by words: 0 is equal, 1 has nothing in common.
pub(super) fn edit_ratio(base: &str, text: &str) -> Option<f64> {
    if base.len() + text.len() > EDIT_BYTES_MAX {
        return None;
    }
    let same = f64::from(TextDiff::from_words(base.trim(), text.trim()).ratio());
    // Three decimals: more would be noise, and tests can compare whole outputs.
    Some(((1.0 - same) * 1e3).round() / 1e3)
}
