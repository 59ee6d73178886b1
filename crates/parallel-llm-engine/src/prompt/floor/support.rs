//! Recognizes a text that rests on nothing: it has words of its own, and none of those by which a candidate answers.
//!
//! Whoever writes from candidates uses some of their words, also to contradict them. Without one, and at a length at which that is
//! no chance, a text is about something else, about the task, or asks back.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;

use super::FloorBasis;
use super::topic::{asks_for_language, consents, contents, is_foreign_to};
use super::vocabulary::{NUMBERS, OWN_TASK, TASK, TEXTS};
use super::words::{head, lower};
use crate::text::shingles::{Shingles, hash_of};

/// How much of each text is read.
const READ_BYTES: usize = 65_536;
/// So many words that neither the request nor a candidate has are another topic, in a text of so many words.
const STRANGE_MIN: usize = 4;
const STRANGE_WORDS_MIN: usize = 6;
/// The words of a text about the task, at least, and at most if it says something beside.
const TASK_WORDS_MIN: usize = 3;
const TASK_WORDS_MAX: usize = 40;
/// The words of a question that is put instead of an answer.
const QUESTION_WORDS: RangeInclusive<usize> = 5..=60;
/// How a sentence begins that says what an answer to the question is for.
const THEREFORE: [&str; 8] = [
    "then i ",
    "i can then ",
    "i ll then ",
    "once i ",
    "once you ",
    "that way i ",
    "so i can ",
    "with that i ",
];
/// The most words of a text that only judges.
const VERDICT_WORDS_MAX: usize = 12;
/// What is said of texts that were judged.
const VERDICTS: [&str; 12] = [
    "right",
    "correct",
    "wrong",
    "incorrect",
    "true",
    "false",
    "good",
    "fine",
    "accurate",
    "better",
    "best",
    "same",
];
/// Words of a request for a question.
const ASKS_FOR_QUESTION: [&str; 8] =
    ["question", "questions", "ask", "quiz", "riddle", "interview", "survey", "rhetorical"];
/// How a text begins that says what was asked.
const RETELLS: [&str; 7] = [
    "you would like ",
    "so you would like ",
    "you want ",
    "so you want ",
    "you ask ",
    "you asked ",
    "you are asking ",
];

/// Whether nothing of a text comes from the request or a candidate, although these share words.
pub(super) fn is_missing(text: &str, basis: &FloorBasis<'_>) -> bool {
    let own = facts(text);
    let share = || {
        let mut known = Shingles::default();
        basis.material().any(|one| facts(one).into_iter().any(|word| !known.insert(word)))
    };
    own.len() >= STRANGE_MIN
        && basis.material().all(|known| facts(known).is_disjoint(&own))
        && (lower(text).len() >= STRANGE_WORDS_MIN || is_foreign_to(text, basis))
        && !consents(text)
        && !asks_for_language(basis.request)
        && !is_about_texts(text, basis.request)
        && share()
}

/// Whether no candidate has a word with a content of this text, but for those of the request.
fn is_unbacked(text: &str, basis: &FloorBasis<'_>) -> bool {
    let new: Shingles = facts(text).difference(&facts(basis.request)).copied().collect();
    basis.candidates.iter().all(|(_, one)| facts(one).is_disjoint(&new))
}

/// Whether both speak of answers and the like, which are words of any topic otherwise.
fn is_about_texts(text: &str, request: &str) -> bool {
    let speaks = |text: &str| lower(text).iter().any(|word| TEXTS.has(word.trim_end_matches('s')));
    speaks(text) && speaks(request)
}

/// Whether a text speaks of the task: it says nothing that a candidate says, or little beside.
pub(super) fn is_of_task(text: &str, basis: &FloorBasis<'_>) -> bool {
    let words = lower(head(text, READ_BYTES));
    if text.contains('`') {
        return false;
    }
    let mut own: BTreeSet<&String> = words.iter().filter(|word| is_task(word)).collect();
    if own.is_empty() {
        return is_verdict(text, &words, basis);
    }
    let read = basis.material().flat_map(|known| lower(head(known, READ_BYTES)));
    let known: BTreeSet<String> = read.filter(|word| is_task(word)).collect();
    own.retain(|word| !known.contains(*word));
    let strong = own.iter().filter(|word| OWN_TASK.has(word)).count();
    if words.len() < TASK_WORDS_MIN {
        return strong > 0;
    }
    let is_topic = known.iter().any(|word| OWN_TASK.has(word));
    words.len() <= TASK_WORDS_MAX && strong >= 1 && own.len() >= 2 && !is_topic
        || known.is_empty() && is_unbacked(text, basis)
}

fn is_task(word: &str) -> bool {
    TASK.has(word) || OWN_TASK.has(word)
}

/// `Both are correct.`
fn is_verdict(text: &str, words: &[String], basis: &FloorBasis<'_>) -> bool {
    let begins = |word: &str| matches!(word, "both" | "neither" | "all" | "each" | "two" | "three" | "most");
    let first = words.first().map_or("", String::as_str);
    let says = words.iter().any(|word| matches!(word.as_str(), "say" | "says" | "agree"));
    begins(first)
        && words.len() <= VERDICT_WORDS_MAX
        && !asks_to_choose(basis.request)
        && (says || words.iter().any(|word| VERDICTS.contains(&word.as_str())))
        && (says || is_unbacked(text, basis))
        && !basis.candidates.iter().any(|(_, one)| lower(one).first().is_some_and(|own| begins(own)))
}

/// Whether a request gives a choice, so that a text may say which is right.
pub(super) fn asks_to_choose(request: &str) -> bool {
    lower(request).iter().any(|word| matches!(word.as_str(), "or" | "both" | "which"))
}

/// Whether a text only asks or says what was asked, while the candidates answer.
pub(super) fn is_question(text: &str, basis: &FloorBasis<'_>) -> bool {
    let words = lower(head(text, READ_BYTES));
    let retells = begins(&words, &RETELLS);
    let asks = || {
        let mut sentences = text.split_inclusive(['?', '？', '.', '!']).map(str::trim);
        sentences.all(|one| {
            let words = lower(one);
            one.ends_with(['?', '？']) || words.is_empty() || begins(&words, &THEREFORE)
        })
    };
    let is_asked_for = || {
        lower(basis.request).iter().any(|word| ASKS_FOR_QUESTION.contains(&word.as_str()))
            || asks_for_language(basis.request)
    };
    QUESTION_WORDS.contains(&words.len())
        && (retells && is_unbacked(text, basis) || asks())
        && !is_asked_for()
        && !basis.candidates.iter().any(|(_, one)| one.contains(['?', '？']))
}

/// Whether a text begins in one of these ways.
fn begins(words: &[String], ways: &[&str]) -> bool {
    let said = words.join(" ");
    ways.iter().any(|way| said.starts_with(way))
}

/// The words of a text that carry content, with its numbers.
fn facts(text: &str) -> Shingles {
    let text = head(text, READ_BYTES);
    let mut found = contents(text);
    let words = lower(text);
    let numbers =
        words.iter().filter(|word| word.starts_with(|one: char| one.is_numeric()) || NUMBERS.has(word));
    found.extend(numbers.map(|number| hash_of(number)));
    found
}
