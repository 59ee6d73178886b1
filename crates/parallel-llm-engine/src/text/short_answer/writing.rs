//! How an answer is written: which differences in writing mean nothing.

use super::number::{self, Number};
use super::{PIECE_BYTES_MAX, Value, asked, literal, scope, sentences, truth};

/// How an answer to a request is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Writing {
    /// The sentence that asks; empty if none is known.
    pub(super) asking: String,
    /// Whether a comma separates thousands.
    is_english: bool,
    /// In what an answer is written.
    pub(super) notation: Notation,
    /// Whether capitals and articles of an answer may count.
    counts_as_written: bool,
    /// The currency of its amounts, if they have one.
    currency: Option<char>,
    /// The units in it that stand alone for what they measure: `hour`, if it names no other span of time.
    units: Vec<&'static str>,
}

/// In what an answer is written, which decides which marks are part of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Notation {
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
        if asked::asks_for_literal(matter) && !asked::tells_quotes_apart(matter) {
            Self::Literal
        } else if asked::asks_for_literal(matter) || asked::is_about_code(matter) {
            Self::Code
        } else {
            Self::Words
        }
    }
}

impl Writing {
    /// How the answer to a request is written. Without the sentence that asks, the whole request says it.
    pub(super) fn of(request: &str, asking: String) -> Self {
        let begin = request.len().saturating_sub(sentences::REQUEST_BYTES_MAX);
        let end = &request[request.ceil_char_boundary(begin)..];
        let (is_english, matter) = (asked::is_english(end), scope::matter(end));
        let (notation, currency) = (Notation::of(&matter), asked::currency(&matter));
        let units = asked::units(&matter);
        let counts_as_written = asked::counts_as_written(if asking.is_empty() { end } else { &asking });
        Self { asking, is_english, notation, counts_as_written, currency, units }
    }

    /// The value of a whole piece of text.
    pub(super) fn value(&self, piece: &str, is_formula: bool) -> Option<Value> {
        if piece.len() > PIECE_BYTES_MAX {
            return None;
        }
        if let Some(truth) = self.truth(piece) {
            return Some(truth);
        }
        let formula = || Some(self.without_asked_side(literal::formula(piece)?));
        let own = if is_formula { formula()? } else { piece.to_owned() };
        let text = || if is_formula { Some(own.clone()) } else { self.text(piece) };
        self.number(&own).map(Value::Number).or_else(|| text().map(Value::Literal))
    }

    /// The value of a piece of which nobody knows what it is: a number is compared as it is written.
    pub(super) fn as_written(&self, piece: &str) -> Option<Value> {
        self.truth(piece).or_else(|| self.text(piece).map(Value::Literal))
    }

    fn truth(&self, piece: &str) -> Option<Value> {
        // `True` and `true` are two outputs.
        let is_said = |word: &&str| self.notation == Notation::Words || matches!(*word, "yes" | "no");
        truth::bare(piece, &self.asking).filter(is_said).map(Value::Truth)
    }

    /// A text in normal form.
    fn text(&self, piece: &str) -> Option<String> {
        match self.notation {
            Notation::Literal => literal::of_code(piece),
            Notation::Code => literal::exact(literal::output(piece)),
            Notation::Words if self.is_english && !self.counts_as_written => literal::words(piece),
            Notation::Words => literal::text(literal::plain(piece)),
        }
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
