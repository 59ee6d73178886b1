//! The counted thing of a question for a number, so that `8 legs` equals `8` only if the question counts legs.

use super::echo::Echo;
use super::measure::{MEASURES, Measure, is_among, one_way, only_measure, unabridged};
use super::number::is_digit;
use super::vocabulary::{EACH, SCALES};
use super::words::{QUANTIFIERS, denies, is_same, words};

/// Phrases that ask for a number; the counted thing or a verb follows.
pub(super) const COUNTING: &[&str] = &[
    "how many",
    "wie viele",
    "wie viel",
    "wieviele",
    "wieviel",
    "combien de",
    "combien d'",
    "combien",
    "cuántos",
    "cuántas",
    "cuánto",
    "cuánta",
    "quanti",
    "quante",
    "quanto",
    "quantos",
    "quantas",
    "hoeveel",
    "сколько",
    "how much",
];
/// Such phrases without a blank before the counted thing.
const COUNTING_UNSPACED: &[&str] =
    &["多少", "几", "幾", "何", "กี่", "몇 ", "몇", "কত", "কতগুলি ", "কয়টি ", "ఎన్ని "];

/// Words after `how many` that name nothing in particular.
const COUNTERS: &[(&str, &[&str])] = &[("いくつ", &["個", "つ"]), ("কত", &["টি", "টা"])];

/// Words that end the name of the counted thing.
const ENDING: &[&str] = &[
    "is",
    "are",
    "was",
    "were",
    "has",
    "have",
    "had",
    "does",
    "do",
    "did",
    "will",
    "would",
    "can",
    "could",
    "should",
    "must",
    "may",
    "might",
    "there",
    "if",
    "when",
    "per",
    "to",
    "in",
    "on",
    "at",
    "of",
    "for",
    "from",
    "with",
    "that",
    "this",
    "each",
    "he",
    "she",
    "it",
    "they",
    "we",
    "you",
    "i",
    "hat",
    "haben",
    "hatte",
    "sind",
    "ist",
    "gibt",
    "wird",
    "werden",
    "muss",
    "kann",
    "a",
    "an",
    "the",
    "y",
    "hay",
    "tiene",
    "tienen",
    "ha",
    "est",
    "sont",
    "il",
    "elle",
    "avait",
    "у",
    "в",
    "на",
    "or",
    "and",
    "left",
    "remain",
    "remaining",
];

/// Signs and words of currencies, each with its sign.
const MONEY: &[(&str, &str)] = &[
    ("$", "$"),
    ("dollar", "$"),
    ("dollars", "$"),
    ("dólares", "$"),
    ("dólar", "$"),
    ("доллар", "$"),
    ("доллара", "$"),
    ("долларов", "$"),
    ("美元", "$"),
    ("ドル", "$"),
    ("ดอลลาร์", "$"),
    ("ডলার", "$"),
    ("డాలర్లు", "$"),
    ("dola", "$"),
    ("€", "€"),
    ("euro", "€"),
    ("euros", "€"),
    ("евро", "€"),
    ("£", "£"),
    ("¥", "¥"),
    ("₹", "₹"),
    ("rupees", "₹"),
];
/// Words of questions that ask for money.
const FOR_MONEY: &[&str] = &[
    "cost", "costs", "price", "profit", "earn", "earns", "earned", "earnings", "spend", "spends", "spent",
    "pay", "pays", "paid", "money", "change", "worth", "charge", "charged", "bill", "make", "makes", "made",
    "save", "saves", "saved", "owe", "owes", "revenue", "income", "wage", "salary", "tax", "tip", "fee",
    "budget", "expense", "expenses", "dollars", "total", "sales", "donate", "raise", "raised", "receive",
    "left", "value",
];
/// Words that identify languages with decimal commas.
const COMMA_WORDS: &[&str] = &[
    "der",
    "das",
    "und",
    "ist",
    "wie",
    "welche",
    "combien",
    "le",
    "les",
    "des",
    "est",
    "quel",
    "quelle",
    "el",
    "los",
    "las",
    "una",
    "cuántos",
    "cuántas",
    "cuánto",
    "cuánta",
    "il",
    "della",
    "quanti",
    "quante",
    "quanto",
    "são",
    "uma",
    "qual",
    "quantos",
    "quantas",
    "het",
    "een",
    "hoeveel",
    "и",
    "в",
    "на",
    "с",
    "у",
    "сколько",
];
/// The analysis of a question for a number.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Asked {
    /// The sentence that asks, in lower case.
    sentence: String,
    /// The words of the question.
    pub(super) echo: Echo,
    /// The names the counted thing may have.
    units: Vec<Vec<String>>,
    /// The first words after `how many`.
    beside: Vec<String>,
    /// The counted thing with all its attributes.
    phrase: Vec<String>,
    /// The sign of the currency asked for.
    money: Option<&'static str>,
    is_percent: bool,
    /// Whether a number counts only as written: `3.10` is not `3.1`, and `6/8` is not `3/4`.
    pub(super) is_written: bool,
    /// Whether the language of the question writes decimal commas and points between thousands.
    pub(super) has_decimal_comma: bool,
    /// Whether the answer may be code, in which each blank counts.
    pub(super) is_code: bool,
}

