//! Short answers: whether a request has one, and the value of an answer to it in normal form.
//!
//! Nothing is read out of prose. A value stands in the answer line that a seat was asked for, or where the request prescribes
//! it: in JSON, a box, a tag, behind a mark, or as the name of an option. It decides what is counted as equal, so it errs on one
//! side: what may differ differs, and a request that may ask for more than a short answer has none.

mod asked;
mod exam;
mod json;
pub mod line;
mod literal;
mod mark;
mod number;
mod option;
mod prescribed;
mod scope;
mod scope_words;
mod sentences;
mod truth;
mod word_set;
mod writing;

use std::fmt;
use std::sync::OnceLock;

use crate::text::json_pointer::Pointer;
use json::Typed;
use number::Number;
use prescribed::Prescribed;
use scope::Scope;
use writing::{Notation, Writing};

/// The longest piece of an answer that is read, in bytes: the longest option.
const PIECE_BYTES_MAX: usize = 1_200;

/// The most words of a reply that is a name or a label. A sentence may say more than its answer.
const WORDS_MAX: usize = 5;

/// Where the short answer to a request stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Form {
    /// The form that the request prescribes; `None` for the answer line.
    prescribed: Option<Prescribed>,
    /// How it is written.
    writing: Writing,
}

/// The value of an answer in normal form. Equal values mean equal answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// The label of the option, in upper case.
    Choice(char),
    /// The number.
    Number(Number),
    /// A bare yes, no, true or false.
    Truth(&'static str),
    /// Another text, as written.
    Literal(String),
    /// Another value, as JSON.
    Json(String),
}

impl fmt::Display for Value {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Choice(label) => write!(out, "{label}"),
            Self::Number(number) => write!(out, "{number}"),
            Self::Truth(word) => out.write_str(word),
            // Messages put a value between backticks.
            Self::Literal(text) | Self::Json(text) => out.write_str(&text.replace('`', "'")),
        }
    }
}

impl Value {
    /// Whether a value in normal form, as it is displayed, is a number.
    pub fn is_number(shown: &str) -> bool {
        matches!(number::leading(shown), Some((_, "")))
    }

    /// Whether a value in normal form, as it is displayed, is one of two words.
    pub fn is_truth(shown: &str) -> bool {
        truth::is_word(shown)
    }

    /// The value at a pointer in the JSON of an answer; `None` if there is none or it is too long for a short answer.
    pub fn at(pointer: &Pointer, answer: &str) -> Option<Self> {
        json::at(answer, pointer)
    }
}

impl Form {
    /// Where the short answer to a request stands; `None` if the request asks for more than one short answer, or prescribes a
    /// form for something of which it is not known that it is all that is asked.
    pub fn of(request: &str) -> Option<Self> {
        let prescribed = prescribed::of(request);
        let has_options = matches!(prescribed, Some(Prescribed::Options(_)));
        let exam = has_options.then(|| exam::asked(request)).flatten();
        let asking = match exam.map_or_else(|| scope::of(request, has_options), Scope::Closed) {
            Scope::Closed(asking) => asking,
            // Models say whether there is a short answer, where they are asked.
            Scope::Unknown if has_options || prescribed.is_none() && scope::asks_once(request) => {
                String::new()
            }
            // It asks for a value, in words that are not known, and the answer is the one field beside the reasoning.
            Scope::Unknown
                if prescribed == Some(Prescribed::Json)
                    && asked::is_english(request)
                    && scope::asks_for_value(request)
                    && prescribed::has_one_field(request) =>
            {
                String::new()
            }
            Scope::Open | Scope::Unknown => return None,
        };
        let is_for = |form| prescribed::is_for_what_is_asked(form, request, &asking);
        if !prescribed.as_ref().is_none_or(is_for) {
            return None;
        }
        Some(Self { prescribed, writing: Writing::of(request, asking) })
    }

    /// Whether the request is known to ask for a short answer; otherwise the models say whether it has one.
    pub const fn is_certain(&self) -> bool {
        !self.writing.asking.is_empty()
    }

    /// How many options it has, if the answer is one of them.
    pub fn options(&self) -> Option<usize> {
        match &self.prescribed {
            Some(Prescribed::Options(options)) => Some(options.len()),
            _ => None,
        }
    }

