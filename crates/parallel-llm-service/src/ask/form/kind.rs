//! [`ValueKind`]: what values a field takes, as JSON or as text.

use parallel_llm_engine::PicoUsd;
use parallel_llm_settings::settings::{NO_LIMIT, duration_ms};
use serde_json::{Value, json};

/// The longest duration in seconds, a day.
const SECONDS_MAX: u64 = 86_400;
/// The highest amount that a program may give in US dollars: more is a slip. A person types what a person means.
const USD_MAX: f64 = 1_000.0;

/// What a field takes.
#[derive(Clone, Copy, Debug)]
pub enum ValueKind {
    /// A text that cannot be left out.
    RequiredText,
    /// A text.
    Text,
    /// A text of 1 to so many bytes.
    Key(usize),
    /// A list of texts.
    Texts,
    /// A number from 0 to this.
    Number(f64),
    /// A whole number between these.
    Whole(u64, u64),
    /// An amount in US dollars; as text also `none`, for no limit.
    Usd,
    /// A duration of at most a day: in JSON whole seconds, as text with its unit.
    Seconds,
    /// Yes or no.
    Switch,
    /// One of these words.
    Choice(fn() -> Vec<&'static str>),
    /// One of these words, or one with options behind an `@`. The engine checks both.
    Named(fn() -> Vec<&'static str>),
}

/// A value of a field's kind.
#[derive(Clone, Debug, PartialEq)]
pub enum Given {
    /// A text or a word.
    Text(String),
    /// A list of texts.
    Texts(Vec<String>),
    /// A number.
    Number(f64),
    /// A whole number.
    Whole(u64),
    /// An amount.
    Usd(PicoUsd),
    /// A duration in milliseconds.
    Millis(u64),
    /// Yes or no.
    Switch(bool),
}

/// A word with options. The word itself is checked where the options are.
const WITH_OPTIONS: &str = "^[a-z-]+@";

impl ValueKind {
    /// Its JSON Schema: short and portable, since schemas are in a model's context in every conversation.
    pub fn schema(self) -> Value {
        match self {
            Self::RequiredText | Self::Text => json!({"type": "string"}),
            Self::Key(bytes) => json!({"type": "string", "minLength": 1, "maxLength": bytes}),
            Self::Texts => json!({"type": "array", "items": {"type": "string"}}),
            Self::Number(max) => json!({"type": "number", "minimum": 0, "maximum": max}),
            Self::Usd => json!({"type": "number", "minimum": 0, "maximum": USD_MAX}),
            Self::Whole(min, max) => json!({"type": "integer", "minimum": min, "maximum": max}),
            Self::Seconds => json!({"type": "integer", "minimum": 1, "maximum": SECONDS_MAX}),
            Self::Switch => json!({"type": "boolean"}),
            Self::Choice(words) => json!({"type": "string", "enum": words()}),
            Self::Named(words) => {
                json!({"type": "string", "anyOf": [{"enum": words()}, {"pattern": WITH_OPTIONS}]})
            }
        }
    }

    /// Reads a JSON value. What can be meant in one way only is taken: one text for a list, and a number or a switch written
    /// as text.
    pub fn of_json(self, value: &Value) -> Option<Given> {
        let unquoted = |text: &str| serde_json::from_str::<Value>(text.trim()).ok();
        let bare = || value.as_str().and_then(unquoted).unwrap_or_else(|| value.clone());
        match self {
            Self::RequiredText | Self::Text | Self::Named(_) => Some(Given::Text(value.as_str()?.to_owned())),
            Self::Key(_) | Self::Choice(_) => self.of_text(value.as_str()?),
            Self::Texts => {
                let texts = |list: &Value| serde_json::from_value(list.clone()).ok().map(Given::Texts);
                match value.as_str() {
                    Some(text) if text.trim_start().starts_with('[') => texts(&unquoted(text)?),
                    Some(text) => Some(Given::Texts(vec![text.to_owned()])),
                    None => texts(value),
                }
            }
            Self::Number(max) => within(bare().as_f64(), 0.0, max).map(Given::Number),
            Self::Whole(min, max) => within(whole(&bare()), min, max).map(Given::Whole),
            Self::Usd => {
                let usd = bare().as_f64().filter(|usd| *usd <= USD_MAX)?;
                PicoUsd::from_f64(usd).map(Given::Usd)
            }
            Self::Seconds => within(whole(&bare()), 1, SECONDS_MAX).map(|count| Given::Millis(count * 1000)),
            Self::Switch => bare().as_bool().map(Given::Switch),
        }
    }

    /// Reads a JSON value of the very type that the schema names.
    pub fn of_typed_json(self, value: &Value) -> Option<Given> {
        let is_typed = match (self, value.as_str()) {
            (Self::RequiredText | Self::Text | Self::Key(_) | Self::Named(_), _) | (_, None) => true,
            (Self::Choice(words), Some(word)) => words().contains(&word),
            (_, Some(_)) => false,
        };
        if is_typed { self.of_json(value) } else { None }
    }

    /// Reads a text, as flags and forms have it.
    pub fn of_text(self, text: &str) -> Option<Given> {
        match self {
            Self::RequiredText | Self::Text | Self::Named(_) => Some(Given::Text(text.to_owned())),
            Self::Key(bytes) => (1..=bytes).contains(&text.len()).then(|| Given::Text(text.to_owned())),
            Self::Choice(words) => {
                let known = words().into_iter().find(|word| word.eq_ignore_ascii_case(text));
                known.map(|word| Given::Text(word.to_owned()))
            }
            Self::Usd if text.eq_ignore_ascii_case(NO_LIMIT) => Some(Given::Usd(PicoUsd::UNLIMITED)),
            Self::Usd => PicoUsd::from_decimal(text).map(Given::Usd),
            Self::Seconds => duration_ms(text).map(Given::Millis),
            Self::Number(max) => within(text.parse().ok(), 0.0, max).map(Given::Number),
            Self::Whole(min, max) => within(text.parse().ok(), min, max).map(Given::Whole),
            Self::Texts | Self::Switch => self.of_json(&text.into()),
        }
    }

    /// Completes the sentence "this field is …".
    pub fn about(self) -> String {
        match self {
            Self::RequiredText | Self::Text | Self::Named(_) => "a string".to_owned(),
            Self::Key(bytes) => format!("a string of 1 to {bytes} bytes"),
            Self::Texts => "a list of strings".to_owned(),
            Self::Number(max) => format!("a number from 0 to {max}"),
            Self::Whole(min, max) => format!("a whole number from {min} to {max}"),
            Self::Usd => "an amount in US dollars such as 0.50".to_owned(),
            Self::Seconds => format!("a whole number from 1 to {SECONDS_MAX}"),
            Self::Switch => "true or false".to_owned(),
            Self::Choice(words) => format!("one of `{}`", words().join("`, `")),
        }
    }

    /// Its words, if there are only a few.
    pub fn words(self) -> Vec<&'static str> {
        match self {
            Self::Choice(words) => words(),
            _ => Vec::new(),
        }
    }
}

impl Given {
    /// A text or a word.
    pub fn text(self) -> Option<String> {
        if let Self::Text(text) = self { Some(text) } else { None }
    }

