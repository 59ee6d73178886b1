//! The number that ends a reasoning without a mark: in its last sentence, behind the last equals sign, or the only one that
//! the question does not have.
//!
//! What always holds: no word of that sentence is there but those of the question that asks, names in it, and a few that say
//! nothing of their own. A sentence with another word may say something else with the same number.

use super::Value;
use super::asked::Asked;
use super::number::{self, is_digit};
use super::spot;
use super::value::{is_sum, quantity};
use super::words::{is_same, turns, words};

/// The longest sentence that is looked at, in bytes.
const SENTENCE_BYTES_MAX: usize = 300;

/// Words that say nothing of their own about a number.
const PLAIN: &[&str] = &[
    "a",
    "an",
    "the",
    "so",
    "thus",
    "hence",
    "therefore",
    "then",
    "in",
    "of",
    "to",
    "for",
    "at",
    "on",
    "by",
    "from",
    "with",
    "is",
    "are",
    "do",
    "does",
    "there",
    "it",
    "all",
    "altogether",
    "overall",
    "finally",
    "dollars",
    "dollar",
    "answer",
    "kwa",
    "hiyo",
    "also",
    "insgesamt",
    "donc",
    "por",
    "lo",
    "tanto",
];
/// Words for time gone by, which a question has where it asks for that.
const PAST: &[&str] = &["did", "had", "was", "were"];

/// What the last sentence of an answer comes to, where no other says something else of the same kind.
pub(super) fn last(answer: &str, asked: &Asked) -> Option<Value> {
    let mut sentences = sentences(spot::end(answer)).rev();
    let value = read(sentences.next()?, asked)?;
    // `Sand: 6 buckets` is a step on the way.
    let is_other = |sentence: &str| {
        !sentence.contains('=')
            && !sentence.trim_start_matches('*').starts_with(|one: char| is_digit(one) || one == '$')
            && read(sentence, asked).is_some_and(|other| other != value)
    };
    (!sentences.any(is_other)).then_some(value)
}

/// What a sentence comes to.
fn read(sentence: &str, asked: &Asked) -> Option<Value> {
    let sentence = sentence.replace("**", "").replace("\\$", "$");
    let sentence = sentence.strip_suffix(['.', '。', '।']).unwrap_or(&sentence);
    let is_statement = !sentence.ends_with(['?', '？', '!', '！', ':', '.', '…']);
    if !is_statement || sentence.len() > SENTENCE_BYTES_MAX || turns(&without_asked(sentence, asked)) {
        return None;
    }
    if let Some((before, after)) = sentence.rsplit_once('=') {
        let sum = trailing_sum(before);
        is_sum(sum).then_some(())?;
        let clause =
            before[..before.len() - sum.len()].rsplit([',', ';', ':', '、', '，']).next().unwrap_or_default();
        let value = counted(after, asked).or_else(|| only(after.trim(), asked, 0));
        return value.filter(|_| is_known(clause, asked));
    }
    // A number alone is what a list, or a heading before it, makes of it.
    let says = words(sentence).any(|word| asked.words.iter().any(|own| is_same(own, &word)));
    // `There are 6` where it is asked how many each gets.
    let is_shared =
        !asked.words.iter().any(|word| is_each(word)) || words(sentence).any(|word| is_each(&word));
    // Who has more than whom is said with the same words either way.
    let is_compared = asked.words.iter().any(|word| word == "than");
    if !says || !is_shared || is_compared {
        return None;
    }
    only(sentence, asked, sentence.find(is_digit)?)
}

/// The sentences of a text, each line being one at least.
fn sentences(text: &str) -> impl DoubleEndedIterator<Item = &str> {
    let is_end = |one: char| matches!(one, '.' | '!' | '?' | ':' | ';' | '。' | '！' | '？' | '।');
    text.lines().flat_map(move |line| {
        let mut ends: Vec<usize> = line
            .char_indices()
            .map(|(at, one)| (at + one.len_utf8(), one))
            .filter(|(end, one)| is_end(*one) && (!one.is_ascii() || line[*end..].starts_with([' ', '*'])))
            .map(|(end, _)| end)
            .collect();
        ends.push(line.len());
        let starts = [0].into_iter().chain(ends.clone());
        starts
            .zip(ends)
            .map(|(start, end)| line[start..end].trim())
            .filter(|one| !one.trim_matches('*').is_empty())
            .collect::<Vec<_>>()
    })
}

