//! What fusing added to its base: the wording drawn from other answers, and how much the text differs.

use std::collections::HashMap;

use foldhash::fast::RandomState;
use rapidfuzz::distance::lcs_seq;

use crate::panel::gather::Usable;
use crate::request::panel::SeatNumber;
use crate::text::shingles::{Shingles, phrases};
use crate::text::words::words_and_blanks;

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
    let new: Shingles = phrases(text).difference(&old).copied().collect();
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
    let mut ids = HashMap::default();
    let [base, text] = [base, text].map(|text| word_ids(text.trim(), &mut ids));
    let words = base.len() + text.len();
    let shared = 2 * lcs_seq::similarity(base, text);
    let same = if words == 0 { 1.0 } else { shared as f64 / words as f64 };
    // Three decimals: more would be noise, and tests can compare whole outputs.
    Some(((1.0 - same) * 1e3).round() / 1e3)
}

/// The words of a text and the blanks between them, each as a number that equal ones share.
fn word_ids<'a>(text: &'a str, ids: &mut HashMap<&'a str, u32, RandomState>) -> Vec<u32> {
    let mut id = |word| {
        let next = ids.len() as u32;
        *ids.entry(word).or_insert(next)
    };
    words_and_blanks(text).map(&mut id).collect()
}