    /// A list of texts.
    pub fn texts(self) -> Option<Vec<String>> {
        if let Self::Texts(texts) = self { Some(texts) } else { None }
    }

    /// A number.
    pub fn number(self) -> Option<f64> {
        if let Self::Number(number) = self { Some(number) } else { None }
    }

    /// A whole number.
    pub fn whole(self) -> Option<u64> {
        if let Self::Whole(number) = self { Some(number) } else { None }
    }

    /// A number of tokens.
    pub fn tokens(self) -> Option<u32> {
        self.whole().and_then(|tokens| u32::try_from(tokens).ok())
    }

    /// An amount.
    pub fn usd(self) -> Option<PicoUsd> {
        if let Self::Usd(amount) = self { Some(amount) } else { None }
    }

    /// A duration in milliseconds.
    pub fn millis(self) -> Option<u64> {
        if let Self::Millis(millis) = self { Some(millis) } else { None }
    }

    /// Yes or no.
    pub fn switch(self) -> Option<bool> {
        if let Self::Switch(on) = self { Some(on) } else { None }
    }
}

/// A number between these.
fn within<N: PartialOrd>(number: Option<N>, min: N, max: N) -> Option<N> {
    number.filter(|number| (min..=max).contains(number))
}

/// A whole number, also written as `3.0`.
fn whole(value: &Value) -> Option<u64> {
    let written_as_float = || value.as_f64().filter(|number| *number >= 0.0 && number.fract() == 0.0);
    value.as_u64().or_else(|| written_as_float().map(|number| number as u64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_can_be_meant_one_way_only_is_taken() {
        let texts = |texts: &[&str]| Given::Texts(texts.iter().map(|one| (*one).to_owned()).collect());
        let efforts = ValueKind::Choice(|| vec!["low", "high"]);
        for (kind, given, expected) in [
            (ValueKind::Texts, json!("a/b"), Some(texts(&["a/b"]))),
            (ValueKind::Texts, json!("[\"a/b\", \"c/d\"]"), Some(texts(&["a/b", "c/d"]))),
            (ValueKind::Texts, json!(["a/b"]), Some(texts(&["a/b"]))),
            (ValueKind::Texts, json!(["a/b", 5]), None),
            (ValueKind::Texts, json!("[a/b]"), None),
            (ValueKind::Whole(0, 50), json!("50"), Some(Given::Whole(50))),
            (ValueKind::Whole(0, 50), json!(" 3.0 "), Some(Given::Whole(3))),
            (ValueKind::Whole(0, 50), json!(51), None),
            (ValueKind::Whole(0, 50), json!(""), None),
            (ValueKind::Whole(0, 50), json!("-1"), None),
            (ValueKind::Whole(0, 50), json!("5 s"), None),
            (ValueKind::Number(2.0), json!("0.7"), Some(Given::Number(0.7))),
            (ValueKind::Number(2.0), json!("NaN"), None),
            (ValueKind::Number(2.0), json!("true"), None),
            (ValueKind::Usd, json!(0.5), Some(Given::Usd(PicoUsd::from_decimal("0.5").unwrap()))),
            (ValueKind::Usd, json!(-1), None),
            (ValueKind::Usd, json!(50_000), None),
            // Only people take the limit away.
            (ValueKind::Usd, json!("none"), None),
            (ValueKind::Seconds, json!(90), Some(Given::Millis(90_000))),
            (ValueKind::Seconds, json!(0), None),
            (ValueKind::Switch, json!("false"), Some(Given::Switch(false))),
            (ValueKind::Switch, json!("yes"), None),
            (ValueKind::Switch, json!(1), None),
            (ValueKind::Text, json!(5), None),
            (ValueKind::Key(3), json!(""), None),
            (ValueKind::Key(3), json!("four"), None),
            (efforts, json!("High"), Some(Given::Text("high".to_owned()))),
            (efforts, json!("hihg"), None),
        ] {
            assert_eq!(kind.of_json(&given), expected, "{kind:?} {given}");
        }
        for (kind, given, expected) in [
            (ValueKind::Usd, "none", Some(Given::Usd(PicoUsd::UNLIMITED))),
            (ValueKind::Usd, "-1", None),
            (ValueKind::Seconds, "1h30m", Some(Given::Millis(5_400_000))),
            (ValueKind::Seconds, "90", None),
            (ValueKind::Number(2.0), ".7", Some(Given::Number(0.7))),
            (ValueKind::Whole(1, 9_999), "007", Some(Given::Whole(7))),
            (ValueKind::Whole(1, 99_999), "1e4", None),
            (ValueKind::Number(2.0), "warm", None),
            (ValueKind::Number(2.0), "2.1", None),
            (ValueKind::Whole(1, 9), "9", Some(Given::Whole(9))),
        ] {
            assert_eq!(kind.of_text(given), expected, "{kind:?} {given}");
        }
    }
}
