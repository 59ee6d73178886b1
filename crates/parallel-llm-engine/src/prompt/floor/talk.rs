//! Recognizes a text about the candidates: it speaks of them by their labels, or reports what they say.

use std::collections::BTreeSet;

use super::FloorBasis;
use super::pick::{has_letter, is_choice};
use super::support::asks_to_choose;
use super::usage::{is_topic, speaks_of_texts};
use super::vocabulary::{
    COMPARES, COMPARING, DETERMINERS, DETERMINERS_OF_ONE, JUDGEMENTS, NOUNS, ORDINALS, PLURALS, PROCESSED,
    REPORTS, SINGULARS, TELLS, TEXTS, WordList,
};
use super::words::{Word, head, words};

/// Among so many first words candidates are those that were shown; later they may be of an election or for a job.
const MENTIONED_WORDS: usize = 16;
/// How much of a text is searched. Who speaks of candidates does so early.
const SEARCHED_BYTES: usize = 65_536;
/// How far a word may be from what it belongs to, in words.
const BEHIND_WORDS: usize = 5;
/// How far before a label it is told what was done with it.
const PROCESS_WORDS: usize = 24;
/// So many candidates that a text names are those that were shown.
const NAMED_MIN: usize = 2;
/// How far behind a group its first member is spoken of.
const GROUP_WORDS: usize = 14;

/// Whether a text speaks of the candidates although neither the request nor a candidate speaks so.
pub(super) fn is_about_candidates(text: &str, basis: &FloorBasis<'_>) -> bool {
    let said = Said::of(head(text, SEARCHED_BYTES));
    let is_new = |talk: Talk<'_>| {
        !is_topic(talk.noun(), basis.request) && !basis.material().any(|known| talk.is_known(known, basis))
    };
    // Each way once, however often a text speaks so.
    let mut found: Vec<Talk<'_>> = Vec::new();
    for talk in (0..said.all.len()).filter_map(|at| said.talk(at, basis)) {
        if !found.contains(&talk) {
            found.push(talk);
        }
    }
    found.into_iter().any(is_new)
        || said.speaks_of_all(basis)
        || said.speaks_of_asker(basis)
        || said.merges(basis)
        || said.counts_texts(basis)
        || said.uses_labels(basis)
        || said.begins_in_turn(basis)
        || said.judges_one(basis)
        || said.is_headed(basis)
        || speaks_of_texts(text, basis)
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
    const fn noun(self) -> &'a str {
        match self {
            Self::Labelled(noun) | Self::Reported(noun) => noun,
        }
    }

    /// Whether a text of the request or the candidates speaks so, too.
    fn is_known(self, known: &str, basis: &FloorBasis<'_>) -> bool {
        let Said { all, lowered } = Said::of(known);
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

/// The words of a text, as they are written and in lower case.
struct Said<'a> {
    all: Vec<Word<'a>>,
    lowered: Vec<String>,
}

impl<'a> Said<'a> {
    fn of(text: &'a str) -> Self {
        let all: Vec<Word<'_>> = words(text).collect();
        let lowered = all.iter().map(|word| word.text.to_lowercase()).collect();
        Self { all, lowered }
    }

