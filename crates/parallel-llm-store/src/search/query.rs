//! A search query: what a person looks for, as words.

use parallel_llm_engine::value::next::Advice;
use parallel_llm_engine::{Code, Failure};

use super::word::words;

/// The most words one search may have. A long sentence has fewer; each costs a look-up, and each has a bit.
const WORDS_MAX: usize = 64;

/// The words that are looked for. Each stands for all that begin with it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct SearchQuery {
    /// Words that follow each other where more than one was typed without a space, as in `a-b`. All but the last are whole.
    phrases: Vec<Vec<String>>,
}

impl SearchQuery {
    /// The words in what a person typed. Everything a person can type is taken as words.
    pub(crate) fn of(typed: &str) -> Result<Self, Failure> {
        let typed = typed.split(|at: char| at.is_whitespace() || at.is_control());
        let phrases = typed.map(|typed| words(typed).map(Into::into).collect::<Vec<String>>());
        let query = Self { phrases: phrases.filter(|phrase| !phrase.is_empty()).collect() };
        let usage = |message: String| Err(Failure::new(Code::Usage, message).with_next(Advice::GiveWords));
        match query.words().count() {
            0 => usage("there are no words to look for".to_owned()),
            WORDS_MAX.. => usage(format!("a search has fewer than {WORDS_MAX} words")),
            _ => Ok(query),
        }
    }

    fn words(&self) -> impl Iterator<Item = &str> {
        self.phrases.iter().flatten().map(String::as_str)
    }

    /// The phrases, each of one word or more. All but the last word of each are whole.
    pub(crate) fn phrases(&self) -> &[Vec<String>] {
        &self.phrases
    }

    /// Whether a text has all of the phrases.
    pub(crate) fn matches(&self, text: &str) -> bool {
        self.phrases.iter().all(|phrase| follow_each_other(phrase, text))
    }

    /// Which of the words begin a word of this text: a bit for each.
    pub(crate) fn which(&self, text: &str) -> u64 {
        let begun = |word: &str| {
            let matching = self.words().enumerate().filter(|(_, start)| word.starts_with(start));
            matching.fold(0, |which, (bit, _)| which | (1 << bit))
        };
        words(text).fold(0, |which, word| which | begun(&word))
    }
}

fn follow_each_other(phrase: &[String], text: &str) -> bool {
    // How many words of the phrase were met from each place on at which it may have begun.
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
