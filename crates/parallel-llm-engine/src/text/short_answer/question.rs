//! Recognizes from the wording of a question which form of answer it asks for.

use super::asked::Asked;
use super::value::{FALSE, NO, TRUE, YES};
use super::words::{turns, words};
use super::written::{NAMES, is_code, is_written};
use super::{Form, Words};

/// The longest question that may ask for a short answer, in bytes. It is read word by word for each sentence of an answer, and
/// a longer one is a document with a question somewhere in it: answers to it are compared letter by letter.
const QUESTION_BYTES_MAX: usize = 64 * 1024;
/// Options a question may name: the letters there are.
const OPTIONS_MAX: usize = 26;
/// The longest option that is still one, in bytes; what is longer is a paragraph that begins with a letter.
const OPTION_BYTES_MAX: usize = 1_000;

/// Words that ask for yes or no.
const TRUTH: &[&str] = &[
    "yes or no",
    "yes/no",
    "ja oder nein",
    "oui ou non",
    "sí o no",
    "sì o no",
    "sim ou não",
    "да или нет",
    "是或否",
    "是还是否",
    "はいかいいえ",
    "예 또는 아니오",
];

/// Words that ask for true or false.
const TRUE_OR_FALSE: &[&str] = &[
    "true or false",
    "true/false",
    "wahr oder falsch",
    "vrai ou faux",
    "verdadero o falso",
    "vero o falso",
    "verdadeiro ou falso",
];

/// Words that ask for a number at the beginning of a sentence.
const NUMBER: &[&str] = &[
    "how many",
    "how much",
    "how long",
    "how far",
    "how old",
    "how tall",
    "how fast",
    "how wide",
    "how deep",
    "how high",
    "how heavy",
    "how big",
    "what percent",
    "what fraction",
    "what number",
    "what total",
    "at what",
    "calculate",
    "compute ",
    "evaluate",
    "as a number",
    "a single number",
    "only the number",
    "just the number",
    "numeric answer",
    "numerical answer",
    "wie viele",
    "wie viel",
    "wieviel",
    "wie lange",
    "wie weit",
    "wie alt",
    "berechne",
    "combien",
    "calculez",
    "cuántos",
    "cuántas",
    "cuánto",
    "cuánta",
    "calcula",
    "quanti ",
    "quante ",
    "quanto",
    "quantos",
    "quantas",
    "hoeveel",
    "сколько",
    "вычисли",
    "多少",
    "几个",
    "几",
    "いくつ",
    "いくら",
    "何個",
    "何人",
    "何",
    "몇",
    "얼마",
    "กี่",
    "เท่าไร",
    "เท่าไหร่",
    "ngapi",
    "kiasi gani",
    "কত",
    "কয়",
    "ఎన్ని",
    "ఎంత",
];
/// Quantities that a question may ask to find.
const QUANTITIES: &[&str] = &[
    "total",
    "sum",
    "number",
    "average",
    "mean",
    "median",
    "mode",
    "difference",
    "product",
    "probability",
    "area",
    "volume",
    "perimeter",
    "circumference",
    "length",
    "width",
    "height",
    "distance",
    "cost",
    "price",
    "percent",
    "percentage",
    "fraction",
    "remainder",
    "age",
    "weight",
    "speed",
    "profit",
    "value",
    "measure",
    "degree",
    "radius",
    "diameter",
    "slope",
    "coefficient",
    "determinant",
    "rate",
    "amount",
    "combined",
    "maximum",
    "minimum",
    "greatest",
    "smallest",
    "largest",
    "least",
    "ratio",
    "constant",
    "sales",
    "income",
    "salary",
    "temperature",
    "bill",
    "fee",
    "payment",
    "pay",
    "tax",
    "discount",
    "balance",
    "earnings",
    "savings",
    "revenue",
    "expenses",
];
/// Phrases that ask for a marked answer.
const MARKED: &[&str] = &[
    "\\boxed",
    "####",
    "\"answer\":",
    "\"answer\" :",
    "\"final_answer\":",
    "`answer` field",
    "\"answer\" field",
];
/// Phrases that ask for an answer line with a given beginning, by language.
const LINES: &[&str] = &[
    "\"answer:\"",
    "'answer:'",
    "`answer:`",
    "\"antwort:\"",
    "\"respuesta:\"",
    "\"réponse:\"",
    "\"ответ:\"",
    "\"答案:\"",
    "\"答え:\"",
    "\"คำตอบ:\"",
    "\"jibu:\"",
    "\"উত্তর:\"",
    "\"సమాధానం:\"",
    "answer: ",
    "the answer is x",
    "\"the answer is",
];

