//! Checks whether a sentence only repeats a question, with a number for the asked quantity.
//!
//! Invariants: a sentence with a word that the asking sentence lacks is no repetition, except for unambiguous names and
//! pronouns, synonyms, and a few empty words. The words must stand in the order of the question, because another order may
//! swap who did something to whom.

use std::ops::Range;

use super::number::{self, Number};
use super::persons::{ACTING, NO_NAMES, OWNING, possessor, pronouns};
use super::vocabulary::{
    ARTICLES, AUXILIARY, CONDITIONS, COUNTING, DIRECTIONS, EACH, FORMS, FRONTED, HEADED, JOINT, JOINTS,
    KEEPING, KEPT, LEFT, NO_TOTAL, PAST, PLACES, PLAIN, QUANTITIES, SPENT, TOTAL, TURNED,
};
use super::words::{is_same, words};

/// The longest asking sentence in bytes. Each word of an answer is searched in it.
const SENTENCE_BYTES_MAX: usize = 2_000;

/// The words of a question, prepared for comparison.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Echo {
    /// The words of the asking sentence, in order.
    pub(super) words: Vec<String>,
    /// All words of the question, sorted.
    pub(super) question_words: Vec<String>,
    /// The only person the question is about, if the asking sentence does not name it.
    names: Vec<String>,
    /// The pronouns that can mean only this person.
    pronouns: Vec<&'static str>,
    /// The beginning of the question: `A ferry covers`.
    subject: Option<String>,
    /// Which words stand for the counted thing: `how much profit`.
    counted: Range<usize>,
    /// Which words ask; the others state a condition.
    asking: Range<usize>,
    /// Whether it asks about something of the person: `her mother` is not the person.
    is_owner_asked: bool,
    /// The word for the asked quantity: `the difference between the areas`.
    head: Option<String>,
    /// The numbers of the asking sentence.
    numbers: Vec<Number>,
    is_past: bool,
}

impl Echo {
    pub(super) fn of(sentence: &str, question: &str) -> Self {
        let sentence =
            Some(sentence).filter(|sentence| sentence.len() <= SENTENCE_BYTES_MAX).unwrap_or_default();
        let words: Vec<String> = sentence.split_whitespace().flat_map(pieces).collect();
        let mut question_words: Vec<String> = self::words(question).collect();
        let capital = question.split_whitespace().filter(|word| word.starts_with(char::is_uppercase));
        let mut names: Vec<String> =
            capital.flat_map(self::words).map(|name| possessor(&name).to_owned()).collect();
        names.retain(|name| !NO_NAMES.contains(&name.as_str()));
        names.sort_unstable();
        names.dedup();
        let pronouns = pronouns(&words, &question_words, names.len());
        // If the sentence names a person, or there are two, another name is another person.
        let is_name = |word: String| !NO_NAMES.contains(&possessor(&word));
        let capitals =
            sentence.split_whitespace().skip(1).filter(|word| word.starts_with(char::is_uppercase));
        let is_named = capitals.flat_map(self::words).any(is_name);
        let has = |group: &[&str]| words.iter().any(|word| group.contains(&word.as_str()));
        let is_owner_asked = has(OWNING) && !has(ACTING);
        if is_named || names.len() > 1 {
            names.clear();
        }
        let begins = matches!(question_words.first().map(String::as_str), Some("a" | "an" | "the"));
        let subject =
            question_words.get(1).filter(|_| begins && words.iter().any(|word| word == "it")).cloned();
        question_words.sort_unstable();
        question_words.dedup();
        Self {
            subject,
            is_past: words.iter().any(|word| PAST.contains(&word.as_str())),
            numbers: numbers(sentence),
            is_owner_asked,
            head: head(&words),
            counted: counted(&words),
            asking: asking(&words),
            names,
            pronouns,
            words,
            question_words,
        }
    }

    pub(super) fn has(&self, word: &str) -> bool {
        self.words.iter().any(|own| own == word)
    }

    /// Whether a word is the person the question asks about.
    pub(super) fn means_subject(&self, word: &str) -> bool {
        self.pronouns.contains(&word) || self.names.iter().any(|name| name == word)
    }

    /// Whether a word belongs to the asking part.
    pub(super) fn asks(&self, word: &str) -> bool {
        self.asking().iter().any(|own| own == word)
    }