impl Asked {
    /// Analyses the asking sentence of a question.
    pub(super) fn of(sentence: &str, question: &str) -> Self {
        let words: Vec<String> = words(sentence).collect();
        let has = |one: &str| words.iter().any(|word| word == one);
        let is_percent =
            has("percent") || has("percentage") || has("prozent") || has("porcentaje") || has("pourcentage");
        let lower = sentence.to_lowercase();
        let counted = counted(&lower);
        let is_for_money = counted.iter().any(|all| all.first().is_some_and(|word| money(word).is_some()))
            || (!lower.contains("how many") && words.iter().any(|word| FOR_MONEY.contains(&word.as_str())))
            || lower.contains("how much does")
            || lower.contains("how much did")
            || lower.contains("how much will");
        let money = currency(question).filter(|_| is_for_money && !is_percent);
        Self {
            beside: counted.iter().flat_map(|behind| behind.iter().take(3)).cloned().collect(),
            phrase: counted.first().map(|behind| behind[..noun(behind)].to_vec()).unwrap_or_default(),
            units: units(&counted, &words, question),
            sentence: lower,
            echo: Echo::of(sentence, question),
            money,
            is_percent,
            is_written: false,
            has_decimal_comma: self::words(question).any(|word| COMMA_WORDS.contains(&word.as_str())),
            is_code: false,
        }
    }

    /// The unit of a number in normal form, from the sign before it and the text after it; empty if it is the unit that the
    /// question asks for. `None` if the text after it is no unit.
    pub(super) fn unit(&self, sign: &str, behind: &str) -> Option<String> {
        let behind = behind.trim();
        if behind.len() > UNIT_BYTES_MAX || !behind.split_whitespace().all(is_unit) {
            return None;
        }
        let written = [sign, behind].join(" ").trim().to_owned();
        let mut rest: Vec<String> = behind.split_whitespace().map(str::to_lowercase).collect();
        let first = rest.first().map(String::as_str).unwrap_or_default();
        let meant = if sign.is_empty() { money(first) } else { money(sign) };
        let had = rest.len();
        match meant {
            Some(meant) => {
                if sign.is_empty() {
                    rest.remove(0);
                }
                if self.money != Some(meant) {
                    return Some([&[meant.to_owned()], rest.as_slice()].concat().join(" "));
                }
            }
            None if sign.is_empty() && matches!(first, "%" | "percent" | "prozent") => {
                rest.remove(0);
                if !self.is_percent {
                    return Some([&["%".to_owned()], rest.as_slice()].concat().join(" "));
                }
            }
            None if self.is_counted(behind) => return Some(String::new()),
            None => {
                let is_scaled = SCALES.contains(&first) || !self.echo.has("how");
                let counted = self.counted(&rest);
                rest.drain(..counted);
                // `10 dozen eggs` if the question is how many dozens of eggs.
                if counted > 0 && is_scaled && rest.iter().all(|word| self.beside.contains(word)) {
                    rest.clear();
                }
            }
        }
        let is_whole = rest.is_empty() || (had > rest.len() || meant.is_some()) && self.is_beside(&rest);
        let is_beside = rest.len() == had && meant.is_none() && self.is_beside(&rest);
        Some(if is_whole || is_beside { String::new() } else { one_way(&written).to_owned() })
    }

    /// Whether a question in a script without blanks asks for exactly this unit.
    fn is_counted(&self, behind: &str) -> bool {
        let is_unspaced = !behind.is_empty() && !behind.is_ascii() && !behind.contains(' ');
        let is_counter =
            |(how, counters): &(&str, &[&str])| self.sentence.contains(how) && counters.contains(&behind);
        if COUNTERS.iter().any(is_counter) {
            return true;
        }
        is_unspaced && COUNTING_UNSPACED.iter().any(|how| self.sentence.contains(&[how, behind].concat()))
    }

    /// The sentence that asks, in lower case.
    pub(super) fn sentence(&self) -> &str {
        &self.sentence
    }