/// Words that ask for more than a short answer, anywhere in the question.
const OPEN: &[&str] = &[
    "explain why",
    "explain how",
    "explain what",
    "describe",
    "discuss",
    "essay",
    "pros and cons",
    "trade-off",
    "tradeoff",
    "recommend",
    "advise",
    "advice",
    "suggest",
    "summar",
    "compare",
    "compose",
    "write a ",
    "write an ",
    "draft ",
    "in your opinion",
    "what do you think",
    "should i",
    "should we",
    "should they",
    "should one",
    "should it",
    "give examples",
    "give an example",
    "list the",
    "list all",
    "list three",
    "name three",
    "how do ",
    "how does ",
    "how can ",
    "how should ",
    "how would ",
    "why ",
    "tell me about",
    "justify why",
    "what are the risks",
    "refactor",
    "implement",
    "translate",
    "rewrite",
    "outline",
];
/// Words that begin another question after `and`.
const SECOND: &[&str] = &[
    "should", "why", "what", "how", "which", "who", "whom", "when", "where", "is", "are", "was", "were",
    "do", "does", "did", "can", "could", "would", "will", "explain", "describe", "list", "name", "give",
    "justify", "say", "tell", "warum", "was", "wie", "welche", "soll", "sollen", "pourquoi", "comment",
    "quel", "quelle", "por", "cómo", "qué",
];

pub(super) fn form(question: &str) -> Option<Form> {
    if question.len() > QUESTION_BYTES_MAX {
        return None;
    }
    let lower = question.to_lowercase();
    let has = |words: &[&str]| words.iter().any(|word| lower.contains(word));
    let is_json = lower.contains("json") && has(&["\"answer\"", "`answer`", "final_answer", "final answer"]);
    let is_marked = is_json || has(MARKED) || has(LINES);
    if let Some(options) = options(question) {
        let texts: String = options.iter().map(|(_, text)| text.as_str()).collect();
        let asks = marks_of_question(question).saturating_sub(marks_of_question(&texts));
        return (asks <= 1 || is_marked).then_some(Form::Choice(options));
    }
    let asking = asking(question);
    // `How many pages does he write a year?` does not ask to write.
    let premise = question.replace(asking, "").to_lowercase();
    let counts =
        ["how many", "how much"].iter().any(|how| asking.to_lowercase().trim_start().starts_with(how));
    let is_wanted = |word: &&str| {
        let text = if counts && word.starts_with("write") { &premise } else { &lower };
        text.contains(*word)
    };
    let is_open =
        !is_marked && (marks_of_question(question) > 1 || OPEN.iter().any(is_wanted) || has_second(asking));
    if is_open {
        return None;
    }
    match [has(TRUTH), has(TRUE_OR_FALSE)] {
        [true, false] => return Some(Form::Truth { words: Words::YesNo, asked: plain_words(question) }),
        [false, true] => {
            return Some(Form::Truth { words: Words::TrueFalse, asked: plain_words(question) });
        }
        [true, true] => return None,
        [false, false] => {}
    }
    if asks_for_number(asking)
        || is_sum(&lower)
        || lower.contains("\\boxed")
        || lower.contains("####")
        || is_marked && lower.contains("integer")
    {
        let mut asked = Asked::of(asking, question);
        asked.is_written = is_written(asking, &lower, asks_for_number(asking) || is_sum(&lower));
        asked.is_code = is_code(&lower);
        return Some(Form::Number(Box::new(asked)));
    }
    (is_marked || is_exercise(&lower)).then_some(Form::Literal)
}

/// The words of a question that neither negate nor answer it.
fn plain_words(question: &str) -> Vec<String> {
    let is_answer = |word: &String| [YES, NO, TRUE, FALSE].iter().any(|all| all.contains(&word.as_str()));
    words(question).filter(|word| !turns(word) && !is_answer(word)).collect()
}

