//! Checks that the text before a `\boxed{}` does not change its value.

use super::number;
use super::words::words;

/// Beginnings of formulas, and signs between their steps.
const OPENING: &[&str] = &[
    "\\(",
    "\\[",
    "\\displaystyle",
    "\\quad",
    "\\qquad",
    "\\,",
    "\\implies",
    "\\Rightarrow",
    "\\rightarrow",
    "\\Longrightarrow",
    "\\therefore",
];
/// Words that change the number after them.
const FUNCTIONS: &[&str] =
    &["log", "ln", "sin", "cos", "tan", "cot", "sec", "sqrt", "exp", "max", "min", "mod", "lim"];
/// Words right before a box, optionally with `of`, `by` or `to`, that change its number or make it no answer.
const CHANGING: &[&str] = &[
    "minus",
    "negative",
    "plus",
    "times",
    "twice",
    "thrice",
    "double",
    "triple",
    "half",
    "third",
    "quarter",
    "tenth",
    "square",
    "cube",
    "root",
    "logarithm",
    "factorial",
    "multiple",
    "divisor",
    "inverse",
    "reciprocal",
    "opposite",
    "dozen",
    "hundred",
    "thousand",
    "million",
    "from",
    "unlike",
    "like",
    "up",
    "off",
    "short",
    "subtract",
    "remove",
    "add",
    "divisible",
    "divided",
    "multiplied",
    "increased",
    "decreased",
    "reduced",
    "base",
    "mod",
    "modulo",
    "step",
    "problem",
    "exercise",
    "question",
    "page",
    "equation",
    "versus",
    "vs",
];

/// The text up to its closing brace.
pub(super) fn closed(text: &str) -> Option<&str> {
    let (mut depth, mut is_escaped) = (1, false);
    for (at, one) in text.char_indices() {
        depth += match one {
            '{' if !is_escaped => 1,
            '}' if !is_escaped => -1,
            _ => 0,
        };
        is_escaped = one == '\\' && !is_escaped;
        if depth == 0 {
            return Some(&text[..at]);
        }
    }
    None
}

/// Whether the words right before a box change its number (`half of`) or make it no answer (`step`).
pub(super) fn is_changed(lead: &str) -> bool {
    let all: Vec<String> = words(lead).collect();
    let is_of = all.last().is_some_and(|last| matches!(last.as_str(), "of" | "by" | "to"));
    let last = all[..all.len() - usize::from(is_of)].last();
    last.is_some_and(|last| CHANGING.contains(&last.as_str()))
}

/// Whether the text right before a box keeps its value: words, an equals sign, or nothing.
pub(super) fn leads_to_box(lead: &str) -> bool {
    let is_between = |one: char| one.is_whitespace() || matches!(one, '$' | '*' | '_');
    let mut bare = lead.trim_end_matches(is_between);
    while let Some(opened) = OPENING.iter().find_map(|open| bare.strip_suffix(open)) {
        bare = opened.trim_end_matches(is_between);
    }
    let Some(last) = bare.chars().next_back() else { return true };
    let word = bare.rsplit(|one: char| !one.is_alphabetic()).next().unwrap_or_default();
    let is_command = bare[..bare.len() - word.len()].ends_with('\\');
    // `x\boxed{5}` is a product, and `\log\boxed{5}` is another number.
    let is_word = word.chars().count() > 1 || !word.is_ascii() || matches!(word, "a" | "I");
    if last.is_alphabetic() {
        return is_word && !is_command && bare.len() < lead.len() && !FUNCTIONS.contains(&word);
    }
    // `1,\boxed{000}` is one number.
    let is_within = matches!(last, '.' | ',')
        && bare.len() == lead.len()
        && bare[..bare.len() - 1].ends_with(number::is_digit);
    matches!(last, '=' | ':' | '：' | ',' | '，' | '。' | '.') && !is_within
}

/// The formula at the end of a text, up to its first equals sign.
pub(super) fn equated(lead: &str) -> Option<&str> {
    let bare = lead.trim_end_matches([' ', '$', '*']).strip_suffix('=')?;
    let is_word = |word: &str| word.chars().count() > 1 && word.chars().all(char::is_alphabetic);
    let is_break = |(at, one): &(usize, char)| {
        matches!(one, '$' | ':' | ';' | ',' | '\n')
            || *one == ' ' && is_word(bare[..*at].rsplit(' ').next().unwrap_or_default())
    };
    let from = bare.char_indices().rev().find(is_break).map_or(0, |(at, one)| at + one.len_utf8());
    bare[from..].split('=').next().map(str::trim)
}

/// Whether a formula changes its only variable, as in `2x`, `x^2` and `|x|`, but not in `x_1` or `f(3)`.
pub(super) fn is_of_a_letter(formula: &str) -> bool {
    let mut letters: Vec<&str> = formula.split(|one: char| !(one.is_alphabetic() || one == '\\')).collect();
    letters.retain(|word| !word.is_empty() && !word.starts_with('\\'));
    letters.sort_unstable();
    letters.dedup();
    let [letter] = letters.as_slice() else { return false };
    let behind = formula.strip_prefix(letter).map(|behind| behind.replace(['\'', '′', '{', '}', ' '], ""));
    let is_index = |behind: &str| behind.chars().all(char::is_alphanumeric);
    let is_name = behind.is_some_and(|behind| {
        let index = behind.strip_prefix('_').or_else(|| behind.strip_prefix('(')?.strip_suffix(')'));
        is_index(index.unwrap_or(&behind)) && (index.is_some() || behind.is_empty())
    });
    letter.chars().count() == 1 && !is_name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_formula_of_a_variable_differs_from_the_variable() {
        for (lead, formula, is_other) in [
            ("so $x = ", "x", false),
            ("so $2x = ", "2x", true),
            ("we get x^2 + 1 = 4 + 1 = ", "x^2 + 1", true),
            ("|x| = ", "|x|", true),
            ("\\sqrt{x} = ", "\\sqrt{x}", true),
            ("f(3) = ", "f(3)", false),
            ("a_{10} = ", "a_{10}", false),
            ("a + b = ", "a + b", false),
            ("3 + 4 = ", "3 + 4", false),
            ("the total cost = ", "", false),
        ] {
            assert_eq!(
                equated(lead).map(|found| (found, is_of_a_letter(found))),
                Some((formula, is_other)),
                "{lead}"
            );
        }
        assert_eq!(equated("the total is "), None);
    }
}