    fn has_any(&self, words: &[&str]) -> bool {
        words.iter().any(|word| self.has(word))
    }

    /// The words of the asking part.
    fn asking(&self) -> &[String] {
        &self.words[self.asking.clone()]
    }

    /// Whether the question asks what is left. A remaining distance is different.
    pub(super) fn asks_what_is_left(&self) -> bool {
        let is_adjective = |word: &&String| *word == "remaining" && self.words.last() != Some(word);
        self.asking().iter().any(|word| LEFT.contains(&word.as_str()) && !is_adjective(&word))
    }

    /// Whether the question asks for the share of each.
    pub(super) fn asks_for_each(&self) -> bool {
        let asking = self.asking();
        // `3 books at $12 each` states a price.
        let is_price = |at: usize| at > 0 && number::leading(&asking[at - 1]).is_some();
        asking.iter().enumerate().any(|(at, word)| EACH.contains(&word.as_str()) && !is_price(at))
    }

    /// Whether the number after a word can be the asked quantity. `From 5` is a start and `at 5` a time, unless the question
    /// asks so or a unit shows a duration or speed.
    pub(super) fn leads_to(&self, before: &str, has_unit: bool) -> bool {
        let all: Vec<String> = words(before).collect();
        let (verb, before) = match all.as_slice() {
            [.., verb, before] => (verb.as_str(), before.as_str()),
            [before] => ("", before.as_str()),
            [] => return true,
        };
        // `By how much`, `sell it for`, `take in`.
        let asks = |word: &str| {
            let is_asked = |at: usize| {
                let next = self.words.get(at + 1).map_or("", String::as_str);
                let is_verb = at > 0 && self.is_form_of(&self.words[at - 1], verb);
                matches!(next, "" | "how" | "what") || is_verb && number::leading(next).is_none()
            };
            (0..self.words.len()).any(|at| self.words[at] == word && is_asked(at))
        };
        let is_by_how = asks("by");
        let is_left_with = before == "with"
            && self.asks_what_is_left()
            && all.iter().any(|word| KEEPING.contains(&word.as_str()));
        match before {
            _ if is_left_with => true,
            "in" | "at" | "for" if has_unit && !is_by_how => true,
            "is" | "are" | "was" | "were" => !is_by_how,
            _ => !DIRECTIONS.contains(&before) && !PLACES.contains(&before) || asks(before),
        }
    }

    /// Whether the question asks for a total.
    pub(super) fn is_total(&self) -> bool {
        self.has_any(TOTAL) || self.has_any(SPENT) && !self.has_any(NO_TOTAL)
    }

    /// Whether the asking sentence contains a number.
    pub(super) fn asks_with(&self, number: Number) -> bool {
        self.numbers.contains(&number)
    }

    /// Whether a text omits the asked quantity: what is left, or the share of each.
    pub(super) fn is_cut_short(&self, text: &str) -> bool {
        let has = |all: &[&str]| words(text).any(|word| all.contains(&word.as_str()));
        let is_shared = self.asks_for_each();
        let is_left = self.asks_what_is_left() && !has(LEFT) && !has(KEEPING);
        let is_back = self.asking().iter().any(|word| KEPT.contains(&word.as_str())) && !has(KEPT);
        let is_short = is_left || is_back || is_shared && !has(EACH);
        let is_more = self.asks("more") && !has(&["more", "another", "still"]) && !has(LEFT) && !has(KEEPING);
        let is_parted = self.asking().iter().any(|word| JOINT.contains(&word.as_str())) && !has(TOTAL);
        words(text).next().is_some()
            && (is_short || is_more || is_parted || self.is_headless(text) || self.is_halved(text))
    }

    /// Whether a text has words of the question but not that of the asked quantity: the areas instead of their difference.
    fn is_headless(&self, text: &str) -> bool {
        let Some(head) = self.head.as_ref() else { return false };
        let is_total = |word: &str| self.has_any(TOTAL) && TOTAL.contains(&word);
        self.is_touched(text) && !words(text).any(|word| self.is_form_of(head, &word) || is_total(&word))
    }