/// A sentence without the words that the question asks with, which may ask how many more there are.
fn without_asked(sentence: &str, asked: &Asked) -> String {
    let is_asked = |word: &String| word == "more" && asked.words.contains(word);
    words(sentence).filter(|word| !is_asked(word)).collect::<Vec<_>>().join(" ")
}

/// What of a text before an equals sign is numbers and signs.
fn trailing_sum(before: &str) -> &str {
    let is_word = |one: char| one.is_alphabetic() && !matches!(one, 'x' | '×');
    let from = before.char_indices().rev().find(|(_, one)| is_word(*one) || matches!(one, ',' | ':' | '='));
    from.map_or(before, |(at, one)| &before[at + one.len_utf8()..])
}

/// A number with what is asked of it, and nothing behind it that is not asked.
fn counted(text: &str, asked: &Asked) -> Option<Value> {
    let value = quantity(text, asked, false)?;
    matches!(value, Value::Number(_, None)).then_some(value)
}

/// The only number of a sentence that the question does not have, where the sentence only repeats its words.
fn only(sentence: &str, asked: &Asked, from: usize) -> Option<Value> {
    let (mut found, mut from): (Option<(usize, usize)>, usize) = (None, from);
    while let Some(start) = sentence[from..].find(is_digit).map(|at| from + at) {
        let (_, rest) = number::leading(&sentence[start..])?;
        let end = sentence.len() - rest.len();
        let is_asked = asked.words.iter().any(|word| *word == sentence[start..end]);
        if !is_asked && found.replace((start, end)).is_some() {
            return None;
        }
        from = end;
    }
    let (start, end) = found?;
    let start = sentence[..start].trim_end_matches(['-', '−', '$', '€', '£', '¥', '₹']).len();
    let (before, behind) = (&sentence[..start], &sentence[end..]);
    let unit = leading_unit(behind, asked);
    let value = counted(&[&sentence[start..end], unit].concat(), asked)?;
    // `12 eggs` where it is asked for dozens.
    let next = words(&behind[unit.len()..]).next();
    if unit.is_empty() && next.is_some_and(|word| !BEHIND.contains(&word.as_str())) {
        return None;
    }
    let behind_unit = &behind[unit.len()..];
    let is_apart = before.chars().next_back().is_none_or(char::is_whitespace)
        && behind_unit.chars().next().is_none_or(|one| matches!(one, ' ' | ','))
        && !words(before).last().is_some_and(|word| is_each(&word));
    (is_apart && is_known(&[before, behind_unit].concat(), asked)).then_some(value)
}

fn is_each(word: &str) -> bool {
    matches!(word, "each" | "every" | "per")
}

/// Whether a text only says again what the question says: its words, names, things of it behind `the`, and words that say
/// nothing of their own.
fn is_known(text: &str, asked: &Asked) -> bool {
    let is_plain =
        |one: char| one.is_ascii_alphanumeric() || one.is_whitespace() || matches!(one, ',' | '\'' | '’');
    let is_hyphen = |(at, one): (usize, char)| {
        one == '-'
            && text[at + 1..].starts_with(char::is_alphanumeric)
            && text[..at].ends_with(char::is_alphanumeric)
    };
    if !text.char_indices().all(|(at, one)| is_plain(one) || is_hyphen((at, one))) {
        return false;
    }
    let mut before = String::new();
    // Questions put what they ask for first and keep the order of the rest: who did it to whom.
    let mut order = asked.words.iter();
    let is_past = asked.words.iter().any(|word| PAST.contains(&word.as_str()));
    words(text).all(|word| {
        let bare = word.trim_end_matches("'s").trim_end_matches("’s");
        let is_named =
            ARTICLES.contains(&before.as_str()) && asked.told.iter().any(|told| is_same(told, bare));
        let is_own = asked.words.iter().any(|own| is_akin(own, bare, is_past));
        let is_total = bare == "total" && matches!(before.as_str(), "in" | "a");
        let is_each = is_each(bare) && asked.words.iter().any(|own| is_each(own));
        // A question turns `a spider has` round.
        let is_turned = matches!(bare, "has" | "have") && is_own;
        let is_known = if PLAIN.contains(&bare) || is_total || is_each || is_turned {
            true
        } else if is_own {
            order.any(|own| is_akin(own, bare, is_past))
        } else {
            is_named || asked.names.iter().any(|name| name == bare)
        };
        before = word;
        is_known
    })
}

