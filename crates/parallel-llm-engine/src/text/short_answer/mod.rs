//! Short answers: recognizes questions with one short right answer, and reads that answer out of a text.
//!
//! A short answer is a choice, a number, yes or no, or a literal in the place the question names. Reading is careful, because
//! it decides whether synthesis is skipped and how votes count. Invariants: a value covers the whole piece it was read from,
//! so equal values mean equal answers; a text without a value agrees with no other.

mod asked;
mod before_box;
mod echo;
mod json;
mod literal;
mod measure;
mod number;
mod persons;
mod prose;
mod question;
mod spot;
mod value;
mod vocabulary;
mod words;
mod written;

use std::fmt;

use crate::text::json_pointer::Pointer;
pub use asked::Asked;
use json::{Field, Typed};
use number::Number;
use spot::{Spot, SpotKind};

/// The longest piece of an answer that is read as a whole, in bytes, as long as the longest option.
const PIECE_BYTES_MAX: usize = 1_200;

/// The form of the answer a question asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Form {
    /// One of the named options, each with its label and text.
    Choice(Vec<(char, String)>),
    /// A number.
    Number(Box<Asked>),
    /// Yes or no, true or false.
    Truth {
        /// Which pair of words.
        words: Words,
        /// The words of the question.
        asked: Vec<String>,
    },
    /// Any text in the place the question names.
    Literal,
}

/// The two words a question offers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Words {
    /// Yes and no.
    YesNo,
    /// True and false.
    TrueFalse,
}

impl Words {
    const fn pair(self) -> [&'static [&'static str]; 2] {
        match self {
            Self::YesNo => [value::YES, value::NO],
            Self::TrueFalse => [value::TRUE, value::FALSE],
        }
    }
}

/// The value of an answer in normal form. Equal values mean equal answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// The label of the option, in upper case.
    Choice(char),
    /// The number, and its unit if the question asks for another.
    Number(Number, Option<String>),
    /// Yes or true, no or false.
    Truth(bool),
    /// Another text, as written.
    Literal(String),
    /// Another value, as JSON.
    Json(String),
}

impl fmt::Display for Value {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Choice(label) => write!(out, "{label}"),
            Self::Number(number, None) => write!(out, "{number}"),
            Self::Number(number, Some(unit)) => match unit.split_once(['$', '€', '£', '¥', '₹', '₩'])
            {
                Some(("", behind)) => write!(out, "{}{number}{behind}", &unit[..unit.len() - behind.len()]),
                _ => write!(out, "{number} {unit}"),
            },
            Self::Truth(truth) => out.write_str(if *truth { "yes" } else { "no" }),
            // Messages put a value between backticks.
            Self::Literal(text) | Self::Json(text) => out.write_str(&text.replace('`', "'")),
        }
    }
}

impl Value {
    /// The value at a pointer in the JSON of an answer; `None` if there is none or it is too long for a short answer.
    pub fn at(pointer: &Pointer, answer: &str) -> Option<Self> {
        json::at(answer, pointer)
    }

    /// The value of a short answer that a model extracted from a long one: by the form of the question, else as a literal.
    /// `None` if it is empty or too long.
    pub fn of(form: Option<&Form>, short: &str) -> Option<Self> {
        form.and_then(|form| form.read(short)).or_else(|| literal::exact(short).map(Self::Literal))
    }
}

impl Form {
    /// The form of the answer to a question; `None` if the question is open or asks for more.
    pub fn of(question: &str) -> Option<Self> {
        question::form(question)
    }

    /// The value of an answer; `None` if it is not plain, or if there are two.
    pub fn read(&self, answer: &str) -> Option<Value> {
        match json::field(answer) {
            Field::Unclear => None,
            Field::Value { value, before } => {
                let value = self.read_typed(&value)?;
                let is_one = |spot: &Spot<'_>| self.allows(spot, &value);
                spot::all(before).iter().all(is_one).then_some(value)
            }
            Field::Absent => {
                let mut spots = spot::all(answer);
                // `####` may also be a heading.
                spots.retain(|spot| {
                    spot.kind != SpotKind::Hashes || self.read_piece(spot.text, false).is_some()
                });
                match spots.split_last() {
                    Some((last, others)) => {
                        let value = self.read_last(last)?;
                        others.iter().all(|spot| self.allows(spot, &value)).then_some(value)
                    }
                    None => self.read_whole(answer),
                }
            }
        }
    }