    /// The talk that begins at this word.
    fn talk(&self, at: usize, basis: &FloorBasis<'_>) -> Option<Talk<'a>> {
        let (all, lowered) = (&self.all, &self.lowered);
        labelled(all, lowered, at, basis)
            .or_else(|| reported(all, lowered, at))
            .or_else(|| self.is_compared(at).then(|| Talk::Reported(all[at].text)))
            .or_else(|| self.is_shown(at).then(|| Talk::Reported(all[at].text)))
            .or_else(|| self.is_group(at).then(|| Talk::Reported(all[at].text)))
    }

    fn word(&self, at: usize) -> &str {
        self.lowered.get(at).map_or("", String::as_str)
    }

    /// The words behind a place in the same sentence.
    fn behind(&self, at: usize, count: usize) -> impl Iterator<Item = &str> {
        let rest = self.all.iter().zip(&self.lowered).skip(at + 1).take(count);
        rest.take_while(|(word, _)| !ends_sentence(word)).map(|(_, lower)| lower.as_str())
    }

    /// `comparing the responses`, `based on the drafts`.
    fn is_compared(&self, at: usize) -> bool {
        let noun = self.word(at);
        let is_many = PLURALS.has(noun) && TEXTS.has(noun.trim_end_matches('s')) || is_candidate(noun);
        is_many
            && self.lowered[at.saturating_sub(3)..at].iter().any(|word| DETERMINERS.has(word) || word == "of")
            && (at.saturating_sub(BEHIND_WORDS)..at).any(|verb| {
                COMPARING.has(self.word(verb)) && !self.all[verb + 1..=at].iter().any(ends_sentence)
            })
    }

    /// `the answer above is the best`, `the best response would be the one that`.
    fn is_shown(&self, at: usize) -> bool {
        if !TEXTS.has(self.word(at)) || at == 0 {
            return false;
        }
        let behind: Vec<&str> = self.behind(at, BEHIND_WORDS).collect();
        let is_verb = |word: &&str| matches!(*word, "is" | "was" | "would" | "will" | "should");
        let is_best = matches!(self.word(at - 1), "best" | "better" | "strongest" | "clearest")
            || matches!(self.word(at - 1), "complete" | "accurate") && at > 1 && self.word(at - 2) == "most";
        match behind[..] {
            ["above" | "below", ref verb, ref rest @ ..] if is_verb(verb) => {
                rest.iter().any(|word| JUDGEMENTS.has(word))
            }
            [ref verb, ref rest @ ..] if is_best && is_verb(verb) => {
                matches!(
                    rest,
                    ["the" | "that", "one" | "first" | "second" | "third", ..]
                        | ["be", "the", "one" | "first" | "second" | "third", ..]
                )
            }
            _ => false,
        }
    }

    /// `There are several responses. The first one suggests`.
    fn is_group(&self, at: usize) -> bool {
        let noun = self.word(at);
        let is_many = PLURALS.has(noun) && TEXTS.has(noun.trim_end_matches('s'));
        let before = &self.lowered[at.saturating_sub(3)..at];
        is_many
            && before.iter().any(|word| DETERMINERS.has(word))
            && (at + 1..at + GROUP_WORDS).any(|first| {
                ORDINALS.has(self.word(first))
                    && self.word(first) != "the"
                    && (first + 1..first + 3).any(|verb| tells(self.word(verb)))
            })
    }

    /// `They all say the same`, where nobody was spoken of.
    fn speaks_of_all(&self, basis: &FloorBasis<'_>) -> bool {
        let begins = self.word(0) == "they" && matches!(self.word(1), "all" | "both");
        let is_said = |word: &str| COMPARES.has(word) || matches!(word, "say" | "says" | "they" | "mention");
        let is_asked = |known: &str| Said::of(known).lowered.iter().take(200).any(|word| is_said(word));
        begins && (2..4).any(|at| tells(self.word(at))) && !basis.material().any(is_asked)
    }

    /// `The user asks whether`: what a model thinks before it answers.
    fn speaks_of_asker(&self, basis: &FloorBasis<'_>) -> bool {
        let at = usize::from(self.word(0) == "the");
        let asks = |word: &str| {
            matches!(
                word,
                "asks" | "wants" | "is" | "asked" | "has" | "needs" | "would" | "requests" | "requested"
            )
        };
        let has_user = |known: &str| known.to_lowercase().contains("user");
        self.word(at) == "user" && asks(self.word(at + 1)) && !basis.material().any(has_user)
    }

    /// `Response 2 says more than response 3.`
    fn counts_texts(&self, basis: &FloorBasis<'_>) -> bool {
        let numbered = |said: &Said<'_>| -> BTreeSet<usize> {
            let is_text = |at: &usize| TEXTS.has(said.word(*at).trim_end_matches('s'));
            let number = |at: usize| {
                said.word(at + 1).parse().ok().filter(|one| (1..=basis.candidates.len()).contains(one))
            };
            (0..said.all.len()).filter(is_text).filter_map(number).collect()
        };
        numbered(self).len() >= NAMED_MIN
            && !basis.material().any(|known| !numbered(&Said::of(known)).is_empty())
    }

