//! Sets of words and of phrases, read once and looked up fast: each word of a question is looked up in a dozen of them.

use std::collections::{HashMap, HashSet};
use std::sync::OnceLock;

use foldhash::fast::RandomState;

use super::sentences::words;

/// Words in lower case.
pub(super) struct WordSet {
    /// Separated by blanks.
    text: &'static str,
    words: OnceLock<HashSet<&'static str, RandomState>>,
}

impl WordSet {
    pub(super) const fn of(text: &'static str) -> Self {
        Self { text, words: OnceLock::new() }
    }

    pub(super) fn has(&self, word: &str) -> bool {
        self.words.get_or_init(|| self.text.split(' ').collect()).contains(word)
    }
}

/// Phrases in lower case.
pub(super) struct PhraseSet {
    /// Separated by bars.
    text: &'static str,
    by_first_word: OnceLock<HashMap<&'static str, Vec<&'static str>, RandomState>>,
}

impl PhraseSet {
    pub(super) const fn of(text: &'static str) -> Self {
        Self { text, by_first_word: OnceLock::new() }
    }

    /// Whether a text in lower case has one of the phrases, as words, for which this holds.
    pub(super) fn has_one(&self, lower: &str, counts: impl Fn(&str) -> bool) -> bool {
        let phrases = self.by_first_word.get_or_init(|| {
            let mut phrases = HashMap::<_, Vec<_>, _>::default();
            for phrase in self.text.split('|') {
                phrases.entry(first_word(phrase)).or_default().push(phrase);
            }
            phrases
        });
        let mut rest = &*words(lower).collect::<Vec<_>>().join(" ");
        while !rest.is_empty() {
            let first = first_word(rest);
            let begins = |phrase: &&&str| {
                rest.strip_prefix(**phrase).is_some_and(|behind| behind.is_empty() || behind.starts_with(' '))
            };
            if phrases.get(first).into_iter().flatten().filter(begins).any(|phrase| counts(phrase)) {
                return true;
            }
            rest = rest[first.len()..].trim_start();
        }
        false
    }
}

fn first_word(text: &str) -> &str {
    text.split(' ').next().unwrap_or_default()
}
