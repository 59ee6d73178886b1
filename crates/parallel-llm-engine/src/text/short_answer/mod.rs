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
mod sentences;
mod truth;

use std::fmt;

use crate::text::json_pointer::Pointer;
use json::Typed;
use number::Number;
use prescribed::Prescribed;
use scope::Scope;

/// The longest piece of an answer that is read, in bytes: the longest option.
const PIECE_BYTES_MAX: usize = 1_200;

/// Where the short answer to a request stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Form {
    /// The form that the request prescribes; `None` for the answer line.
    prescribed: Option<Prescribed>,
    /// The sentence that asks; empty if none is known.
    asking: String,
    /// Whether a comma separates thousands.
    is_english: bool,
    /// In what an answer is written.
    notation: Notation,
    /// The currency of its amounts, if they have one.
    currency: Option<char>,
    /// The units in it that stand alone for what they measure: `hour`, if it names no other span of time.
    units: Vec<&'static str>,
}

/// In what an answer is written, which decides which marks are part of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Notation {
    /// In words or numbers, around which emphasis and quotes mean nothing.
    Words,
    /// A literal of a programming language, in which a string has quotes.
    Literal,
    /// Code or its output, in which each character counts.
    Code,
}

impl Notation {
    /// That of the answer to a request with this matter, in lower case.
    fn of(matter: &str) -> Self {
        if asked::asks_for_literal(matter) {
            Self::Literal
        } else if asked::is_about_code(matter) {
            Self::Code
        } else {
            Self::Words
        }
    }
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
        let begin = request.len().saturating_sub(sentences::REQUEST_BYTES_MAX);
        let end = &request[request.ceil_char_boundary(begin)..];
        let (is_english, matter) = (asked::is_english(end), scope::matter(end));
        let (notation, currency) = (Notation::of(&matter), asked::currency(&matter));
        let units = asked::units(&matter);
        Some(Self { prescribed, asking, is_english, notation, currency, units })
    }

    /// Whether the request is known to ask for a short answer; otherwise the models say whether it has one.
    pub const fn is_certain(&self) -> bool {
        !self.asking.is_empty()
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
                self.of_piece(mark::boxed(answer, &self.asking)?, true)
            }
            Some(Prescribed::Json) => self.in_json(answer),
            Some(Prescribed::Options(options)) => named(answer, options),
            Some(Prescribed::Box) => self.of_piece(mark::boxed(answer, &self.asking)?, true),
            Some(Prescribed::Tag(tag)) => self.of_piece(without_assertion(mark::tagged(answer, tag)?), false),
            Some(Prescribed::Mark(mark)) => self.of_piece(mark::behind(answer, mark)?, false),
        }
    }

    fn of_line(&self, line: &str) -> Option<Value> {
        let value = line::only_value(line)?;
        if line::is_none(value) { None } else { self.of_piece(value, false) }
    }

    fn in_json(&self, answer: &str) -> Option<Value> {
        match json::field(answer)? {
            // Blanks around a text count in printed output.
            Typed::Text(text) if text.trim() != text || text.is_empty() => {
                let is_string = self.notation == Notation::Literal
                    && number::leading(text.trim()).is_none()
                    && !text.contains(['\'', '\n', '\r']);
                is_string.then(|| Value::Literal(format!("'{text}'")))
            }
            Typed::Text(text) if self.notation == Notation::Code => {
                serde_json::to_string(&text).ok().map(Value::Json)
            }
            Typed::Text(text) | Typed::Number(text) => {
                self.of_piece(boxed(&text).unwrap_or(&text), boxed(&text).is_some())
            }
            Typed::Truth(truth) => Some(Value::Json(truth.to_string())),
            Typed::Other(written) => literal::exact(&written).map(Value::Json),
        }
    }

    /// The value of a whole piece of text.
    fn of_piece(&self, piece: &str, is_formula: bool) -> Option<Value> {
        if piece.len() > PIECE_BYTES_MAX {
            return None;
        }
        // `True` and `true` are two outputs.
        let is_said = |word: &&str| self.notation == Notation::Words || matches!(*word, "yes" | "no");
        if let Some(word) = truth::bare(piece, &self.asking).filter(is_said) {
            return Some(Value::Truth(word));
        }
        let formula = || Some(self.without_asked_side(literal::formula(piece)?));
        let own = if is_formula { formula()? } else { piece.to_owned() };
        let text = || match self.notation {
            _ if is_formula => Some(own.clone()),
            Notation::Literal => literal::of_code(piece),
            Notation::Code => literal::text(literal::output(piece)),
            Notation::Words if self.is_english && !asked::counts_as_written(&self.asking) => {
                literal::words(piece)
            }
            Notation::Words => literal::text(literal::plain(piece)),
        };
        self.number(&own).map(Value::Number).or_else(|| text().map(Value::Literal))
    }

    /// The right side of an equation (a formula in normal form) whose left side is what is asked for: `x` or `f(2)`.
    fn without_asked_side(&self, formula: String) -> String {
        let asked = self.asking.replace([' ', '$'], "");
        let is_asked = |left: &str| {
            let is_term = left.len() == 1 && sentences::words(&self.asking).any(|word| word == left);
            is_term || left.ends_with(')') && asked.contains(left)
        };
        match formula.split_once('=') {
            Some((left, right)) if is_asked(left) && !right.contains('=') => right.to_owned(),
            _ => formula,
        }
    }

    /// The number that a whole piece is, where the question counts or calculates. Another number may be a name, so only
    /// integers are compared by value: `1,000` is `1000`, but `1.10` is not `1.1`.
    fn number(&self, piece: &str) -> Option<Number> {
        let asking = self.asking.to_lowercase();
        let calculates =
            asked::counts(&asking) || self.notation == Notation::Words && asked::calculates(&asking);
        let whole = literal::sentence(piece);
        // `y = 10`, where `y` is the one unknown.
        let is_term = |word: &&str| {
            word.len() == 1 && !matches!(*word, "a" | "i") && word.as_bytes()[0].is_ascii_lowercase()
        };
        let mut terms = sentences::words(&asking).filter(is_term);
        let unknown = terms.next().filter(|first| terms.all(|other| other == *first));
        let side = whole.split_once('=').filter(|(left, right)| {
            let left = left.trim().trim_start_matches('$').to_lowercase();
            !right.contains('=') && unknown == Some(&*left)
        });
        let whole = side.map_or(whole, |(_, right)| right.trim().trim_end_matches('$'));
        let text = literal::plain(if calculates {
            asked::without_unit(whole, &self.asking, self.currency, &self.units)
        } else {
            whole
        });
        let may_be_name = self.notation != Notation::Words || asked::is_for_a_name(&asking);
        if !calculates && (may_be_name || text.contains(['.', '/', '\\', 'e', 'E', '^', ' '])) {
            return None;
        }
        let (number, "") = number::leading(text)? else { return None };
        let is_ambiguous = !self.is_english && number::may_be_grouped(text);
        (!is_ambiguous).then_some(number)
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
