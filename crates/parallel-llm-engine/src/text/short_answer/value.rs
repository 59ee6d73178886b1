//! Reads the value of a whole piece of text.
//!
//! Invariant: no part of a piece is skipped. Each part belongs to the value or makes the piece unreadable.

use std::borrow::Cow;

use super::Value;
use super::asked::Asked;
use super::words::{is_same, words};
use super::{literal, number};

/// Currency signs before an amount.
const CURRENCIES: [char; 6] = ['$', '€', '£', '¥', '₹', '₩'];
/// Sentence endings of Japanese and Korean.
const COPULAS: [&str; 6] = ["です", "である", "だ", "입니다", "이에요", "이다"];
/// The longest piece that is read, in bytes.
const PIECE_BYTES_MAX: usize = 400;

/// Words for yes and no.
pub(super) const YES: &[&str] = &[
    "yes",
    "ja",
    "oui",
    "sí",
    "sì",
    "sim",
    "да",
    "是",
    "是的",
    "はい",
    "예",
    "네",
    "ใช่",
    "ndiyo",
    "হ্যাঁ",
    "అవును",
];
pub(super) const NO: &[&str] = &[
    "no",
    "nein",
    "non",
    "não",
    "нет",
    "否",
    "不是",
    "いいえ",
    "아니오",
    "아니요",
    "ไม่ใช่",
    "hapana",
    "না",
    "కాదు",
];
/// Words for true and false.
pub(super) const TRUE: &[&str] =
    &["true", "wahr", "vrai", "verdadero", "vero", "verdadeiro", "верно", "对", "正确"];
pub(super) const FALSE: &[&str] = &["false", "falsch", "faux", "falso", "неверно", "错", "错误"];

/// Reads a piece that is a number with a unit.
pub(super) fn quantity(piece: &str, asked: &Asked, is_formula: bool) -> Option<Value> {
    let text = literal::formula(&without_dollars(sentence(piece)))?;
    let text = text
        .rsplit_once('=')
        .map_or(&*text, |(before, after)| if before.split('=').all(is_sum) { after.trim() } else { "" });
    let (text, is_negative) = text.strip_prefix(['-', '−']).map_or((text, false), |rest| (rest, true));
    let sign = text
        .chars()
        .next()
        .filter(|first| CURRENCIES.contains(first))
        .map_or("", |first| &text[..first.len_utf8()]);
    let amount = &text[sign.len()..];
    // A minus stands before or after the currency sign, once.
    if amount.starts_with(['-', '−']) && (is_negative || sign.is_empty()) {
        return None;
    }
    let (number, behind) = number::leading(amount)?;
    if asked.has_decimal_comma && number::may_be_grouped(&amount[..amount.len() - behind.len()]) {
        return None;
    }
    if asked.is_written && !number.is_written_as(&amount[..amount.len() - behind.len()]) {
        return None;
    }
    let number = if is_negative { number.negative() } else { number };
    let unit = asked.unit(sign, &plain_unit(behind, is_formula || literal::is_formula(piece))?)?;
    Some(Value::Number(number, Some(unit).filter(|unit| !unit.is_empty())))
}

/// Turns `$7$ apples` into `7 apples`.
fn without_dollars(piece: &str) -> Cow<'_, str> {
    let inside = piece.strip_prefix('$').and_then(|rest| rest.split_once('$'));
    let is_number = |text: &str| number::leading(text).is_some_and(|(_, rest)| rest.is_empty());
    match inside.filter(|(number, unit)| is_number(number) && unit.starts_with(' ')) {
        Some((number, unit)) => Cow::Owned([number, unit].concat()),
        None => Cow::Borrowed(piece),
    }
}

/// A piece without its final mark and surrounding marks.
pub(super) fn sentence(piece: &str) -> &str {
    let mut text = piece;
    loop {
        let inside = literal::unwrapped(text);
        // `0.333...` goes on.
        if inside.ends_with("..") {
            return inside;
        }
        let bare = inside.trim_end_matches(['.', '。', '।', '．']);
        let bare = COPULAS.iter().find_map(|copula| bare.strip_suffix(copula)).unwrap_or(bare).trim();
        // `**Answer: 8**` leaves the end of its emphasis.
        let is_odd = bare.matches("**").count() % 2 == 1;
        let bare = bare.strip_suffix("**").filter(|_| is_odd).unwrap_or(bare);
        if bare == text || piece.ends_with("...") {
            return text;
        }
        text = bare;
    }
}