    /// Whether a text drops an attribute of the counted thing: `balls` if the question counts red balls.
    pub(super) fn is_part(&self, text: &str) -> bool {
        let Some(head) = self.phrase.last().filter(|_| self.echo.has("how")) else { return false };
        let all: Vec<String> = words(text).collect();
        let is_phrase = |some: &[String]| some.iter().zip(&self.phrase).all(|(one, own)| is_same(one, own));
        all.iter().any(|word| is_same(word, head)) && !all.windows(self.phrase.len()).any(is_phrase)
    }

    /// Whether a word expresses a comparison that the question makes.
    pub(super) fn is_more(&self, word: &str) -> bool {
        matches!(word, "more" | "fewer" | "less" | "than") || word.ends_with("er") && self.echo.has(word)
    }

    /// Whether a word is the counted thing: `mile 5` is one mile.
    pub(super) fn is_counted_by(&self, word: &str) -> bool {
        self.echo.has("how") && self.phrase.last().is_some_and(|head| is_same(head, word))
    }

    /// Whether a text gives a share of the same whole as the question: 40 % of the class.
    pub(super) fn is_of(&self, text: &str) -> bool {
        let whole = |text: &str| {
            let all: Vec<String> = words(text).filter(|word| word != "the").collect();
            let at = all
                .windows(2)
                .position(|two| matches!(two[0].as_str(), "percent" | "percentage") && two[1] == "of")?;
            all.get(at + 2).cloned()
        };
        match (self.is_percent, whole(&text.replace('%', " percent")), whole(&self.sentence)) {
            (true, Some(given), Some(asked)) => is_same(&given, &asked),
            _ => true,
        }
    }

    /// Whether a text is the variable whose value is asked for.
    pub(super) fn is_variable(&self, text: &str) -> bool {
        let bare = text.trim();
        let letter = bare.to_lowercase();
        let sentence = self.sentence.replace(['$', '(', ')', '\\'], "");
        // A question that states `x + y = 5` does not ask for y.
        let asks = ["value of", "find", "solve for", "what is", "what’s", "what's"].iter().any(|verb| {
            sentence.match_indices(verb).any(|(at, _)| {
                let behind = sentence[at + verb.len()..].trim_start();
                let after = behind.strip_prefix(letter.as_str());
                after.is_some_and(|after| !after.starts_with(|one: char| one.is_alphanumeric()))
            })
        });
        asks && bare.len() == 1 && bare != "a"
    }

    /// Whether a text repeats a rate of the question: `at 15 pages an hour`.
    pub(super) fn repeats_rate(&self, text: &str) -> bool {
        let all: Vec<String> = words(text).collect();
        let is_in_question = |word: &String| {
            word == "at" || is_each(word) || self.echo.question_words.iter().any(|own| is_same(own, word))
        };
        all.iter().any(|word| is_each(word)) && text.contains(is_digit) && all.iter().all(is_in_question)
    }

    /// Whether a text gives a time or reason with facts of the question: `after giving 3 away`, `since she gives away 3`.
    pub(super) fn repeats_event(&self, text: &str) -> bool {
        let all: Vec<String> = words(text).collect();
        let [first, second, rest @ ..] = all.as_slice() else { return false };
        let is_event = match first.as_str() {
            "after" => second.ends_with("ing"),
            "since" | "because" => self.echo.means_subject(second),
            _ => false,
        };
        let stem =
            |word: &str| word.strip_suffix("ing").unwrap_or(word).trim_end_matches(['s', 'e']).to_owned();
        let is_in_question =
            |word: &String| self.echo.question_words.iter().any(|own| stem(own) == stem(word));
        is_event
            && rest.iter().chain([second]).all(|word| is_in_question(word) || self.echo.means_subject(word))
    }

    /// Whether the asked quantity can be measured in a unit.
    pub(super) fn is_measure(&self, unit: &str) -> bool {
        let asks = |kind: &&Measure| kind.asked.iter().any(|word| self.echo.has(word));
        MEASURES.iter().filter(asks).any(|kind| is_among(kind.units, unit))
            || unit == "円" && self.sentence.contains("いくら")
    }

    /// Whether a text begins with a per-unit phrase of the question: `a week`.
    pub(super) fn is_rate(&self, text: &str) -> bool {
        let two: Vec<String> = words(text).take(2).collect();
        self.is_beside(&two)
    }

    /// How many of these words name the counted thing.
    fn counted(&self, rest: &[String]) -> usize {
        let fits = |unit: &&Vec<String>| {
            unit.len() <= rest.len()
                && unit.iter().zip(rest).all(|(one, other)| is_same(unabridged(one), unabridged(other)))
        };
        self.units.iter().filter(fits).map(Vec::len).max().unwrap_or(0)
    }