    /// Whether a text names only one of two things that the question joins: dogs instead of dogs and hens.
    fn is_halved(&self, text: &str) -> bool {
        let asking = self.asking();
        let is_noun = |word: &&String| number::leading(word).is_none() && !ARTICLES.contains(&word.as_str());
        let has = |noun: Option<&String>| {
            noun.is_some_and(|noun| words(text).any(|word| self.is_form_of(noun, &word)))
        };
        let is_ratio = self.has("ratio");
        let is_joint = |word: &str| JOINTS.contains(&word) || is_ratio && word == "to";
        let joins = asking.iter().enumerate().filter(|(_, word)| is_joint(word));
        let sides = joins
            .map(|(at, _)| (asking[..at].iter().rev().find(is_noun), asking[at + 1..].iter().find(is_noun)));
        sides.into_iter().any(|(one, other)| has(one) != has(other))
    }

    /// Whether a text has a word of the question or of the asked quantity.
    pub(super) fn is_touched(&self, text: &str) -> bool {
        let is_own = |word: &String| self.words.iter().any(|own| self.is_form_of(own, word));
        words(text)
            .any(|word| is_own(&word) || self.names_quantity(&word) || self.subject.as_ref() == Some(&word))
    }

    /// Whether a word is a synonym of the asked quantity: `time` for how long.
    fn names_quantity(&self, word: &str) -> bool {
        QUANTITIES.iter().any(|(asked, names)| self.has(asked) && names.contains(&word))
    }

    /// Whether a text repeats all words of the question except at most one, its verb.
    pub(super) fn is_full(&self, text: &str) -> bool {
        let is_plain = |word: &&str| {
            PLAIN.contains(word) || TURNED.contains(word) || matches!(*word, "how" | "many" | "much" | "what")
        };
        let asked = self.asking().iter().map(String::as_str).filter(|word| !is_plain(word));
        let missing = asked.filter(|own| !words(text).any(|word| self.is_form_of(own, &word)));
        missing.count() < 2
    }

    /// Whether a text only repeats the question.
    pub(super) fn is_repeated_by(&self, text: &str) -> bool {
        let is_apart = |one: char| one.is_whitespace() || matches!(one, '(' | ')');
        let is_letter =
            |one: char| one.is_alphanumeric() || matches!(one, '\'' | '’' | '-' | '.' | ',' | '%' | '$');
        // `Total earnings` are the earnings.
        let named = text.trim_start().strip_prefix("Total ").filter(|named| self.is_touched(named));
        let text = named.unwrap_or(text);
        let mut reading = EchoReader {
            echo: self,
            next: 0,
            front: 0,
            last: usize::MAX,
            before: String::new(),
            is_first: true,
            is_behind: false,
            is_conditional: false,
            is_after_article: false,
            is_owner: false,
            is_left: false,
            counted: None,
        };
        text.split(is_apart).filter(|raw| !raw.is_empty()).all(|raw| {
            raw == NUMBER && reading.passes_number() || raw.chars().all(is_letter) && reading.takes(raw)
        })
    }

    /// Whether two words are forms of one. `scored` matches `score` only if the question is about the past.
    fn is_form_of(&self, own: &str, other: &str) -> bool {
        let stem = |word: &str| {
            if let Some(stem) = word.strip_suffix("ied").filter(|_| self.is_past) {
                return [stem, "y"].concat();
            }
            let ends: &[&str] = if self.is_past { &["ed", "d", "es", "s", "e"] } else { &["es", "s", "e"] };
            let stem = ends.iter().find_map(|end| word.strip_suffix(end)).filter(|stem| stem.len() > 2);
            if word == "has" || word == "have" { "have".to_owned() } else { stem.unwrap_or(word).to_owned() }
        };
        let is_form = |(now, then): &(&str, &str)| own == *now && other == *then;
        own == other
            || is_same(own, other)
            || stem(own) == stem(other)
            || self.is_past && FORMS.iter().any(is_form)
            || LEFT.contains(&own) && LEFT.contains(&other)
    }
}

/// The placeholder for the asked number in a text.
pub(super) const NUMBER: &str = "#";

