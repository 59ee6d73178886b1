//! Tool arguments: one table for each tool, the source of both schema and checks.
//!
//! The tables are written by hand, because the schemas are in a model's context in every conversation: short and
//! portable (no formats, no unions with null). Each mistake is answered with the argument's name and an example.
//! Unambiguous variants are accepted: one text for a list, and a number or a switch written as text.

use std::collections::BTreeMap;

use parallel_llm_engine::value::nearest::nearest;
use parallel_llm_engine::value::next::{Advice, Next};
use parallel_llm_engine::{Code, Failure};
use rmcp::model::JsonObject;
use serde_json::{Map, Value, json};

use parallel_llm_engine::text::safe;

/// The longest excerpt of a wrong value in a message, in characters.
const VALUE_CHARS: usize = 60;

/// One argument of a tool.
pub(super) struct Argument {
    /// Its name.
    pub(super) name: &'static str,
    /// Its type.
    pub(super) kind: Kind,
    /// Its description; empty if the name says enough.
    pub(super) about: &'static str,
    /// A valid value as JSON.
    pub(super) example: &'static str,
}

/// The type of an argument.
#[derive(Clone, Copy)]
pub(super) enum Kind {
    /// A required text.
    RequiredText,
    /// A text.
    Text,
    /// A list of texts.
    Texts,
    /// A number from 0 to this.
    Number(f64),
    /// A whole number between these.
    Whole(u64, u64),
    /// Yes or no.
    Switch,
    /// One of these words.
    Choice(fn() -> Vec<&'static str>),
    /// One of these words, or one with options behind an `@`. The engine checks both.
    Named(fn() -> Vec<&'static str>),
}

/// A word with options. The word itself is checked where the options are.
const WITH_OPTIONS: &str = "^[a-z-]+@";

impl Kind {
    fn schema(self) -> Value {
        match self {
            Self::RequiredText | Self::Text => json!({"type": "string"}),
            Self::Texts => json!({"type": "array", "items": {"type": "string"}}),
            Self::Number(max) => json!({"type": "number", "minimum": 0, "maximum": max}),
            Self::Whole(min, max) => json!({"type": "integer", "minimum": min, "maximum": max}),
            Self::Switch => json!({"type": "boolean"}),
            Self::Choice(words) => json!({"type": "string", "enum": words()}),
            Self::Named(words) => {
                json!({"type": "string", "anyOf": [{"enum": words()}, {"pattern": WITH_OPTIONS}]})
            }
        }
    }

    /// Converts a value that a model wrote as text to its type.
    fn normalized(self, value: Value) -> Value {
        let Value::String(text) = &value else { return value };
        let read = || serde_json::from_str::<Value>(text.trim()).ok();
        match self {
            Self::Texts if text.trim_start().starts_with('[') => read().unwrap_or(value),
            Self::Texts => json!([text]),
            Self::Number(_) | Self::Whole(..) => read().filter(Value::is_number).unwrap_or(value),
            Self::Switch => read().filter(Value::is_boolean).unwrap_or(value),
            Self::RequiredText | Self::Text | Self::Choice(_) | Self::Named(_) => value,
        }
    }

    fn holds(self, value: &Value) -> bool {
        match self {
            Self::RequiredText | Self::Text | Self::Named(_) => value.is_string(),
            Self::Texts => value.as_array().is_some_and(|all| all.iter().all(Value::is_string)),
            Self::Number(max) => value.as_f64().is_some_and(|number| (0.0..=max).contains(&number)),
            Self::Whole(min, max) => whole(value).is_some_and(|number| (min..=max).contains(&number)),
            Self::Switch => value.is_boolean(),
            Self::Choice(words) => value.as_str().is_some_and(|word| words().contains(&word)),
        }
    }

    fn about(self) -> String {
        match self {
            Self::RequiredText | Self::Text | Self::Named(_) => "a string".to_owned(),
            Self::Texts => "a list of strings".to_owned(),
            Self::Number(max) => format!("a number from 0 to {max}"),
            Self::Whole(min, max) => format!("a whole number from {min} to {max}"),
            Self::Switch => "true or false".to_owned(),
            Self::Choice(words) => format!("one of `{}`", words().join("`, `")),
        }
    }
}

/// A whole number, also written as `3.0`.
fn whole(value: &Value) -> Option<u64> {
    let written_as_float = || value.as_f64().filter(|number| *number >= 0.0 && number.fract() == 0.0);
    value.as_u64().or_else(|| written_as_float().map(|number| number as u64))
}

/// The schema of a tool's input.
pub(super) fn schema(arguments: &[Argument]) -> JsonObject {
    let property = |argument: &Argument| {
        let mut schema = argument.kind.schema();
        if !argument.about.is_empty() {
            schema["description"] = argument.about.into();
        }
        (argument.name.to_owned(), schema)
    };
    let required = arguments.iter().filter(|argument| matches!(argument.kind, Kind::RequiredText));
    let required: Vec<&str> = required.map(|argument| argument.name).collect();
    let properties: Map<String, Value> = arguments.iter().map(property).collect();
    let mut schema = Map::new();
    schema.insert("type".to_owned(), "object".into());
    schema.insert("properties".to_owned(), properties.into());
    if !required.is_empty() {
        schema.insert("required".to_owned(), required.into());
    }
    schema.insert("additionalProperties".to_owned(), false.into());
    schema
}

/// The arguments of one call, checked.
pub(super) struct Values(BTreeMap<&'static str, Value>);

impl Values {
    /// Checks the given arguments. `null` counts as left out.
    pub(super) fn read(arguments: &'static [Argument], given: Option<JsonObject>) -> Result<Self, Failure> {
        let mut values = BTreeMap::new();
        for (name, value) in given.unwrap_or_default().into_iter().filter(|(_, value)| !value.is_null()) {
            let argument = arguments.iter().find(|argument| argument.name == name);
            let argument = argument.ok_or_else(|| unknown(&name, arguments))?;
            let value = argument.kind.normalized(value);
            if !argument.kind.holds(&value) {
                return Err(mismatch(argument, &value));
            }
            values.insert(argument.name, value);
        }
        let is_missing = |argument: &&Argument| {
            matches!(argument.kind, Kind::RequiredText) && !values.contains_key(argument.name)
        };
        match arguments.iter().find(is_missing) {
            None => Ok(Self(values)),
            Some(argument) => Err(usage(format!("the argument `{}` is missing", argument.name), argument)),
        }
    }

    /// The value of a text or a choice.
    pub(super) fn text(&mut self, name: &str) -> Option<String> {
        match self.0.remove(name)? {
            Value::String(text) => Some(text),
            _ => None,
        }
    }

    /// A list of texts.
    pub(super) fn texts(&mut self, name: &str) -> Option<Vec<String>> {
        serde_json::from_value(self.0.remove(name)?).ok()
    }

    /// A number.
    pub(super) fn number(&mut self, name: &str) -> Option<f64> {
        self.0.remove(name)?.as_f64()
    }

    /// A whole number.
    pub(super) fn whole(&mut self, name: &str) -> Option<u64> {
        whole(&self.0.remove(name)?)
    }

    /// Yes or no.
    pub(super) fn switch(&mut self, name: &str) -> Option<bool> {
        self.0.remove(name)?.as_bool()
    }
}

fn mismatch(argument: &Argument, value: &Value) -> Failure {
    let found = safe::excerpt(&value.to_string(), VALUE_CHARS);
    usage(format!("the argument `{}` is {}, not {found}", argument.name, argument.kind.about()), argument)
}

fn usage(message: String, argument: &Argument) -> Failure {
    Failure::new(Code::Usage, message)
        .with_next(Next::Example(format!("{{\"{}\": {}}}", argument.name, argument.example).into()))
}

fn unknown(name: &str, arguments: &[Argument]) -> Failure {
    let known: Vec<&str> = arguments.iter().map(|argument| argument.name).collect();
    let name = safe::excerpt(name, VALUE_CHARS);
    let next = nearest(&name, known.iter().copied()).map_or_else(
        || vec![Next::Do(Advice::LeaveItOut), Next::choose_one(&known)],
        |meant| Next::Meant(meant.to_owned().into()).into(),
    );
    Failure::new(Code::Usage, format!("there is no argument `{name}`")).with_next(next)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ARGUMENTS: &[Argument] = &[
        Argument { name: "prompt", kind: Kind::RequiredText, about: "The question.", example: "\"Why?\"" },
        Argument { name: "models", kind: Kind::Texts, about: "", example: "[\"a/b\"]" },
        Argument { name: "wait_s", kind: Kind::Whole(0, 50), about: "", example: "50" },
        Argument { name: "temperature", kind: Kind::Number(2.0), about: "", example: "0.7" },
        Argument { name: "files", kind: Kind::Switch, about: "", example: "true" },
    ];

    #[track_caller]
    fn check(given: &Value, expected: &str) {
        let given = given.as_object().cloned();
        let described = match Values::read(ARGUMENTS, given) {
            Ok(_) => "right".to_owned(),
            Err(failure) => format!("{}: {}", failure.message, failure.next_step()),
        };
        assert_eq!(described, expected);
    }

    #[test]
    fn every_mistake_names_its_argument_and_shows_what_is_right() {
        check(&json!({"prompt": "p", "models": null, "wait_s": 3.0, "temperature": 2}), "right");
        check(&json!({}), "the argument `prompt` is missing: for example {\"prompt\": \"Why?\"}");
        check(&json!({"promt": "p"}), "there is no argument `promt`: did you mean `prompt`?");
        check(
            &json!({"prompt": "p", "zzz": 1}),
            "there is no argument `zzz`: leave it out, or choose one of: prompt, models, wait_s, temperature, files",
        );
        check(
            &json!({"prompt": "p", "models": ["a/b", 5]}),
            "the argument `models` is a list of strings, not [\"a/b\",5]: for example {\"models\": [\"a/b\"]}",
        );
        check(
            &json!({"prompt": "p", "wait_s": 51}),
            "the argument `wait_s` is a whole number from 0 to 50, not 51: for example {\"wait_s\": 50}",
        );
        check(
            &json!({"prompt": "p", "temperature": "hot"}),
            "the argument `temperature` is a number from 0 to 2, not \"hot\": for example {\"temperature\": 0.7}",
        );
    }

    #[test]
    fn what_can_be_meant_one_way_only_is_taken() {
        let read = |name: &str, value: Value| {
            let given = json!({"prompt": "p", name: value});
            let mut values = Values::read(ARGUMENTS, given.as_object().cloned()).ok()?;
            values.0.remove(name)
        };
        for (name, given, expected) in [
            ("models", json!("a/b"), Some(json!(["a/b"]))),
            ("models", json!("[\"a/b\", \"c/d\"]"), Some(json!(["a/b", "c/d"]))),
            ("models", json!("[a/b]"), None),
            ("wait_s", json!("50"), Some(json!(50))),
            ("wait_s", json!(" 3.0 "), Some(json!(3.0))),
            ("wait_s", json!("51"), None),
            ("wait_s", json!(""), None),
            ("wait_s", json!("-1"), None),
            ("wait_s", json!("5 s"), None),
            ("temperature", json!("0.7"), Some(json!(0.7))),
            ("temperature", json!("NaN"), None),
            ("temperature", json!("true"), None),
            ("files", json!("false"), Some(json!(false))),
            ("files", json!("yes"), None),
            ("files", json!(1), None),
            ("prompt", json!(5), None),
        ] {
            assert_eq!(read(name, given.clone()), expected, "{name} {given}");
        }
    }

    #[test]
    fn the_schema_is_portable() {
        let expected = json!({
            "type": "object",
            "properties": {
                "prompt": {"type": "string", "description": "The question."},
                "models": {"type": "array", "items": {"type": "string"}},
                "wait_s": {"type": "integer", "minimum": 0, "maximum": 50},
                "temperature": {"type": "number", "minimum": 0, "maximum": 2.0},
                "files": {"type": "boolean"},
            },
            "required": ["prompt"],
            "additionalProperties": false,
        });
        assert_eq!(Value::Object(schema(ARGUMENTS)), expected);
    }
}