    /// Whether these words only repeat the question: `per day`, `in total`.
    fn is_beside(&self, rest: &[String]) -> bool {
        let Some((first, behind)) = rest.split_first() else { return true };
        let is_one_thing = !self.echo.has("and") && !self.echo.has("or");
        match first.as_str() {
            "left" if !self.echo.asks_what_is_left() => false,
            "in" | "altogether" | "total" if self.echo.asks_for_each() => false,
            "in" | "altogether" | "total" | "left" => {
                behind.iter().all(|word| matches!(word.as_str(), "total" | "all"))
                    && (first != "in" || !behind.is_empty())
            }
            "more" => behind.is_empty() && self.echo.has(first),
            // `$18 a day` if the question is how much is made per day.
            "per" | "a" | "an" | "each" | "every" => {
                let asks = |two: &[String]| is_each(&two[0]) && Some(&two[1]) == behind.first();
                is_one_thing && behind.len() == 1 && self.echo.words.windows(2).any(asks)
            }
            _ => false,
        }
    }
}

/// Whether a word means "each" before a word for time or things.
fn is_each(word: &str) -> bool {
    EACH.contains(&word) || matches!(word, "a" | "an")
}

/// The longest name of a counted thing in bytes.
const UNIT_BYTES_MAX: usize = 40;

/// Whether a piece may belong to a unit: letters, and signs as in `km/h`, `m^2` and `°C`.
fn is_unit(piece: &str) -> bool {
    let bare = piece.strip_suffix("^2").or_else(|| piece.strip_suffix("^3")).unwrap_or(piece);
    let is_part = |one: char| {
        one.is_alphabetic()
            || matches!(one, '/' | '·' | '²' | '³' | '%' | '°' | '\'' | '’' | '-')
            || is_mark(one)
            || "$€£¥₹".contains(one)
    };
    !bare.is_empty() && bare.chars().all(is_part)
}

/// A vowel sign, or a sign that binds letters, of Devanagari, Bengali, Telugu or Thai.
const fn is_mark(one: char) -> bool {
    matches!(one, '\u{900}'..='\u{963}' | '\u{980}'..='\u{9e3}' | '\u{c00}'..='\u{c63}' | '\u{e31}'..='\u{e4e}')
}

/// The currency sign a word means.
fn money(word: &str) -> Option<&'static str> {
    MONEY.iter().find(|(known, _)| *known == word).map(|(_, sign)| *sign)
}

/// The only currency in a question. Dollar signs around a formula do not count.
fn currency(question: &str) -> Option<&'static str> {
    let is_formula = |(at, _): (usize, &str)| {
        let before = question[..at].chars().next_back();
        let behind = question[at + 1..].chars().next();
        before != Some('\\')
            && (behind.is_none_or(|one| !one.is_ascii_digit())
                || before.is_some_and(|one| one.is_alphanumeric() || matches!(one, ')' | '}')))
    };
    let mut signs: Vec<&'static str> = words(question).filter_map(|word| money(&word)).collect();
    signs.extend(question.matches(['€', '£', '¥', '₹']).filter_map(money));
    signs.extend(
        MONEY
            .iter()
            .filter(|(word, _)| !word.is_ascii() && word.len() > 4 && question.contains(word))
            .map(|(_, sign)| *sign),
    );
    if question.contains('$') && !question.match_indices('$').any(is_formula) {
        signs.push("$");
    }
    let first = *signs.first()?;
    let has_others = signs.iter().any(|sign| *sign != first)
        || words(question).any(|word| matches!(word.as_str(), "cent" | "cents" | "pence"));
    (!has_others).then_some(first)
}

/// The words after each phrase that asks how many.
fn counted(lower: &str) -> Vec<Vec<String>> {
    let found =
        COUNTING.iter().flat_map(|how| lower.match_indices(how).map(|(at, how)| &lower[at + how.len()..]));
    found
        .filter(|behind| behind.starts_with([' ', '\'']))
        .map(|behind| words(behind).skip_while(|word| QUANTIFIERS.contains(&word.as_str())).take(6).collect())
        .map(without_denied)
        .collect()
}

/// The part before a verb: of `pupils play without`, only `pupils` is counted.
fn without_denied(mut behind: Vec<String>) -> Vec<String> {
    if behind.iter().any(|word| denies(word)) {
        behind.truncate(1);
    }
    behind
}