/// Whether a question asks to evaluate a formula.
fn is_exercise(lower: &str) -> bool {
    let begins = [
        "find ",
        "factor ",
        "solve ",
        "simplify ",
        "expand ",
        "express ",
        "determine ",
        "evaluate ",
        "convert ",
    ];
    begins.iter().any(|begin| lower.trim_start().starts_with(begin))
        && (lower.matches('$').count() > 1 || lower.contains("\\("))
}

/// How many questions a text asks, by their marks.
fn marks_of_question(text: &str) -> usize {
    text.split(['?', '？', '؟']).count() - 1
}

/// The asking sentence of a question: the last with a question mark, else the last that begins with an instruction, else all of
/// it.
fn asking(question: &str) -> &str {
    let sentences = || sentences(question).map(str::trim).filter(|sentence| !sentence.is_empty());
    sentences()
        .filter(|sentence| sentence.ends_with(['?', '？', '؟']))
        .last()
        .or_else(|| sentences().filter(|sentence| asks_for_number(sentence)).last())
        .unwrap_or(question)
}

/// The sentences of a text, each with the mark that ends it.
fn sentences(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        (!rest.is_empty()).then_some(())?;
        let ends = rest.char_indices().find(|(at, one)| {
            let behind = &rest[at + one.len_utf8()..];
            match one {
                '.' | '!' => behind.is_empty() || behind.starts_with(char::is_whitespace),
                '?' | '？' | '؟' | '。' | '！' | '।' => true,
                '\n' => behind.starts_with('\n'),
                _ => false,
            }
        });
        let end = ends.map_or(rest.len(), |(at, one)| at + one.len_utf8());
        let (sentence, after) = rest.split_at(end);
        rest = after;
        Some(sentence)
    })
}

/// Whether a sentence asks for a number. A number that is a name, such as a version, is compared letter by letter.
fn asks_for_number(sentence: &str) -> bool {
    let lower = sentence.to_lowercase();
    let is_counted = lower.contains("how many") || lower.contains("how much");
    if !is_counted && words(sentence).any(|word| NAMES.contains(&word.as_str())) {
        return false;
    }
    let is_asked = |word: &&&str| {
        lower.match_indices(**word).any(|(at, _)| {
            let before = lower[..at].chars().next_back();
            !word.is_ascii() || **word == "ngapi" || before.is_none_or(|one| !one.is_alphanumeric())
        })
    };
    if NUMBER.iter().any(|word| is_asked(&word)) {
        return true;
    }
    let words: Vec<String> = words(sentence).collect();
    let is_verb =
        |word: &String| matches!(word.as_str(), "is" | "are" | "was" | "were" | "will" | "would" | "could");
    let begins = words.iter().zip(1..).position(|(word, next)| match word.as_str() {
        "what" => words.get(next).is_some_and(|word| is_verb(word) || QUANTITIES.contains(&word.as_str())),
        "what's" | "what’s" | "find" | "determine" => true,
        _ => false,
    });
    // `what is the total`, `find the positive value`, and not `what made the number famous`.
    begins.is_some_and(|begin| {
        let mut behind = words[begin + 1..].iter().take(7).take_while(|word| *word != "of");
        behind.any(|word| QUANTITIES.contains(&word.as_str()))
    })
}

/// Whether a sentence continues with another question.
fn has_second(sentence: &str) -> bool {
    let words: Vec<String> = words(sentence).collect();
    words.windows(2).any(|two| {
        matches!(two[0].as_str(), "and" | "und" | "et" | "y" | "or" | "but" | "then")
            && SECOND.contains(&two[1].as_str())
    })
}

/// The options of a question: lines or pieces that begin with `A)`, `(A)`, `A.` or `A:`, in order.
fn options(question: &str) -> Option<Vec<(char, String)>> {
    let listed = in_order(question.lines().filter_map(option));
    let inline = || in_order(question.split('(').skip(1).filter_map(bracketed));
    Some(listed)
        .filter(|options| options.len() > 1)
        .or_else(|| Some(inline()).filter(|options| options.len() > 1))
}

/// The options whose labels follow the alphabet from `A`.
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