    /// The value at the last marked place of an answer.
    fn read_last(&self, spot: &Spot<'_>) -> Option<Value> {
        self.read_spot(spot).filter(|_| self.is_plain(spot) && spot.is_last())
    }

    /// Whether the sentence of a place gives its value as the answer: nothing retracts it or assigns it to something else. If the
    /// question asks for a box, the box may stand in any sentence; else the sentence must repeat the question.
    fn is_plain(&self, spot: &Spot<'_>) -> bool {
        let asked: &[String] = match self {
            Self::Number(asked) => &asked.echo.question_words,
            Self::Truth { .. } | Self::Choice(_) | Self::Literal => &[],
        };
        let wants_box = spot.kind == SpotKind::Box && asked.iter().any(|word| word.contains("boxed"));
        let sentence = match self {
            Self::Number(asked) => asked.sentence(),
            Self::Truth { .. } | Self::Choice(_) | Self::Literal => "",
        };
        spot.is_plain
            && !spot.is_of_another(sentence)
            && (wants_box || spot.leads(if spot.kind == SpotKind::Box { asked } else { &[] }))
    }

    /// Whether an earlier place is compatible with this value: it has the same value, or none that could be the answer.
    fn allows(&self, spot: &Spot<'_>, value: &Value) -> bool {
        match (self.read_spot(spot), spot.kind) {
            (Some(other), _) if other == *value => true,
            (Some(Value::Literal(_)), SpotKind::Mark) => !matches!(value, Value::Literal(_)),
            (None, SpotKind::Mark | SpotKind::Hashes) => true,
            (Some(_), SpotKind::Mark) => !self.is_plain(spot),
            _ => false,
        }
    }

    fn read_spot(&self, spot: &Spot<'_>) -> Option<Value> {
        let beside = spot.beside.replace("\\]", "").replace("\\)", "");
        let beside =
            beside.trim_matches(|one: char| one.is_whitespace() || matches!(one, '$' | '*' | '.' | '_'));
        match (self.read_piece(spot.text, spot.kind == SpotKind::Box), self) {
            (value, _) if beside.is_empty() => value
                .or_else(|| match self {
                    // `Answer: Olivia has 7 apples left.`
                    Self::Number(asked) if spot.kind == SpotKind::Mark => {
                        value_of_last_sentence(spot.text, asked)
                    }
                    _ => None,
                })
                .or_else(|| self.read_literal(spot.text, spot.kind == SpotKind::Box)),
            // `\boxed{8}` legs.
            (Some(Value::Number(number, None)), Self::Number(asked)) => {
                let unit = asked.unit("", &beside.replace("\\%", "%"))?;
                Some(Value::Number(number, Some(unit).filter(|unit| !unit.is_empty())))
            }
            _ => None,
        }
    }

    /// The value of a whole piece of text.
    fn read_piece(&self, piece: &str, is_formula: bool) -> Option<Value> {
        if piece.len() > PIECE_BYTES_MAX {
            return None;
        }
        match self {
            Self::Choice(options) => value::choice(piece, options).map(Value::Choice),
            Self::Number(asked) => value::quantity(piece, asked, is_formula),
            Self::Truth { words, asked } => value::truth(piece, words.pair(), asked).map(Value::Truth),
            Self::Literal => None,
        }
    }

    /// The literal text of a place, for questions without options.
    fn read_literal(&self, text: &str, is_formula: bool) -> Option<Value> {
        match self {
            Self::Choice(_) | Self::Truth { .. } => None,
            Self::Literal if !is_formula => literal::text(text).map(Value::Literal),
            Self::Literal => literal::text(text).map(Value::Literal),
            Self::Number(asked) if asked.is_code => literal::exact(literal::quoted(text)).map(Value::Literal),
            Self::Number(_) => literal::formula(value::sentence(text)).map(Value::Literal),
        }
    }