/// Whether a text has only numbers and arithmetic signs.
pub(super) fn is_sum(text: &str) -> bool {
    let plain = ["\\times", "\\cdot", "\\div", "\\frac"]
        .iter()
        .fold(text.to_owned(), |plain, sign| plain.replace(sign, "*"));
    let is_part = |one: char| number::is_digit(one) || " .,+-−–*/×÷·x()$%{}€£".contains(one);
    // `2 x 3` is a product, but `2x` is not.
    let is_product = |(at, _): (usize, &str)| {
        plain[at + 1..]
            .trim_start()
            .starts_with(|one: char| number::is_digit(one) || matches!(one, '$' | '(' | '€' | '£'))
            && plain[..at]
                .trim_end()
                .ends_with(|one: char| number::is_digit(one) || matches!(one, ')' | '%' | '$'))
    };
    plain.contains(number::is_digit) && plain.chars().all(is_part) && plain.match_indices('x').all(is_product)
}

/// The unit after a number as words. In a formula it must be a `\text{}`, because letters are variables there.
fn plain_unit(behind: &str, is_formula: bool) -> Option<String> {
    let behind = behind.trim();
    let text = ["\\text{", "\\mathrm{", "\\textrm{"].iter().find_map(|open| behind.strip_prefix(open));
    if let Some(text) = text {
        let (unit, rest) = text.split_once('}')?;
        let is_power = matches!(rest, "" | "^2" | "^3");
        return is_power.then(|| [unit.trim(), rest].concat());
    }
    let is_sign = |one: char| matches!(one, '%' | '°');
    let is_variable = is_formula
        && behind.split_whitespace().any(|word| word.chars().count() < 3 && !word.contains(is_sign));
    (!is_variable).then(|| behind.to_owned())
}

/// The label of a piece: alone, with the text of its option, or by that text.
pub(super) fn choice(piece: &str, options: &[(char, String)]) -> Option<char> {
    let opens = ["\\textbf{", "\\text{", "\\mathrm{", "\\mathbf{", "\\textrm{"];
    let without = |plain: String, open: &&str| {
        if plain.contains(open) { plain.replace(open, "").replace('}', " ") } else { plain }
    };
    let plain = opens.iter().fold(piece.to_owned(), without);
    let bare = sentence(&plain);
    let bare = ["the correct answer is ", "the correct option is ", "option ", "choice ", "answer "]
        .iter()
        .find_map(|lead| {
            bare.get(..lead.len())
                .filter(|found| found.eq_ignore_ascii_case(lead))
                .map(|_| &bare[lead.len()..])
        })
        .unwrap_or(bare);
    let bare = sentence(bare);
    let named = named(bare, options);
    let same = of_text(bare, options);
    match (named, same) {
        // A label that is also the text of another option is ambiguous.
        (Some(named), Some(same)) if named != same => None,
        (named, same) => named.or(same),
    }
}

/// The label at the beginning of a text, if only the text of its option follows.
fn named(text: &str, options: &[(char, String)]) -> Option<char> {
    let (open, text) = match text.chars().next()? {
        one @ ('(' | '[' | '{') => (Some(one), &text[1..]),
        _ => (None, text),
    };
    let text = text.strip_prefix("**").unwrap_or(text);
    let first = text.chars().next().filter(char::is_ascii_alphabetic)?;
    let label = first.to_ascii_uppercase();
    let own = &options.iter().find(|(known, _)| *known == label)?.1;
    let close = open.map(|open| match open {
        '(' => ')',
        '[' => ']',
        _ => '}',
    });
    let rest = match close {
        Some(close) => text[1..].trim_start_matches("**").strip_prefix(close)?,
        None => text[1..].trim_start_matches("**"),
    };
    let rest = literal::unwrapped(rest.trim_start_matches("**"));
    if rest.is_empty() || rest == "**" {
        return Some(label);
    }
    // `A dog` is no label, `a) one` is.
    let behind = rest.strip_prefix([')', '.', ':', ',', ']', '-', '–', '—']).or(close.map(|_| rest))?;
    let behind = sentence(behind.trim_start_matches([')', ']', ':', '.', '*', ' ']));
    (behind.is_empty() || is_text(behind, own)).then_some(label)
}

/// Whether a text equals that of an option, except for its final mark and case.
fn is_text(text: &str, own: &str) -> bool {
    let (text, own) = (sentence(text), sentence(own));
    text == own || text.to_lowercase() == own.to_lowercase()
}

/// The option with this text: exactly, or ignoring case if no other matches.
fn of_text(text: &str, options: &[(char, String)]) -> Option<char> {
    let exact = options.iter().filter(|(_, own)| sentence(own) == text).collect::<Vec<_>>();
    let alike = options.iter().filter(|(_, own)| is_text(text, own)).collect::<Vec<_>>();
    match (exact.as_slice(), alike.as_slice()) {
        ([only], _) | ([], [only]) => Some(only.0),
        _ => None,
    }
}