/// The state of reading a text word by word.
struct EchoReader<'a> {
    echo: &'a Echo,
    /// The next word of the question.
    next: usize,
    /// Where in the question the text begins, if it begins with a phrase like `in a week`.
    front: usize,
    /// The word of the question before which the text ends, if the end of the question came first.
    last: usize,
    before: String,
    is_first: bool,
    /// Whether the number has come.
    is_behind: bool,
    /// Whether an article came right before.
    is_after_article: bool,
    /// Whether the word is a possessive.
    is_owner: bool,
    /// Whether `if` came before.
    is_conditional: bool,
    /// Whether `is left` came right before, so that `with` must follow.
    is_left: bool,
    /// The word that must follow.
    counted: Option<String>,
}

impl EchoReader<'_> {
    fn passes_number(&mut self) -> bool {
        NUMBER.clone_into(&mut self.before);
        self.is_behind = true;
        !self.is_left
    }

    fn takes(&mut self, raw: &str) -> bool {
        if std::mem::take(&mut self.is_left) && raw != "with" {
            return false;
        }
        let raw = raw.trim_matches(',');
        let lower = raw.trim_matches(['\'', '’', '-', '.']).to_lowercase();
        let bare = possessor(&lower);
        self.is_owner = bare.len() < lower.len();
        let is_first = std::mem::replace(&mut self.is_first, false);
        // The point A, which is no article.
        let is_label =
            !is_first && raw.chars().count() == 1 && raw.chars().all(char::is_uppercase) && bare != "i";
        let is_taken = match number::leading(bare.trim_start_matches('$').trim_end_matches('%')) {
            Some((number, "")) => self.takes_number(number),
            _ if self.counted.take().is_some_and(|counted| !self.echo.is_form_of(&counted, bare)) => false,
            _ => self.takes_word(bare, is_label, is_first),
        };
        self.is_after_article = ARTICLES.contains(&lower.as_str()) && !is_label;
        if !ARTICLES.contains(&lower.as_str()) || is_label {
            self.before = lower;
        } else if self.before.is_empty() {
            " ".clone_into(&mut self.before);
        }
        is_taken
    }

    /// Takes a number of the question with its counted thing.
    fn takes_number(&mut self, number: Number) -> bool {
        let is_own = self.takes_own(&number.to_string());
        self.counted = self.echo.words.get(self.next).filter(|_| is_own).cloned();
        is_own
    }

    fn takes_word(&mut self, bare: &str, is_label: bool, is_first: bool) -> bool {
        let echo = self.echo;
        let own = echo.words.iter().position(|own| echo.is_form_of(own, bare));
        let has = own.is_some();
        // It gives `5 of it`, and there gives `5 there`.
        if self.is_behind && !has && matches!(bare, "it" | "there") {
            return false;
        }
        // `has left` means used up and `left 5` means not kept, but `has 5 left` and `plums left: 5` mean kept.
        let is_counted = || echo.words[echo.counted.clone()].iter().any(|own| is_same(own, &self.before));
        let is_after_have = matches!(self.before.as_str(), "has" | "have" | "had");
        // `on the left` is a direction.
        let is_left_with = matches!(self.before.as_str(), "is" | "are") && !self.is_behind;
        if bare == "left" && is_left_with {
            self.is_left = true;
            return echo.asks_what_is_left();
        }
        let is_not_kept = is_after_have || self.is_after_article || !self.is_behind && !is_counted();
        if bare == "left" && is_not_kept {
            return false;
        }
        // `has` and `had` are different facts.
        if echo.is_past && matches!(bare, "has" | "have") {
            return false;
        }
        if bare == "leaves" {
            return matches!(self.before.as_str(), "that" | "this") && echo.asks_what_is_left();
        }
        if (PLAIN.contains(&bare) && !is_label) || echo.pronouns.contains(&bare) && self.before != "left" {
            return true;
        }
        if bare == "final" && !has {
            return true;
        }
        let holds = matches!(bare, "has" | "have") && echo.asks_what_is_left();
        if holds || bare == "now" && own.is_some_and(|at| self.may_take(at)) {
            return true;
        }
        if has
            && (TURNED.contains(&bare)
                || LEFT.contains(&bare)
                || TOTAL.contains(&bare)
                || EACH.contains(&bare) && own.is_some_and(|at| self.may_take(at)))
        {
            return true;
        }
        if TOTAL.contains(&bare) && bare != "both" && (bare != "all" || self.before == "in") {
            return bare == "all"
                || matches!(self.before.as_str(), "in" | "a")
                || self.before == " " && !echo.has_any(NO_TOTAL)
                || echo.is_total();
        }
        if is_first && matches!(bare, "that" | "this")
            || matches!(bare, "ends" | "up") && echo.asks_what_is_left()
            || matches!(bare, "now" | "still") && (echo.asks_what_is_left() || echo.has("more"))
        {
            return true;
        }
        if has {
            return own.is_some_and(|at| echo.counted.contains(&at)) || self.takes_own(bare);
        }
        if echo.names_quantity(bare) {
            return true;
        }
        let is_named = !echo.is_owner_asked || self.is_owner;
        let is_name = is_named
            && echo.names.iter().any(|name| name == bare)
            && !DIRECTIONS.contains(&self.before.as_str());
        let is_subject = self.next == 0 && echo.subject.as_ref().is_some_and(|subject| subject == bare);
        is_name || is_subject
    }

    /// Whether a word of the question is allowed here: a word of its condition only in a condition.
    fn may_take(&self, at: usize) -> bool {
        self.is_conditional || self.echo.asking.contains(&at)
    }

    /// Takes a word of the question in its order and direction.
    fn takes_own(&mut self, bare: &str) -> bool {
        let echo = self.echo;
        self.is_conditional |= bare == "if";
        let rest = echo.words.iter().enumerate().skip(self.next);
        let mut found = rest.filter(|(_, own)| echo.is_form_of(own, bare)).map(|(at, _)| at);
        let found = found.find(|at| self.may_take(*at)).or_else(|| self.wrapped(bare));
        let Some(at) = found.filter(|at| *at < self.last) else { return false };
        if self.next == 0 && FRONTED.contains(&self.before.as_str()) {
            self.front = at;
        }
        self.next = at + 1;
        let is_article = |word: &&String| ARTICLES.contains(&word.as_str());
        let asked = echo.words[..at].iter().rev().find(|word| !is_article(word)).map_or("", String::as_str);
        // `The barge` is not the first barge.
        let whole = echo.words[..at].last().map_or("", String::as_str);
        let is_bare = self.is_after_article
            && !PLAIN.contains(&whole)
            && !TURNED.contains(&whole)
            && !JOINTS.contains(&whole)
            && !ARTICLES.contains(&whole)
            && !DIRECTIONS.contains(&whole)
            && !EACH.contains(&whole)
            && number::leading(whole).is_none()
            && self.before != whole
            && at > 0;
        // A week is not 5 weeks.
        let is_counted = number::leading(whole).is_some() && self.before != whole;
        if is_counted && whole != "1" && echo.words[at] != bare {
            return false;
        }
        // `spends` and `spent` are different facts.
        let is_now = echo.is_past && [&echo.words[at], "s"].concat() == bare;
        if is_bare || is_now {
            return false;
        }
        let (before, is_place) = (self.before.as_str(), |word: &str| PLACES.contains(&word));
        let is_same_way = asked == before
            || !DIRECTIONS.contains(&before)
                && !(is_place(before) && (is_place(asked) || DIRECTIONS.contains(&asked)));
        // `is paid` is not `paid`.
        let is_passive =
            matches!(self.before.as_str(), "is" | "are") && echo.words[at] != bare && echo.is_past;
        is_same_way && !is_passive
    }
}