    fn read_typed(&self, value: &Typed) -> Option<Value> {
        match (self, value) {
            (Self::Truth { .. }, Typed::Truth(truth)) => Some(Value::Truth(*truth)),
            // Leading and trailing blanks count in printed output.
            (Self::Literal, Typed::Text(text) | Typed::Number(text)) => {
                literal::exact(text).filter(|exact| exact == text).map(Value::Literal)
            }
            (Self::Literal, Typed::Truth(truth)) => Some(Value::Json(truth.to_string())),
            (Self::Literal | Self::Number(_), Typed::Other(written)) => {
                literal::exact(written).map(Value::Json)
            }
            (_, Typed::Text(text) | Typed::Number(text)) => {
                let inside = boxed(text);
                let text = inside.unwrap_or(text);
                self.read_piece(text, inside.is_some()).or_else(|| self.read_literal(text, true))
            }
            _ => None,
        }
    }

    /// The value of an answer without a marked place.
    fn read_whole(&self, answer: &str) -> Option<Value> {
        let piece = spot::short(answer).or_else(|| spot::emphasised(answer));
        let formula = piece.filter(|piece| literal::is_formula(piece));
        let value = piece.and_then(|piece| self.read_piece(piece, false));
        let value = value.or_else(|| self.read_literal(formula?, true));
        // `162 of the jars are full` is more than a number with its unit.
        let is_counted = matches!(value, Some(Value::Number(_, Some(_))));
        if let (true, Self::Number(asked)) = (is_counted, self) {
            return value_of_last_sentence(answer, asked).or(value);
        }
        value.or_else(|| match self {
            Self::Number(asked) => value_of_last_sentence(answer, asked),
            Self::Choice(_) | Self::Truth { .. } => None,
            Self::Literal => spot::short(answer).and_then(|text| self.read_literal(text, false)),
        })
    }
}

/// The value of the last sentence of an answer. If a number counts only as written, it must stand there in that form.
fn value_of_last_sentence(answer: &str, asked: &Asked) -> Option<Value> {
    // Several lines of numbers are printed output as a whole.
    let mut ends = answer.lines().rev().map(str::trim).filter(|line| !line.is_empty());
    let is_bare = |line: Option<&str>| line.is_some_and(|line| !line.contains(char::is_alphabetic));
    if asked.is_code && is_bare(ends.next()) && is_bare(ends.next()) {
        return None;
    }
    let value = prose::last(answer, asked)?;
    let Value::Number(number, _) = &value else { return Some(value) };
    let is_within = |one: char| number::is_digit(one) || "./,".contains(one);
    let is_so = |piece: &str| number.is_written_as(piece.trim_end_matches(['.', ',']));
    let mut pieces = answer.split(|one: char| !is_within(one) && !one.is_alphanumeric());
    (!asked.is_written || pieces.any(is_so)).then_some(value)
}

/// The content of a text that is one box.
fn boxed(text: &str) -> Option<&str> {
    literal::unwrapped(text).strip_prefix("\\boxed{")?.strip_suffix('}')
}

#[cfg(test)]
mod tests {
    use super::*;

    const CITIES: &str = "The capital of France?\nA) Paris\nB) Rome\nC) Bern\nD) None of them";
    const SPIDER: &str = "How many legs has a spider?";
    const PRIME: &str = "Is 7 prime? Answer yes or no.";

    fn check(question: &str, answer: &str, expected: Option<&str>) {
        let value = Form::of(question).unwrap().read(answer).map(|value| value.to_string());
        assert_eq!(value.as_deref(), expected, "{question}: {answer}");
    }

    #[test]
    fn a_choice_is_read_by_its_label_or_its_text() {
        for answer in [
            "A",
            "a",
            "(A)",
            "A)",
            "**A**",
            "A) Paris",
            "A. Paris",
            "A.Paris",
            "A: Paris",
            "**A) Paris**",
            "Paris",
            "paris.",
            "The answer is A.",
            "The answer is (A).",
            "The correct answer is **A. Paris**.",
            "Option A",
            "\\boxed{A}",
            "\\boxed{\\text{A}}",
            "\\boxed{\\text{(A)}}",
            "\\boxed{\\textbf{(A) }Paris}",
            "Rome is in Italy, Bern in Switzerland.\n\n**Answer: A**",
            "{\"reasoning\": \"It is.\", \"answer\": \"A\"}",
        ] {
            check(CITIES, answer, Some("A"));
        }
        for answer in [
            "A dog has four legs.",
            "Either A or B",
            "E",
            "I cannot say.",
            "London",
            "A or B",
            "A, B and C",
            "A and B",
            "A/B",
            "A, but neither B nor C",
            "A, because B is",
            "A is incorrect",
            "not A",
            "A\nis a trap.",
            "Answer: A\n\nScratch that.",
            "A student says the answer is A.",
            "A) Rome",
            "The answer is not A.",
            "The answer is A or B.",
            "I doubt the answer is A.",
            "The answer is A.\n\nWait, it is B.",
            "\\boxed{A} or B",
            "\\boxed{A}\\boxed{B}",
            "Answer: A\nAnswer: B",
            "{\"answer\": \"A\", \"also\": \"B\"}",
        ] {
            check(CITIES, answer, None);
        }
    }

