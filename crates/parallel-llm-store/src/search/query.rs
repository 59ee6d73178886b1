//! Parses a search query into words.

use std::ops::Range;

use parallel_llm_engine::value::next::Advice;
use parallel_llm_engine::{Code, Failure};

use super::word::{word_ranges, words};

/// Most words in a query, more than a long sentence has. Each word costs a look-up and a bit.
const WORDS_MAX: usize = 64;

/// The words to search for; each matches all words that begin with it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct SearchQuery {
    /// Each phrase holds adjacent words, such as those of `a-b`. All but its last word match only whole words.
    phrases: Vec<Vec<String>>,
}

impl SearchQuery {
    /// Parses what a person typed. All input is valid.
    pub(crate) fn of(typed: &str) -> Result<Self, Failure> {
        let typed = typed.split(|at: char| at.is_whitespace() || at.is_control());
        let phrases = typed.map(|typed| words(typed).map(Into::into).collect::<Vec<String>>());
        let query = Self { phrases: phrases.filter(|phrase| !phrase.is_empty()).collect() };
        let usage = |message: String| Err(Failure::new(Code::Usage, message).with_next(Advice::GiveWords));
        match query.words().count() {
            0 => usage("the text to search for has no word in it".to_owned()),
            WORDS_MAX.. => usage(format!("a search has fewer than {WORDS_MAX} words")),
            _ => Ok(query),
        }
    }

    fn words(&self) -> impl Iterator<Item = &str> {
        self.phrases.iter().flatten().map(String::as_str)
    }

    /// The phrases, each of one word or more. All but the last word of each match only whole words.
    pub(crate) fn phrases(&self) -> &[Vec<String>] {
        &self.phrases
    }

    /// Whether a text contains all phrases.
    pub(crate) fn matches(&self, text: &str) -> bool {
        self.phrases.iter().all(|phrase| follow_each_other(phrase, text))
    }

    /// The words of a text that begin with words of the query, as ranges of bytes.
    pub(crate) fn marks(&self, text: &str) -> Vec<Range<usize>> {
        let begun = |word: &Range<usize>| self.which(&text[word.clone()]) != 0;
        word_ranges(text).filter(begun).collect()
    }

    /// The query's words that begin a word of this text, as bits.
    pub(crate) fn which(&self, text: &str) -> u64 {
        let begun = |word: &str| {
            let matching = self.words().enumerate().filter(|(_, start)| word.starts_with(start));
            matching.fold(0, |which, (bit, _)| which | (1 << bit))
        };
        words(text).fold(0, |which, word| which | begun(&word))
    }
}

fn follow_each_other(phrase: &[String], text: &str) -> bool {
    // For each position where the phrase may have begun: the number of its words matched so far.
    let mut begun: Vec<usize> = Vec::new();
    words(text).any(|word| {
        begun.push(0);
        begun.retain_mut(|met| {
            let next = &phrase[*met];
            *met += 1;
            if *met == phrase.len() { word.starts_with(next.as_str()) } else { *word == **next }
        });
        begun.contains(&phrase.len())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_without_a_space_between_follow_each_other() {
        for (typed, text, stands) in [
            ("a-b", "x a b", true),
            ("a-b", "a. B-17", true),
            ("a-b", "a bc", true),
            ("a-b", "ab b a", false),
            ("a-b", "a c b", false),
            ("a.a.b", "a a a b", true),
            ("a.a.b", "a a c a b", false),
            ("v1.2 é_t", "E\u{301} tea; V1.20", true),
            ("v1.2 é_t", "etea; V1.20", false),
            ("a", "nothing", false),
        ] {
            assert_eq!(
                SearchQuery::of(typed).map(|query| query.matches(text)),
                Ok(stands),
                "{typed} in {text}"
            );
        }
    }
}
