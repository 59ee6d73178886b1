//! Splits texts into sentences and meaningful words, and measures the overlap of two texts.

use std::hash::{DefaultHasher, Hash, Hasher};

/// Words without meaning of their own, besides all short ones.
const EMPTY_WORDS: &str = "\
    about after again all also and any are because been before best both but can could did does each every for from \
    get give had has have her his how into its just like make many may more most much must need not now off once \
    only other our out over please quite really should some sometimes such take tell than that the their them then \
    there these they this those through too use using very want was way were what when where which while who why \
    will with without would yes yet you your";

/// Words that negate a statement.
const NEGATIONS: &[&str] = &["not", "never", "no", "cannot", "don't", "isn't", "needn't", "won't", "without"];

/// Fewest characters of a meaningful word.
const WORD_CHARS_MIN: usize = 3;

/// Whether a word carries meaning.
pub(crate) fn carries_meaning(word: &str) -> bool {
    let lower = word.to_lowercase();
    word.chars().count() >= WORD_CHARS_MIN && EMPTY_WORDS.split(' ').all(|empty| empty != lower)
}

/// The words of a text, as written.
pub(crate) fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|sign: char| !sign.is_alphanumeric() && sign != '\'').filter(|word| !word.is_empty())
}

/// Whether a sentence contains a negation.
pub(crate) fn is_negated(sentence: &str) -> bool {
    words(sentence).any(|word| NEGATIONS.contains(&word.to_lowercase().as_str()))
}

/// The sentences of a text, without list marks.
pub(crate) fn sentences(text: &str) -> impl Iterator<Item = &str> {
    let lines = text
        .lines()
        .map(|line| line.trim_start_matches(|sign: char| sign.is_ascii_digit() || "-*.#) ".contains(sign)));
    lines.flat_map(|line| line.split_inclusive(". ")).map(str::trim).filter(|sentence| !sentence.is_empty())
}

/// A set of meaningful words as sorted hashes; only overlaps are ever computed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct WordSet(Vec<u64>);

impl WordSet {
    pub(crate) fn of(text: &str) -> Self {
        let mut hashes: Vec<u64> = words(text).filter(|word| carries_meaning(word)).map(hash).collect();
        hashes.sort_unstable();
        hashes.dedup();
        Self(hashes)
    }

    pub(crate) fn count(&self) -> usize {
        self.0.len()
    }

    /// The number of words in both sets.
    pub(crate) fn shared(&self, other: &Self) -> usize {
        self.0.iter().filter(|word| other.0.binary_search(word).is_ok()).count()
    }

    /// The number of words in none of the others.
    pub(crate) fn outside(&self, others: [&Self; 2]) -> usize {
        let is_outside = |word: &&u64| others.iter().all(|other| other.0.binary_search(word).is_err());
        self.0.iter().filter(is_outside).count()
    }

    /// The percentage of these words that `other` contains.
    pub(crate) fn covered_percent(&self, other: &Self) -> usize {
        (100 * self.shared(other)).checked_div(self.count()).unwrap_or(0)
    }

    /// The percentage of the smaller set that both share.
    pub(crate) fn overlap_percent(&self, other: &Self) -> usize {
        let smaller = self.count().min(other.count());
        (100 * self.shared(other)).checked_div(smaller).unwrap_or(0)
    }
}

/// Treats plural and singular as one word.
fn hash(word: &str) -> u64 {
    let lower = word.to_lowercase();
    let stem = lower.trim_end_matches("'s").trim_end_matches('s');
    let mut hasher = DefaultHasher::new();
    stem.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_lose_their_list_marks() {
        let text = "First of all. Then 2.5 more.\n\n1. Do it.\n- Or do not.";
        let expected = ["First of all.", "Then 2.5 more.", "Do it.", "Or do not."];
        assert_eq!(sentences(text).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn overlap_ignores_small_words_and_plurals() {
        let one = WordSet::of("Keep the unique keys in a table.");
        let other = WordSet::of("Your tables must keep a unique key!");
        assert_eq!((one.count(), one.shared(&other), one.overlap_percent(&other)), (4, 4, 100));
    }
}