/// The names the counted thing may have: `pizza slices` or `slices`, `slices of pizza` or `slices`.
fn units(counted: &[Vec<String>], words: &[String], question: &str) -> Vec<Vec<String>> {
    let is_english = words.iter().any(|word| word == "how");
    let mut units = Vec::new();
    for behind in counted {
        let end = noun(behind);
        // `how many hours or minutes` is ambiguous.
        if behind.get(end).is_some_and(|word| matches!(word.as_str(), "or" | "and")) {
            continue;
        }
        let is_of = behind.get(end).is_some_and(|word| matches!(word.as_str(), "of" | "de"));
        // In other languages an unknown verb may follow.
        units.extend(behind.first().filter(|_| !is_english).map(|first| vec![first.clone()]));
        // `12 eggs` are not 12 dozen eggs.
        let is_scaled = behind.first().is_some_and(|word| SCALES.contains(&word.as_str()));
        let starts = if is_scaled { end.min(1) } else { end };
        units.extend((0..starts).map(|from| behind[from..end].to_vec()));
        if is_of && end > 0 {
            units.extend((end + 2..=behind.len().min(end + 3)).map(|to| behind[..to].to_vec()));
        }
    }
    // `how long, in minutes, …`, and not `how many minutes are in 8 hours`.
    if counted.is_empty() {
        let is_measure = |word: &String| MEASURES.iter().any(|kind| is_among(kind.units, word));
        let is_in = |two: &[String]| two[0] == "in" && is_measure(&two[1]);
        if words.iter().any(|word| word == "old") && !words.windows(2).any(is_in) {
            units.extend([vec!["years".to_owned(), "old".to_owned()], vec!["years".to_owned()]]);
        }
        for at in 1..words.len() {
            let is_power = matches!(words[at].as_str(), "square" | "cubic");
            if words[at - 1] == "in" && is_power && words.get(at + 1).is_some_and(is_measure) {
                units.push(words[at..at + 2].to_vec());
            }
            if words[at - 1] == "in" && is_measure(&words[at]) {
                let is_rate = words.get(at + 1).is_some_and(|word| word == "per") && at + 2 < words.len();
                units.push(words[at..if is_rate { at + 3 } else { at + 1 }].to_vec());
            }
        }
        if units.is_empty() {
            units.extend(only_measure(words, question).map(|unit| vec![unit]));
        }
    }
    units
}

/// How many of the words after `how many` name the counted thing.
fn noun(behind: &[String]) -> usize {
    behind.iter().position(|word| ENDING.contains(&word.as_str())).unwrap_or(behind.len()).min(3)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(question: &str, number: (&str, &str), expected: Option<&str>) {
        let asked = Asked::of(question, question);
        assert_eq!(asked.unit(number.0, number.1).as_deref(), expected, "{question}: {number:?}");
    }

    #[test]
    fn the_unit_asked_for_is_left_out() {
        for (question, behind) in [
            ("How many legs has a spider?", "legs"),
            ("How many legs has a spider?", "leg"),
            ("How many pizza slices are left?", "slices"),
            ("How many slices of pizza are left?", "slices of pizza"),
            ("How many minutes are in 8 hours?", "minutes"),
            ("How long, in minutes, does it take?", "minutes"),
            ("Wie viele Beine hat eine Spinne?", "Beine"),
            ("蜘蛛有多少条腿？", "条腿"),
            ("What percentage is red?", "%"),
            ("How many eggs in total are there?", "eggs in total"),
        ] {
            check(question, ("", behind), Some(""));
        }
        check("At $2 each, how much does she make every day?", ("$", "every day"), Some(""));
        check("At $2 each, how much does she make every day?", ("", "dollars per day"), Some(""));
    }

    #[test]
    fn any_other_unit_stays_with_the_number() {
        for (question, number, expected) in [
            ("How many legs has a spider?", ("", "eyes"), "eyes"),
            ("How many minutes are in 8 hours?", ("", "hours"), "hours"),
            ("How long does it take?", ("", "minutes"), "minutes"),
            ("How many apples for $6?", ("$", ""), "$"),
            ("What is the price?", ("$", ""), "$"),
            ("What is the price at $5?", ("", "euros"), "€"),
            ("What fraction is red?", ("", "%"), "%"),
            ("How many people live there?", ("", "million people"), "million people"),
            ("How many people live there?", ("", "million"), "million"),
            ("If $x$ apples cost $5$, how much does one cost?", ("$", ""), "$"),
            ("How much per day and per week at $2?", ("$", "per week"), "$ per week"),
            ("How much per day at $2?", ("$", "per week"), "$ per week"),
        ] {
            check(question, number, Some(expected));
        }
        for none in ["or 9", "(eight)", "!", "a, b", "> 3"] {
            check("How many legs has a spider?", ("", none), None);
        }
    }
}