impl EchoReader<'_> {
    /// The index of a word if the end of the question came first: `In a week the cows give`.
    fn wrapped(&mut self, bare: &str) -> Option<usize> {
        (self.front > 0 && self.last == usize::MAX).then_some(())?;
        self.last = self.front;
        self.echo.words.iter().position(|own| self.echo.is_form_of(own, bare))
    }
}

/// Which words of a question stand for the counted thing.
fn counted(words: &[String]) -> Range<usize> {
    let is_how = |two: &[String]| match two[0].as_str() {
        "how" => matches!(two[1].as_str(), "many" | "much"),
        "what" => matches!(two[1].as_str(), "percentage" | "percent" | "fraction"),
        _ => false,
    };
    let Some(at) = words.windows(2).position(is_how) else { return 0..0 };
    let is_end = |word: &String| AUXILIARY.contains(&word.as_str());
    at..words[at..].iter().position(is_end).map_or(at, |length| at + length)
}

/// The word for the asked quantity after `what is the`; `None` for `how many`.
fn head(words: &[String]) -> Option<String> {
    let is_begin = |two: &[String]| two[0] == "what" && TURNED.contains(&two[1].as_str());
    let from = words.windows(2).position(is_begin)? + 2;
    let is_end = |word: &String| HEADED.contains(&word.as_str()) || PLACES.contains(&word.as_str());
    let end = words[from..].iter().position(is_end).map_or(words.len(), |length| from + length);
    words[from..end].last().filter(|head| !COUNTING.contains(&head.as_str())).cloned()
}