/// Reads an option such as `A) Paris ` from a line split at each bracket.
fn bracketed(piece: &str) -> Option<(char, String)> {
    let label = piece.chars().next().filter(char::is_ascii_alphabetic)?;
    let text = piece[1..].strip_prefix(')')?.lines().next()?.trim().trim_end_matches([',', ';']);
    let text = [" or", " and", "?", "."]
        .iter()
        .fold(text, |text, end| text.strip_suffix(end).unwrap_or(text))
        .trim_end_matches(',');
    (!text.is_empty() && text.len() <= OPTION_BYTES_MAX)
        .then(|| (label.to_ascii_uppercase(), text.to_owned()))
}

/// Whether a question is a calculation such as `what is 12 * 7?`: only numbers and signs after its first words.
fn is_sum(question: &str) -> bool {
    let sum = question.trim().trim_end_matches(['?', '=', ' ', '.']);
    let sum = sum.strip_prefix("what is").or_else(|| sum.strip_prefix("what's")).unwrap_or(sum);
    let sum = sum.replace("% of ", "%*");
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
            Form::Number(_) => Some("number".to_owned()),
            Form::Truth { .. } => Some("truth".to_owned()),
            Form::Literal => Some("literal".to_owned()),
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
        check("Which is it: (A) red, (B) green or (C) blue?", Some("A=red;B=green;C=blue;"));
        check("法国的首都是？\nA. 巴黎\nB. 罗马", Some("A=巴黎;B=罗马;"));
    }

    #[test]
    fn questions_for_a_number_or_for_yes_or_no_are_recognised() {
        check("How many legs has a spider?", Some("number"));
        check("What is 12 * 7?", Some("number"));
        check("Wie viele Beine hat eine Spinne?", Some("number"));
        check("蜘蛛有多少条腿？", Some("number"));
        check("Is 7 prime? Answer yes or no.", Some("truth"));
        for question in [
            "Tom has 3 apples. He buys 5 more. What is the total number of apples?",
            "How far did he walk?",
            "How old is Ann in 5 years?",
            "What fraction of the cake is left?",
            "What is the sum of the digits of 2^10?",
            "Find the area of the square.",
            "Evaluate $\\log_2 8$.",
            "Ann has 5 dogs. If each eats 2 kg, how many kg do they eat? Answer with a number only.",
            "Solve it. Put the answer in \\boxed{}.",
            "Löse dieses Problem: Wie viele Eier sind es?",
            "Duka ni ngapi?",
        ] {
            check(question, Some("number"));
        }
        let json =
            "What should the output be? Present it as JSON: {\"reasoning\": \"...\", \"answer\": \"...\"}";
        check(json, Some("literal"));
    }

    #[test]
    fn a_number_that_is_a_name_is_compared_as_written() {
        let is_written = |question: &str| match form(question) {
            Some(Form::Number(asked)) => asked.is_written,
            other => panic!("{question}: {other:?}"),
        };
        for question in [
            "What is the house number?",
            "What is the part number of the gasket?",
            "Which Python do I need? Put the answer in \\boxed{}.",
            "What is the time signature? Put the answer in \\boxed{}.",
            "What fraction of the cake is left? Give it in lowest terms.",
            "What is the value of x after this?\n```python\nx = 6 / 2\n```",
            "What is 3/4 as a decimal number?",
        ] {
            assert!(is_written(question), "{question}");
        }
        for question in [
            "What is the number of houses?",
            "What is the smallest number of houses?",
            "How many versions are there? Put the answer in \\boxed{}.",
            "What fraction of the cake is left?",
            "What is the area, to two decimal places?",
            "Let $x + 2 = 5$. Say what $x$ is. Put the answer in \\boxed{}.",
        ] {
            assert!(!is_written(question), "{question}");
        }
    }

    #[test]
    fn all_other_questions_are_open() {
        check("Which is safer, and why?", None);
        check("Explain the tides.", None);
        check("What is 2026-11-20 famous for?", None);
        check("A. is the first letter", None);
        for question in [
            "How much risk is there, and should we go ahead?",
            "How many legs has a spider? Why?",
            "How many legs has a spider, and how many has an ant?",
            "How long should the essay be?",
            "How much does it matter? Explain how you know.",
            "What made this number famous?",
        ] {
            check(question, None);
        }
        check("", None);
    }
}