    /// Whether seats are asked for the answer line, because the request prescribes no form of its own.
    pub const fn is_line(&self) -> bool {
        self.prescribed.is_none()
    }

    /// The value of an answer; `None` if it is not plain, or if there are two. `line` is its answer line, if it was asked for one.
    pub fn read(&self, answer: &str, line: Option<&str>) -> Option<Value> {
        match &self.prescribed {
            None => self.of_line(line?).filter(|_| line::is_only(answer, line)),
            // A model that was asked for JSON may give a box.
            Some(Prescribed::Json) if !answer.contains('"') => {
                self.writing.value(mark::boxed(answer, &self.writing.asking)?, true)
            }
            Some(Prescribed::Json) => self.in_json(answer),
            Some(Prescribed::Options(options)) => named(answer, options),
            Some(Prescribed::Box) => self.writing.value(mark::boxed(answer, &self.writing.asking)?, true),
            Some(Prescribed::Tag(tag)) => {
                self.writing.value(without_assertion(mark::tagged(answer, tag)?), false)
            }
            Some(Prescribed::Mark(mark)) => self.writing.value(mark::behind(answer, mark)?, false),
        }
    }

    fn of_line(&self, line: &str) -> Option<Value> {
        let value = line::only_value(line)?;
        if line::is_none(value) { None } else { self.writing.value(value, false) }
    }

    fn in_json(&self, answer: &str) -> Option<Value> {
        match json::field(answer)? {
            // Blanks around a text count in printed output.
            Typed::Text(text) if text.trim() != text || text.is_empty() => {
                let is_string = self.writing.notation == Notation::Literal
                    && number::leading(text.trim()).is_none()
                    && !text.contains(['\'', '\n', '\r']);
                is_string.then(|| Value::Literal(format!("'{text}'")))
            }
            Typed::Text(text) if self.writing.notation == Notation::Code => {
                serde_json::to_string(&text).ok().map(Value::Json)
            }
            Typed::Text(text) | Typed::Number(text) => {
                self.writing.value(boxed(&text).unwrap_or(&text), boxed(&text).is_some())
            }
            Typed::Truth(truth) => Some(Value::Json(truth.to_string())),
            Typed::Other(written) => literal::exact(&written).map(Value::Json),
        }
    }
}

/// How replies are compared that are nothing but their answer: a few words, or one JSON object. Where two of them are equal, nothing
/// stands beside them in which they differ, so this holds for any request.
#[derive(Clone, Debug)]
pub struct WholeReply {
    request: String,
    /// Few replies need it.
    writing: OnceLock<Writing>,
}

impl WholeReply {
    /// How whole replies to a request are compared.
    pub fn of(request: &str) -> Self {
        Self { request: request.to_owned(), writing: OnceLock::new() }
    }

    /// The value of a reply; `None` if it may have more than its answer.
    pub fn read(&self, reply: &str) -> Option<Value> {
        let reply = reply.trim();
        if let Some(written) = json::whole(reply) {
            return literal::exact(&written).map(Value::Json);
        }
        let is_short = !reply.contains('\n') && sentences::words(reply).nth(WORDS_MAX).is_none();
        let writing = || self.writing.get_or_init(|| Writing::of(&self.request, String::new()));
        is_short.then(writing)?.as_written(reply)
    }
}

/// The right side of a whole assertion: `assert f(1) == 2`.
fn without_assertion(text: &str) -> &str {
    let sides: Vec<&str> = text.split("==").collect();
    match sides[..] {
        [left, right] if left.starts_with("assert ") => right.trim(),
        _ => text,
    }
}

/// The option that a reply names wherever it states one.
fn named(reply: &str, options: &[option::Choice]) -> Option<Value> {
    if let Some(Typed::Text(text)) = json::field(reply) {
        return option::named(&text, options).map(Value::Choice);
    }
    let mut found = None;
    for piece in mark::pieces(reply) {
        let label = option::named(piece, options)?;
        if found.is_some_and(|other| other != label) {
            return None;
        }
        found = Some(label);
    }
    found.map(Value::Choice)
}

/// The content of a text that is one box.
fn boxed(text: &str) -> Option<&str> {
    literal::unwrapped(text).strip_prefix("\\boxed{")?.strip_suffix('}')
}
