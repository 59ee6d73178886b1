//! Recognizes a text about the candidates: it speaks of them by their labels, or reports what they say.

use super::FloorBasis;
use super::pick::is_choice;
use super::vocabulary::{
    COMPARES, DETERMINERS, JUDGEMENTS, NOUNS, ORDINALS, PLURALS, REPORTS, SINGULARS, WordList,
};
use super::words::{Word, head, words};

/// Among so many first words candidates are those that were shown; later they may be of an election or for a job.
const MENTIONED_WORDS: usize = 16;
/// How much of a text is searched. Who speaks of candidates does so early.
const SEARCHED_BYTES: usize = 65_536;

/// Whether a text speaks of the candidates although neither the request nor a candidate speaks so.
pub(super) fn is_about_candidates(text: &str, basis: &FloorBasis<'_>) -> bool {
    let found = Talk::of(head(text, SEARCHED_BYTES), basis);
    found.is_some_and(|kind| !basis.material().any(|known| kind.is_known(known, basis)))
}

/// How a text speaks of candidates.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Talk<'a> {
    /// By a label behind a noun: `Candidate B`.
    Labelled(&'a str),
    /// As a group or one of it, with what they say.
    Reported(&'a str),
}

impl<'a> Talk<'a> {
    fn of(text: &'a str, basis: &FloorBasis<'_>) -> Option<Self> {
        let all: Vec<Word<'_>> = words(text).collect();
        let lowered: Vec<String> = all.iter().map(|word| word.text.to_lowercase()).collect();
        (0..all.len())
            .find_map(|at| labelled(&all, &lowered, at, basis).or_else(|| reported(&all, &lowered, at)))
    }

    /// Whether a text of the request or the candidates speaks so, too.
    fn is_known(self, known: &str, basis: &FloorBasis<'_>) -> bool {
        let all: Vec<Word<'_>> = words(known).collect();
        let lowered: Vec<String> = all.iter().map(|word| word.text.to_lowercase()).collect();
        let is_same = |noun: &str, word: &str| {
            let noun = noun.to_lowercase();
            word.trim_end_matches('s') == noun.trim_end_matches('s')
                || is_candidate(&noun) && is_candidate(word)
        };
        let mut places = 0..all.len();
        match self {
            Self::Labelled(noun) => {
                places.any(|at| is_same(noun, &lowered[at]) && is_labelled(&all, &lowered, at, basis))
            }
            Self::Reported(noun) => places.any(|at| {
                is_same(noun, &lowered[at]) && (is_candidate(&lowered[at]) || is_meant(&lowered, at))
            }),
        }
    }
}

fn is_candidate(word: &str) -> bool {
    ["candidat", "kandidat", "kandydat", "кандидат"].iter().any(|stem| word.starts_with(stem))
}

/// Whether a label follows the noun at this place.
fn is_labelled(all: &[Word<'_>], lowered: &[String], at: usize, basis: &FloorBasis<'_>) -> bool {
    let noun = lowered[at].as_str();
    let is_noun = is_candidate(noun) || NOUNS.has(noun.trim_end_matches('s'));
    let is_label = |next: &Word<'_>| {
        next.before.len() <= 3 && basis.candidates.iter().any(|(label, _)| *label == next.text)
    };
    is_noun && all.get(at + 1).is_some_and(is_label)
}

fn labelled<'a>(all: &[Word<'a>], lowered: &[String], at: usize, basis: &FloorBasis<'_>) -> Option<Talk<'a>> {
    if !is_labelled(all, lowered, at, basis) {
        return None;
    }
    if is_candidate(&lowered[at]) {
        return Some(Talk::Labelled(all[at].text));
    }
    let chosen = basis.candidates.iter().position(|(label, _)| *label == all[at + 1].text);
    if chosen.is_some_and(|chosen| is_choice(chosen, basis)) {
        return None;
    }
    // `Option A:` may be a heading, and `answer A` the article.
    let says = lowered[at + 2..].iter().take(4).any(|word| REPORTS.has(word.as_str()));
    let judges = matches!(lowered.get(at + 2).map(String::as_str), Some("is" | "and" | "are"))
        && lowered[at + 3..].iter().take(3).any(|word| JUDGEMENTS.has(word.as_str()));
    (says || judges).then_some(Talk::Labelled(all[at].text))
}

fn reported<'a>(all: &[Word<'a>], lowered: &[String], at: usize) -> Option<Talk<'a>> {
    if !is_meant(lowered, at) {
        return None;
    }
    // At the beginning it is enough to mention them.
    if is_candidate(&lowered[at]) && at < MENTIONED_WORDS {
        return Some(Talk::Reported(all[at].text));
    }
    // Words of one sentence only.
    let sentence =
        all[at + 1..].iter().take(5).take_while(|word| !word.before.contains(['.', '!', '?', '\n', ':']));
    let behind: Vec<&str> = lowered[at + 1..at + 1 + sentence.count()].iter().map(String::as_str).collect();
    let is_weak = matches!(lowered[at].as_str(), "author" | "authors" | "panel" | "council");
    let said = if is_weak { &COMPARES } else { &REPORTS };
    let reports = behind.iter().take(4).any(|word| said.has(word));
    let judges = behind.iter().position(|word| matches!(*word, "is" | "are" | "were" | "was"));
    let judges = judges.is_some_and(|at| behind.get(at + 1).is_some_and(|word| JUDGEMENTS.has(word)));
    (reports || judges && !is_weak).then_some(Talk::Reported(all[at].text))
}

/// Whether the noun at this place means what was answered: all of it, or one of several.
fn is_meant(lowered: &[String], at: usize) -> bool {
    let noun = lowered[at].as_str();
    let before = |list: &WordList| lowered[at.saturating_sub(3)..at].iter().any(|word| list.has(word));
    (PLURALS.has(noun) || is_candidate(noun)) && before(&DETERMINERS)
        || SINGULARS.has(noun)
            && at > 0
            && ORDINALS.has(lowered[at - 1].as_str())
            && is_one_of_many(lowered, at)
}

/// Whether a noun in the singular is one of several: behind an ordinal, or a panel.
fn is_one_of_many(lowered: &[String], at: usize) -> bool {
    lowered[at - 1] != "the"
        || matches!(lowered[at].as_str(), "panel" | "council")
        || is_candidate(&lowered[at])
}
