//! Tool arguments: one table of fields for each tool, the source of both schema and checks.
//!
//! The tables are written by hand, because the schemas are in a model's context in every conversation. Each mistake is
//! answered with the argument's name and an example.

use std::collections::BTreeMap;

use parallel_llm_engine::text::safe;
use parallel_llm_engine::value::nearest::nearest;
use parallel_llm_engine::value::next::{Advice, Next};
use parallel_llm_engine::{Code, Failure};
use parallel_llm_service::form::{Field, Given, ValueKind};
use rmcp::model::JsonObject;
use serde_json::{Map, Value};

/// The longest quoted name in a message, in characters.
const NAME_CHARS: usize = 60;

/// The schema of a tool's input.
pub(super) fn schema(arguments: &[Field]) -> JsonObject {
    let required = arguments.iter().filter(|argument| matches!(argument.kind, ValueKind::RequiredText));
    let required: Vec<&str> = required.map(|argument| argument.name).collect();
    let properties: Map<String, Value> =
        arguments.iter().map(|argument| (argument.name.to_owned(), argument.schema())).collect();
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
pub(super) struct Values(BTreeMap<&'static str, Given>);

impl Values {
    /// Checks the given arguments. `null` counts as left out.
    pub(super) fn read(arguments: &[Field], given: Option<JsonObject>) -> Result<Self, Failure> {
        let mut values = BTreeMap::new();
        for (name, value) in given.unwrap_or_default().into_iter().filter(|(_, value)| !value.is_null()) {
            let argument = arguments.iter().find(|argument| argument.name == name);
            let argument = argument.ok_or_else(|| unknown(&name, arguments))?;
            values.insert(argument.name, argument.read(&format!("the argument `{name}`"), &value)?);
        }
        let is_missing = |argument: &&Field| {
            matches!(argument.kind, ValueKind::RequiredText) && !values.contains_key(argument.name)
        };
        match arguments.iter().find(is_missing) {
            None => Ok(Self(values)),
            Some(argument) => {
                let message = format!("the argument `{}` is missing", argument.name);
                Err(Failure::new(Code::Usage, message).with_next(Next::Example(argument.example.into())))
            }
        }
    }

    /// Takes the value of a field.
    pub(super) fn take(&mut self, name: &str) -> Option<Given> {
        self.0.remove(name)
    }

    /// Takes the value of a text or a choice.
    pub(super) fn text(&mut self, name: &str) -> Option<String> {
        self.take(name)?.text()
    }

    /// Takes a list of texts.
    pub(super) fn texts(&mut self, name: &str) -> Option<Vec<String>> {
        self.take(name)?.texts()
    }

    /// Takes a whole number.
    pub(super) fn whole(&mut self, name: &str) -> Option<u64> {
        self.take(name)?.whole()
    }
}

fn unknown(name: &str, arguments: &[Field]) -> Failure {
    let known: Vec<&str> = arguments.iter().map(|argument| argument.name).collect();
    let name = safe::excerpt(name, NAME_CHARS);
    let next = nearest(&name, known.iter().copied()).map_or_else(
        || vec![Next::Do(Advice::LeaveItOut), Next::choose_one(&known)],
        |meant| Next::Meant(meant.to_owned().into()).into(),
    );
    Failure::new(Code::Usage, format!("there is no argument `{name}`")).with_next(next)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const ARGUMENTS: &[Field] = &[
        Field { name: "prompt", kind: ValueKind::RequiredText, about: "The question.", example: "\"Why?\"" },
        Field { name: "models", kind: ValueKind::Texts, about: "", example: "[\"a/b\"]" },
        Field { name: "wait_s", kind: ValueKind::Whole(0, 50), about: "", example: "50" },
        Field { name: "temperature", kind: ValueKind::Number(2.0), about: "", example: "0.7" },
        Field { name: "files", kind: ValueKind::Switch, about: "", example: "true" },
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
        check(&json!({}), "the argument `prompt` is missing: for example \"Why?\"");
        check(&json!({"promt": "p"}), "there is no argument `promt`: did you mean `prompt`?");
        check(
            &json!({"prompt": "p", "zzz": 1}),
            "there is no argument `zzz`: leave it out, or choose one of: prompt, models, wait_s, temperature, files",
        );
        check(
            &json!({"prompt": "p", "models": ["a/b", 5]}),
            "the argument `models` is a list of strings, not [\"a/b\",5]: for example [\"a/b\"]",
        );
        check(
            &json!({"prompt": "p", "wait_s": 51}),
            "the argument `wait_s` is a whole number from 0 to 50, not 51: for example 50",
        );
        check(
            &json!({"prompt": "p", "temperature": "hot"}),
            "the argument `temperature` is a number from 0 to 2, not \"hot\": for example 0.7",
        );
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
