//! Questions with one short right answer, and that answer found in what a model wrote: a choice, a number, yes or no; and
//! short answers to other questions, compared as words.
//!
//! Pure and careful: by it synthesis is left out and votes are counted, so a text that does not say plainly what it
//! answers has no value here. Nothing is read that the question does not ask for.

mod json;
mod number;
mod question;
mod spot;
mod value;
mod word;

use std::fmt;

use crate::pointer::Pointer;
use number::Number;

/// What kind of answer a question asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Form {
    /// One of the options it names, each with its label and its text.
    Choice(Vec<(char, String)>),
    /// A number.
    Number,
    /// Yes or no, true or false.
    Truth,
}

/// What an answer says, in the one way of writing it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// The label of the option, in upper case.
    Choice(char),
    /// The number, and the word for what it counts, where that is said.
    Number(Number, Option<String>),
    /// Whether it is so.
    Truth(bool),
    /// Something else, in words.
    Word(String),
}

impl fmt::Display for Value {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Choice(label) => write!(out, "{label}"),
            Self::Number(number, None) => write!(out, "{number}"),
            Self::Number(number, Some(unit)) => write!(out, "{number} {unit}"),
            Self::Truth(truth) => out.write_str(if *truth { "yes" } else { "no" }),
            Self::Word(word) => out.write_str(word),
        }
    }
}

impl Value {
    /// The value at a place of the JSON in an answer; `None` where there is none, or it is too long for a short answer.
    pub fn at(pointer: &Pointer, answer: &str) -> Option<Self> {
        json::at(answer, pointer).map(Self::Word)
    }

    /// What a short answer says that somebody else took from a long one: what the question asks for, where it asks for one
    /// of these forms, else its words. `None` where it is empty or too long.
    pub fn of(form: Option<&Form>, short: &str) -> Option<Self> {
        form.and_then(|form| form.read(short)).or_else(|| word::word(short).map(Self::Word))
    }

    /// Whether two answers say the same. Where one names what it counts and the other does not, they do.
    pub fn agrees_with(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Number(one, unit), Self::Number(two, other)) => {
                let is_same =
                    |unit: &String| other.as_ref().is_none_or(|other| value::is_same_unit(unit, other));
                one == two && unit.as_ref().is_none_or(is_same)
            }
            _ => self == other,
        }
    }
}

impl Form {
    /// What kind of answer this question asks for; `None` where it is open.
    pub fn of(question: &str) -> Option<Self> {
        question::form(question)
    }

    /// What an answer says; `None` where it does not say it plainly.
    pub fn read(&self, answer: &str) -> Option<Value> {
        spot::all(answer).into_iter().find_map(|spot| self.read_spot(spot))
    }

    fn read_spot(&self, spot: &str) -> Option<Value> {
        match self {
            Self::Choice(options) => value::choice(spot, options).map(Value::Choice),
            Self::Number => value::quantity(spot),
            Self::Truth => value::truth(spot).map(Value::Truth),
        }
    }
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
            "Paris",
            "paris.",
            "The answer is A.",
            "Option A",
            "\\boxed{A}",
            "\\boxed{\\text{A}}",
            "Rome is in Italy, Bern in Switzerland.\n\n**Answer: A**",
            "A is correct",
            "A, because it is.",
        ] {
            check(CITIES, answer, Some("A"));
        }
        for answer in ["A dog has four legs.", "Either A or B", "E", "I cannot say.", "London", "A or B"] {
            check(CITIES, answer, None);
        }
    }

    #[test]
    fn a_number_is_read_with_what_it_counts() {
        for (answer, value) in [
            ("8", "8"),
            ("8.0", "8"),
            ("A spider has 8 legs.", "8 legs"),
            ("Spiders are arachnids.\nTheir legs come in 4 pairs.\n\n**Answer:** 8 legs", "8 legs"),
            ("4 pairs, so 4 * 2 = 8", "8"),
            ("#### 8", "8"),
            ("$\\boxed{\\frac{16}{2}}$", "8"),
            ("The answer is $8.", "8"),
            ("蜘蛛有8条腿，所以答案是8", "8"),
        ] {
            check(SPIDER, answer, Some(value));
        }
        for answer in ["eight", "6 or 8", "between 6 and 8", "It depends.\nOn the spider.\nSome have 7."] {
            check(SPIDER, answer, None);
        }
    }

    #[test]
    fn yes_and_no_are_read_at_the_beginning() {
        for (answer, value) in [
            ("Yes.", Some("yes")),
            ("**No**, it is not.", Some("no")),
            ("The answer is: true", Some("yes")),
            ("是的", Some("yes")),
            ("Nobody knows.", None),
            ("Perhaps", None),
        ] {
            check(PRIME, answer, value);
        }
    }

    #[test]
    fn answers_agree_where_neither_says_otherwise() {
        let value = |answer| Form::Number.read(answer).unwrap();
        assert!(value("8").agrees_with(&value("8 legs")));
        assert!(value("1,000 m").agrees_with(&value("1000 m")));
        assert!(!value("8 hours").agrees_with(&value("8 minutes")));
        assert!(!value("8").agrees_with(&value("9")));
    }
}