/// Words before a thing that a question has told of.
const ARTICLES: &[&str] = &["the", "his", "her", "their", "its", "all"];

/// Whether two words are forms of one; `scored` is one of `score` only where the question is about what has been.
fn is_akin(one: &str, other: &str, is_past: bool) -> bool {
    let stem = |word: &str| {
        let ends: &[&str] = if is_past { &["ed", "d", "es", "s", "e"] } else { &["es", "s", "e"] };
        let stem = ends.iter().find_map(|end| word.strip_suffix(end)).filter(|stem| stem.len() > 2);
        if word == "has" || word == "have" { "have".to_owned() } else { stem.unwrap_or(word).to_owned() }
    };
    one == other || is_same(one, other) || stem(one) == stem(other)
}

/// Words behind a number that begin something else than what it counts.
const BEHIND: &[&str] = &[
    "in",
    "per",
    "every",
    "each",
    "for",
    "at",
    "on",
    "left",
    "total",
    "altogether",
    "a",
    "from",
    "to",
    "and",
    "after",
];

/// What a number counts, of the text behind it: the words up to the first that is none of what is asked.
fn leading_unit<'a>(behind: &'a str, asked: &Asked) -> &'a str {
    let blanks = behind.char_indices().filter(|(_, one)| one.is_whitespace()).map(|(at, _)| at);
    let is_asked = |end: &usize| {
        let unit = behind[..*end].trim();
        !unit.is_empty() && asked.unit("", unit).is_some_and(|unit| unit.is_empty())
    };
    let end = blanks.chain([behind.len()]).take(4).filter(is_asked).last().unwrap_or(0);
    if end == 0 && behind.starts_with('%') { &behind[..1] } else { &behind[..end] }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MARKET: &str =
        "Janet sells 9 eggs at $2 each. How much in dollars does she make every day at the farmers' market?";
    const SPIDER: &str = "How many legs has a spider?";

    fn check(question: &str, answer: &str, expected: Option<&str>) {
        let sentence = question.rsplit_once(". ").map_or(question, |(_, last)| last);
        let value = last(answer, &Asked::of(sentence, question)).map(|value| value.to_string());
        assert_eq!(value.as_deref(), expected, "{answer}");
    }

    #[test]
    fn the_last_sentence_says_it_in_the_words_of_the_question() {
        for answer in [
            "She sells 9 eggs.\nTherefore, Janet makes $18 every day at the farmers' market.",
            "Janet makes 9 * $2 = $18 every day.",
            "So 9 x 2 = 18 dollars per day.",
        ] {
            check(MARKET, answer, Some("18"));
        }
        check(SPIDER, "A spider has 8 legs.", Some("8"));
        check(SPIDER, "4 pairs, so 4 * 2 = 8", Some("8"));
    }

    #[test]
    fn a_sentence_that_says_something_else_has_no_answer() {
        for answer in [
            "A spider has 8 eyes.",
            "A spider does not have 8 legs.",
            "A spider never has 8 legs.",
            "A spider has at least 8 legs.",
            "A spider has 8 or 9 legs.",
            "A spider has 8 million legs.",
            "An insect has 8 legs.",
            "Has a spider 8 legs?",
            "Spiders are said to have 8 legs.",
            "A spider has 2 * 4 = 8 eyes.",
            "x > 3, x = 8 or so",
            "A spider has 8. legs",
            "Go ahead with option 1",
        ] {
            check(SPIDER, answer, None);
        }
        for answer in [
            "She makes $18 every week.",
            "She makes 18 euros every day.",
            "Bob makes $18 every day.",
            "She makes $18 to $20.",
        ] {
            check(MARKET, answer, None);
        }
    }
}