    #[test]
    fn a_number_is_read_with_its_unit() {
        for (answer, value) in [
            ("8", "8"),
            ("8.0", "8"),
            ("A spider has 8 legs.", "8"),
            ("Spiders are arachnids.\nTheir legs come in 4 pairs.\n\n**Answer:** 8 legs", "8"),
            ("4 pairs, so 4 * 2 = 8", "8"),
            ("#### 8", "8"),
            ("$\\boxed{\\frac{16}{2}}$", "8"),
            ("It has \\boxed{8} legs.", "8"),
            ("The answer is $8.", "$8"),
            ("The answer is 8 eyes.", "8 eyes"),
            ("The answer is 8 million.", "8 million"),
            ("蜘蛛有4对，所以答案是8条腿。", "8"),
            ("{\"reasoning\": \"4 * 2\", \"answer\": \"8\"}", "8"),
            ("{\"answer\": 8}", "8"),
            ("\\boxed{(1, 2)}", "(1,2)"),
            ("\\boxed{\\sqrt{3}}", "\\sqrt{3}"),
            ("Answer: 6\\pi", "6\\pi"),
        ] {
            let question = if answer.contains("条") { "蜘蛛有多少条腿？" } else { SPIDER };
            check(question, answer, Some(value));
        }
        for answer in [
            "eight",
            "6 or 8",
            "between 6 and 8",
            "It depends.\nOn the spider.\nSome have 7.",
            "at least 8",
            "600 deg.\nSo \\boxed{",
            "5\n\\boxed{5} or 6",
            "Answer: 5\nAnswer: 6",
            "Answer: 5\n\nAll in thousands.",
            "The answer is 5 ... wait, no.",
            "Not \\boxed{8}",
            "{\"answer\": \"8\"} is wrong",
        ] {
            let value = Form::of(SPIDER).unwrap().read(answer);
            assert!(!matches!(value, Some(Value::Number(..))), "{answer}: {value:?}");
        }
    }

    #[test]
    fn yes_and_no_are_read_alone_or_in_a_sentence() {
        for (answer, value) in [
            ("Yes.", Some("yes")),
            ("**No**, it is not.", Some("no")),
            ("The answer is: yes", Some("yes")),
            ("Yes, it is prime.", Some("yes")),
            ("是的", Some("yes")),
            ("Nobody knows.", None),
            ("No doubt it is.", None),
            ("Yes and no", None),
            ("Yes, but only so", None),
            ("No, it is.", None),
            ("Yes, that is wrong.", None),
            ("True", None),
            ("Perhaps", None),
        ] {
            check(PRIME, answer, value);
        }
    }

    #[test]
    fn an_answer_member_asked_for_is_read_literally() {
        let question =
            "What is the output of f(3)? Present it as JSON: {\"reasoning\": \"\", \"answer\": \"\"}";
        for (answer, value) in [
            (r#"{"reasoning": "", "answer": "'Ab'"}"#, Some("'Ab'")),
            (r#"{"answer": [1, 2]}"#, Some("[1,2]")),
            (r#"{"answer": 42.0}"#, Some("42.0")),
            (r#"{"answer": true}"#, Some("true")),
            ("Answer: `Ab`", Some("Ab")),
            (r#"{"answer": ""}"#, None),
        ] {
            check(question, answer, value);
        }
    }

    #[test]
    fn a_long_answer_is_read_in_linear_time() {
        let form = Form::of(SPIDER).unwrap();
        for piece in ["\\boxed{", "answer: ", "{\"answer\":", "####\n", "8 = ", "**"] {
            let _ = form.read(&piece.repeat((8 << 20) / piece.len()));
        }
    }
}
