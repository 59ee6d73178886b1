//! What kind of answer a question asks for, told from its wording.

use super::Form;

/// Options a question may name: the letters there are.
const OPTIONS_MAX: usize = 26;
/// The longest option that is still one, in bytes; what is longer is a paragraph that begins with a letter.
const OPTION_BYTES_MAX: usize = 1_000;

/// Words that ask for yes or no.
const TRUTH: &[&str] = &[
    "yes or no",
    "yes/no",
    "true or false",
    "true/false",
    "ja oder nein",
    "wahr oder falsch",
    "oui ou non",
    "vrai ou faux",
    "sí o no",
    "verdadero o falso",
    "sì o no",
    "vero o falso",
    "sim ou não",
    "да или нет",
    "是或否",
    "是还是否",
    "はいかいいえ",
    "예 또는 아니오",
];

/// Words that ask for a number.
const NUMBER: &[&str] = &[
    "\\boxed",
    "####",
    "how many",
    "how much",
    "what percent",
    "as a number",
    "a single number",
    "only the number",
    "just the number",
    "numeric answer",
    "numerical answer",
    "calculate",
    "compute ",
    "wie viele",
    "wie viel",
    "wieviel",
    "berechne",
    "combien",
    "calculez",
    "cuántos",
    "cuántas",
    "cuánto",
    "calcula",
    "quanti",
    "quante",
    "quanto",
    "quantos",
    "quantas",
    "hoeveel",
    "сколько",
    "вычисли",
    "多少",
    "几个",
    "いくつ",
    "何個",
    "何人",
    "몇",
];

pub(super) fn form(question: &str) -> Option<Form> {
    if let Some(options) = options(question) {
        return Some(Form::Choice(options));
    }
    let question = question.to_lowercase();
    let asks = |words: &[&str]| words.iter().any(|word| question.contains(word));
    if asks(TRUTH) {
        return Some(Form::Truth);
    }
    (asks(NUMBER) || is_sum(&question)).then_some(Form::Number)
}

/// The options of a question that lists some: lines or pieces that begin with `A)`, `(A)`, `A.` or `A:`, in order.
fn options(question: &str) -> Option<Vec<(char, String)>> {
    let listed = in_order(question.lines().filter_map(option));
    let inline = || in_order(question.split('(').skip(1).filter_map(bracketed));
    Some(listed)
        .filter(|options| options.len() > 1)
        .or_else(|| Some(inline()).filter(|options| options.len() > 1))
}

/// Those that go on with the alphabet from `A`.
fn in_order(options: impl Iterator<Item = (char, String)>) -> Vec<(char, String)> {
    let mut found = Vec::new();
    for (label, text) in options {
        if label as usize == 'A' as usize + found.len() && found.len() < OPTIONS_MAX {
            found.push((label, text));
        }
    }
    found
}

fn option(line: &str) -> Option<(char, String)> {
    let line = line.trim_start().trim_start_matches(['-', '*', '•', '(', '[', ' ']);
    let label = line.chars().next().filter(char::is_ascii_alphabetic)?;
    let text = line[1..].trim_start_matches('*').strip_prefix([')', '.', ':', ']'])?;
    let text = text.trim_start_matches('*');
    (text.starts_with(char::is_whitespace) && !text.trim().is_empty() && text.len() <= OPTION_BYTES_MAX)
        .then(|| (label.to_ascii_uppercase(), text.trim().to_owned()))
}

/// `A) Paris ` of a line that was split at each bracket.
fn bracketed(piece: &str) -> Option<(char, String)> {
    let label = piece.chars().next().filter(char::is_ascii_alphabetic)?;
    let text = piece[1..].strip_prefix(')')?.lines().next()?.trim().trim_end_matches([',', ';']);
    (!text.is_empty() && text.len() <= OPTION_BYTES_MAX)
        .then(|| (label.to_ascii_uppercase(), text.to_owned()))
}

/// A question such as `what is 12 * 7?`: nothing but numbers and signs behind its first words.
fn is_sum(question: &str) -> bool {
    let sum = question.trim().trim_end_matches(['?', '=', ' ', '.']);
    let sum = sum.strip_prefix("what is").or_else(|| sum.strip_prefix("what's")).unwrap_or(sum);
    let is_part = |one: char| one.is_ascii_digit() || " +-*/×÷−·^().,%".contains(one);
    sum.chars().all(is_part)
        && sum.contains(|one: char| one.is_ascii_digit())
        && sum.contains(['+', '*', '/', '×', '÷', '^', '-', '−'])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(question: &str) -> Option<String> {
        match form(question)? {
            Form::Choice(options) => {
                let options = options.iter().map(|(label, text)| format!("{label}={text};"));
                Some(options.collect::<Vec<_>>().concat())
            }
            Form::Number => Some("number".to_owned()),
            Form::Truth => Some("truth".to_owned()),
        }
    }

    fn check(question: &str, expected: Option<&str>) {
        assert_eq!(labels(question).as_deref(), expected, "{question}");
    }

    #[test]
    fn a_list_of_options_asks_for_one_of_them() {
        check("Capital of France?\nA) Paris\nB) Rome\nC) Bern", Some("A=Paris;B=Rome;C=Bern;"));
        check("Which?\n- (a) one\n- (b) two", Some("A=one;B=two;"));
        check("Which?\n**A.** one\n**B.** two", Some("A=one;B=two;"));
        check("Which is it: (A) red, (B) green or (C) blue?", Some("A=red;B=green or;C=blue?;"));
        check("法国的首都是？\nA. 巴黎\nB. 罗马", Some("A=巴黎;B=罗马;"));
    }

    #[test]
    fn a_number_or_a_yes_is_asked_for_in_words() {
        check("How many legs has a spider?", Some("number"));
        check("What is 12 * 7?", Some("number"));
        check("Wie viele Beine hat eine Spinne?", Some("number"));
        check("蜘蛛有多少条腿？", Some("number"));
        check("Is 7 prime? Answer yes or no.", Some("truth"));
    }

    #[test]
    fn everything_else_is_open() {
        check("Which is safer, and why?", None);
        check("Explain the tides.", None);
        check("What is 2026-11-20 famous for?", None);
        check("A. is the first letter", None);
        check("", None);
    }
}