    /// `A and B agree, C says less`, where nobody else uses these letters.
    fn uses_labels(&self, basis: &FloorBasis<'_>) -> bool {
        let is_named = |at: usize, label: &str| {
            let next = self.all.get(at + 1);
            let is_owner = next.is_some_and(|next| {
                next.text == "s" && next.before.len() == 1
                    || next.before.starts_with(':') && (at == 0 || self.all[at].before.contains('\n'))
            });
            let is_apart = label != "A"
                || is_owner
                || self.word(at + 1) == "and"
                || at > 0 && self.word(at - 1) == "and";
            self.all[at].text == label
                && is_apart
                && (is_owner || next.is_some_and(|next| next.before == " "))
        };
        let labels = basis.candidates.iter().map(|(label, _)| *label);
        let named = labels.clone().filter(|label| (0..self.all.len()).any(|at| is_named(at, label)));
        let is_new = |label: &&str| !basis.material().any(|known| has_letter(known, label));
        named.filter(is_new).count() >= NAMED_MIN
    }

    /// `The first one says why, the second one adds how`, where nothing was counted before.
    fn begins_in_turn(&self, basis: &FloorBasis<'_>) -> bool {
        let counts = |said: &Said<'_>, ordinal: &str| {
            (1..said.all.len()).position(|at| said.word(at - 1) == ordinal && said.word(at) == "one")
        };
        counts(self, "first").is_some_and(|at| at <= 1)
            && counts(self, "second").is_some()
            && !basis.material().any(|known| counts(&Said::of(known), "first").is_some())
    }

    /// `The second story is the best`, where one was asked for.
    fn judges_one(&self, basis: &FloorBasis<'_>) -> bool {
        let (ordinal, noun) = (self.word(1), self.word(2));
        let has = |known: &str, word: &str| Said::of(known).lowered.iter().any(|own| own == word);
        self.word(0) == "the"
            && ordinal != "the"
            && ORDINALS.has(ordinal)
            && has(basis.request, noun)
            && self
                .behind(2, BEHIND_WORDS)
                .any(|word| matches!(word, "is" | "has" | "was" | "reads" | "works"))
            && !asks_to_choose(basis.request)
            && !basis.material().any(|known| has(known, ordinal))
    }

    /// `## Candidate answers`, a heading of our prompt.
    fn is_headed(&self, basis: &FloorBasis<'_>) -> bool {
        let is_heading = |at: usize| {
            let begins = at == 0 || self.all[at].before.contains('\n');
            let noun = self.word(at + 1);
            let is_end = |at: usize| {
                self.all.get(at).is_some_and(|next| next.before.contains('\n') || next.before.contains(':'))
            };
            begins && is_candidate(self.word(at)) && PLURALS.has(noun) && is_end(at + 2)
        };
        (0..self.all.len()).any(is_heading)
            && !basis.material().any(|known| Said::of(known).lowered.iter().any(|word| is_candidate(word)))
    }

    /// `I started from A and added a point from C.`
    fn merges(&self, basis: &FloorBasis<'_>) -> bool {
        (1..self.all.len()).any(|at| {
            let is_origin = matches!(self.word(at - 1), "from" | "of" | "by");
            let label = self.all[at].text;
            let is_alone = match self.all.get(at + 1) {
                None => true,
                Some(next) => {
                    !next.before.trim().is_empty() || matches!(next.text, "and" | "with" | "as" | "to")
                }
            };
            is_origin
                && is_alone
                && basis.candidates.iter().any(|(known, _)| *known == label)
                && self.lowered[at.saturating_sub(PROCESS_WORDS)..at].iter().any(|word| PROCESSED.has(word))
                && !basis
                    .candidates
                    .iter()
                    .any(|(label, _)| basis.material().any(|known| has_letter(known, label)))
        })
    }
}