/// Reads a piece as yes or no by these words: the word alone, or with a clause that repeats it.
pub(super) fn truth(piece: &str, words: [&[&str]; 2], asked: &[String]) -> Option<bool> {
    let bare = sentence(piece.trim());
    if bare.len() > PIECE_BYTES_MAX {
        return None;
    }
    let lower = bare.to_lowercase();
    let mut ends = lower.splitn(2, [',', '.', ':', '，', '、', '。', '\n', '–', '—']);
    let first = ends.next().unwrap_or_default().trim().trim_matches(['*', '"', '`', '\'', '_', '!']).trim();
    let is_first = |words: &[&str]| words.contains(&first);
    let truth = match words.map(is_first) {
        [true, false] => true,
        [false, true] => false,
        _ => return None,
    };
    let clause = ends.next().unwrap_or_default().trim();
    let is_same = clause.is_empty() || (clause.is_ascii() && repeats_question(clause, truth, asked));
    is_same.then_some(truth)
}

/// Whether a clause after yes or no repeats it in the words and order of the question: `it is prime`, `it isn't`.
fn repeats_question(clause: &str, truth: bool, asked: &[String]) -> bool {
    let is_not = |word: &str| word == "not" || word.ends_with("n't");
    let clause_words: Vec<String> = words(clause).collect();
    let begins = clause_words.first().is_some_and(|word| SUBJECTS.contains(&word.as_str()));
    let negations = clause_words.iter().filter(|word| is_not(word)).count();
    let own = clause_words.iter().skip(1).filter(|word| !is_not(word) && !VERBS.contains(&word.as_str()));
    // `Brazil beat Italy` and `Italy beat Brazil` have the same words.
    let mut rest = asked.iter();
    let is_in_order = own.into_iter().all(|word| rest.any(|other| is_same(other, word)));
    let is_one = !clause.trim_end_matches('.').contains(['.', ';', ':', '?', '!', '\n']);
    begins && is_one && negations == usize::from(!truth) && is_in_order
}

/// Words that refer to the subject of a question or repeat the affirmation.
const SUBJECTS: &[&str] = &["it", "that", "this", "they", "there", "he", "she"];
const VERBS: &[&str] =
    &["is", "are", "was", "were", "does", "do", "did", "will", "can", "has", "have", "had", "so", "a", "an"];

#[cfg(test)]
mod tests {
    use super::*;

    fn number(piece: &str) -> Option<String> {
        quantity(piece, &Asked::default(), false).map(|value| value.to_string())
    }

    #[test]
    fn a_text_that_is_only_a_number_is_one() {
        for (piece, expected) in [
            ("8", "8"),
            ("**8**.", "8"),
            ("$8$", "8"),
            ("\\(8\\)", "8"),
            ("8 legs.", "8 legs"),
            ("$1,234.50", "$1234.5"),
            ("-$7", "$-7"),
            ("\\$18", "$18"),
            ("18 dollars", "$18"),
            ("50\\%", "50 %"),
            ("5 million", "5 million"),
            ("5k", "5 k"),
            ("5th", "5 th"),
            ("\\dfrac{1}{2}", "0.5"),
            ("30^\\circ", "30 °"),
            ("5\\text{ cm}^2", "5 cm^2"),
            ("9 * 2 = 18", "18"),
            ("$4 \\times 2 = 8$", "8"),
            ("11です", "11"),
            ("8**", "8"),
        ] {
            assert_eq!(number(piece).as_deref(), Some(expected), "{piece}");
        }
    }

    #[test]
    fn a_thousands_separator_is_read_only_for_a_question_in_english() {
        for question in ["How many are there?", "Wie viele sind es?"] {
            let asked = Asked::of(question, question);
            let is_read = |piece: &str| quantity(piece, &asked, false).is_some();
            let is_english = question.starts_with("How");
            assert_eq!([is_read("1,250"), is_read("1.250")], [is_english; 2], "{question}");
            assert!(is_read("1250") && is_read("0.125") && is_read("1.25"), "{question}");
        }
    }

    #[test]
    fn anything_that_changes_a_number_changes_the_value() {
        for piece in [
            "\\sqrt{3}",
            "6\\pi",
            "x^2",
            "5!",
            "\\log 5",
            "(1,2)",
            "1,2",
            "x > 3",
            "x = 3",
            "at least 8",
            "about 8",
            "not 8",
            "(eight) 8",
            "3 mod 7",
            "0x10",
            "3+4i",
            "[1, 2]",
            "{1, 2}",
            "3:4",
            "12:30",
            "2026-11-22",
            "1/2/2026",
            "10^5",
            "10⁵",
            "5 \\pm 1",
            "±5",
            "+5",
            "8?",
            "8...",
            "0.333...",
            "\\infty",
            "$5x$",
            "$5m$",
            "101_2",
            "≈ 8",
            "3 < 8",
            "\\binom{5}{2}",
            "8 (eight)",
            "3-5",
            "3–5",
            "5′",
            "½",
            "2½",
            "8 hours 30 minutes",
            "--5",
            "$-$5",
        ] {
            assert_eq!(number(piece), None, "{piece}");
        }
    }
}