/// Which words of a sentence ask, without a condition such as `if there are 12`.
fn asking(words: &[String]) -> Range<usize> {
    let is_begin = |word: &String| matches!(word.as_str(), "how" | "what" | "which" | "find");
    let has_condition = words.first().is_some_and(|word| word == "if");
    let start = words.iter().position(is_begin).filter(|_| has_condition).unwrap_or(0);
    let length = words[start..].iter().position(|word| CONDITIONS.contains(&word.as_str()));
    start..length.map_or(words.len(), |length| start + length)
}

/// The numbers of a text.
fn numbers(text: &str) -> Vec<Number> {
    let pieces = text.split(|one: char| one.is_whitespace() || matches!(one, '?' | '-' | '$' | '%'));
    pieces
        .filter_map(|piece| number::leading(piece.trim_end_matches(['.', ','])).map(|(number, _)| number))
        .collect()
}

/// The words of a piece between blanks; a number is one word in normal form.
fn pieces(piece: &str) -> Vec<String> {
    let is_around = |one: char| !one.is_alphanumeric();
    match number::leading(piece.trim_matches(is_around)) {
        Some((number, "")) => vec![number.to_string()],
        _ => words(piece).flat_map(|word| inverted(&word)).collect(),
    }
}

/// Splits `reste-t-il` into its words.
fn inverted(word: &str) -> Vec<String> {
    let ends = ["-t-il", "-t-elle", "-il", "-elle", "-on"];
    match ends.iter().find_map(|end| Some((word.strip_suffix(end)?, end))) {
        Some((verb, end)) => vec![verb.to_owned(), end.rsplit('-').next().unwrap_or_default().to_owned()],
        None => vec![word.to_owned()],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CINEMA: &str = "A cinema sells tickets for $7. How much money did the cinema take in on Friday?";
    const BARGE: &str = "How many crates does the first barge carry if the second carries 12?";
    const ANIMALS: &str = "How many legs do 6 dogs and 4 hens have?";
    const PAIR: &str = "Ann and Bob trade. How much did Ann pay Bob for the chairs?";

    fn check(question: &str, text: &str, expected: bool) {
        let sentence = question.rsplit_once(". ").map_or(question, |(_, last)| last);
        assert_eq!(Echo::of(sentence, question).is_repeated_by(text), expected, "{text}");
    }

    #[test]
    fn repeating_the_question_makes_the_same_statement() {
        for text in ["The cinema took in on Friday", "So it took in", "In total, the cinema took in"] {
            check(CINEMA, text, true);
        }
        for text in ["Ann paid Bob", "Ann paid Bob for the chairs"] {
            check(PAIR, text, true);
        }
    }

    #[test]
    fn leaving_something_out_makes_another_statement() {
        for (text, expected) in [
            ("The first barge carries", true),
            ("The barge carries", false),
            ("The second carries", false),
            ("If the second carries 12", true),
        ] {
            check(BARGE, text, expected);
        }
        let animals = Echo::of(ANIMALS, ANIMALS);
        assert!(animals.is_cut_short("The dogs have"));
        assert!(!animals.is_cut_short("6 dogs and 4 hens have"));
    }

    #[test]
    fn another_word_or_order_makes_another_statement() {
        for text in ["The cinema lost", "The cinema took in on Saturday", "The cinema is taken in"] {
            check(CINEMA, text, false);
        }
        for text in [
            "Bob paid Ann",
            "She paid Bob",
            "Ann is paid",
            "Ann paid for Bob",
            "Ann paid Bob with the chairs",
        ] {
            check(PAIR, text, false);
        }
    }
}