/// Whether a word begins a sentence or a part of a list.
fn ends_sentence(word: &Word<'_>) -> bool {
    word.before.contains(['.', '!', '?', '\n', ':'])
}

/// Whether a word says what a text does.
fn tells(word: &str) -> bool {
    REPORTS.has(word) || TELLS.has(word)
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
    let is_text = TEXTS.has(lowered[at].trim_end_matches('s'));
    let mut behind = lowered[at + 2..].iter().take(4);
    let says = behind.any(|word| REPORTS.has(word.as_str()) || is_text && TELLS.has(word.as_str()));
    let judges = matches!(lowered.get(at + 2).map(String::as_str), Some("is" | "and" | "are"))
        && lowered[at + 3..].iter().take(3).any(|word| JUDGEMENTS.has(word.as_str()));
    (says || judges).then_some(Talk::Labelled(all[at].text))
}

fn reported<'a>(all: &[Word<'a>], lowered: &[String], at: usize) -> Option<Talk<'a>> {
    if !is_meant(lowered, at) {
        return None;
    }
    // At the beginning it is enough to mention them.
    let is_many =
        is_candidate(&lowered[at]) && (lowered[at].ends_with('s') || !lowered[at].ends_with("date"));
    let is_one_of_all = lowered[at - 1..at].iter().any(|word| DETERMINERS_OF_ONE.has(word));
    if at < MENTIONED_WORDS
        && (is_many || is_candidate(&lowered[at]) && (is_one_of_all || is_ordinal(lowered, at)))
    {
        return Some(Talk::Reported(all[at].text));
    }
    // Words of one sentence only.
    let sentence =
        all[at + 1..].iter().take(5).take_while(|word| !word.before.contains(['.', '!', '?', '\n', ':']));
    let behind: Vec<&str> = lowered[at + 1..at + 1 + sentence.count()].iter().map(String::as_str).collect();
    let is_weak = matches!(lowered[at].as_str(), "author" | "authors" | "panel" | "council" | "references");
    let said = if is_weak { &COMPARES } else { &REPORTS };
    let is_text = TEXTS.has(lowered[at].trim_end_matches('s')) || is_candidate(&lowered[at]);
    let mut near =
        behind.iter().take_while(|word| !matches!(**word, "that" | "which" | "who" | "to")).take(2);
    let tells = near.any(|word| is_text && TELLS.has(word));
    let reports = tells || behind.iter().take(4).any(|word| said.has(word));
    let judges = behind.iter().position(|word| matches!(*word, "is" | "are" | "were" | "was"));
    let judges = judges.is_some_and(|at| behind.get(at + 1).is_some_and(|word| JUDGEMENTS.has(word)));
    (reports || judges && !is_weak).then_some(Talk::Reported(all[at].text))
}

/// Whether the noun at this place means what was answered: all of it, or one of several.
fn is_meant(lowered: &[String], at: usize) -> bool {
    let noun = lowered[at].as_str();
    let before = |list: &WordList| lowered[at.saturating_sub(3)..at].iter().any(|word| list.has(word));
    (PLURALS.has(noun) || is_candidate(noun)) && before(&DETERMINERS)
        || SINGULARS.has(noun) && at > 0 && is_ordinal(lowered, at)
        || TEXTS.has(noun) && at > 0 && DETERMINERS_OF_ONE.has(lowered[at - 1].as_str())
}

/// Whether the noun at this place is one of several by the word before it.
fn is_ordinal(lowered: &[String], at: usize) -> bool {
    ORDINALS.has(lowered[at - 1].as_str()) && is_one_of_many(lowered, at)
}

/// Whether a noun in the singular is one of several: behind an ordinal, or a panel.
fn is_one_of_many(lowered: &[String], at: usize) -> bool {
    lowered[at - 1] != "the"
        || matches!(lowered[at].as_str(), "panel" | "council")
        || is_candidate(&lowered[at])
}
