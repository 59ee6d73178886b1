//! The schema of what the tools give back: what a caller acts on, with the types of the report itself so that the two
//! cannot part.
//!
//! Kept small and portable: the top level only, and no type where a value may be null, because clients check every
//! result against it and some know no unions of types. Nothing is required, so errors fit it as well, and what is not
//! named here may be there too.

use rmcp::model::JsonObject;
use schemars::JsonSchema;
use serde_json::{Map, Value, json};

use crate::output::report::Report;

/// What is told of a run's report, and in which words.
const OF_REPORT: [(&str, &str); 5] = [
    ("run_id", "For get_run and resume_run."),
    ("status", "`running` while it goes on."),
    ("answer", "Null while there is none."),
    ("answers", "One per model."),
    ("cost_usd", "As far as known."),
];

/// What stands beside a report where there is a reason for it.
const BESIDE: [(&str, &str, &str); 2] =
    [("code", "string", "Why it failed."), ("next", "string", "What to call next.")];

/// The schema of a result that is a report, or has these members instead: each a name, a type and what it is.
pub(super) fn of_report(instead: &[(&str, &str, &str)]) -> JsonObject {
    of::<Report>(&OF_REPORT, &[instead, &BESIDE].concat())
}

fn of<T: JsonSchema>(told: &[(&str, &str)], besides: &[(&str, &str, &str)]) -> JsonObject {
    let whole = Value::from(schemars::schema_for!(T));
    let mut properties = Map::new();
    for (name, about) in told {
        properties.insert((*name).to_owned(), described(plain(&whole["properties"][name]), about));
    }
    for (name, kind, about) in besides {
        properties.insert((*name).to_owned(), described(json!({ "type": kind }), about));
    }
    let mut schema = Map::new();
    schema.insert("type".to_owned(), "object".into());
    schema.insert("properties".to_owned(), properties.into());
    schema
}

/// A property by its type alone, and not even that where it may be null or is told elsewhere.
fn plain(property: &Value) -> Value {
    match &property["type"] {
        Value::String(kind) => json!({ "type": kind }),
        _ => json!({}),
    }
}

fn described(mut schema: Value, about: &str) -> Value {
    schema["description"] = about.into();
    schema
}

/// Fails where a schema is one that some client complains about, at any depth: a format no validator knows, a union of
/// types, a reference, a dialect of its own, or a property without a description.
#[cfg(test)]
#[track_caller]
pub(super) fn assert_portable(schema: &Value) {
    const UNWANTED: [&str; 8] = ["$schema", "$ref", "$defs", "anyOf", "oneOf", "allOf", "nullable", "format"];
    for unwanted in UNWANTED {
        assert!(schema.get(unwanted).is_none(), "`{unwanted}` in {schema}");
    }
    assert!(schema.get("type").is_none_or(Value::is_string), "a union of types: {schema}");
    let properties = schema["properties"].as_object();
    for (name, property) in properties.into_iter().flatten() {
        let about = property["description"].as_str().unwrap_or_default();
        assert!(!about.is_empty(), "`{name}` is not described in {schema}");
        assert_portable(property);
    }
    for name in schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        assert!(properties.is_some_and(|all| all.contains_key(name)), "`{name}` is required and not there");
    }
    if let Some(items) = schema.get("items") {
        assert_portable(items);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mcp::{prompts, tools};

    #[test]
    fn every_schema_is_portable_and_every_property_described() {
        for tool in tools::all() {
            assert_portable(&json!(tool.input_schema));
            tool.output_schema.iter().for_each(|schema| assert_portable(&json!(schema)));
        }
        for prompt in prompts::list().prompts {
            let arguments = prompt.arguments.unwrap_or_default();
            assert!(!arguments.is_empty() && prompt.description.is_some() && prompt.title.is_some());
            assert!(
                arguments.iter().all(|one| one.description.as_ref().is_some_and(|text| !text.is_empty()))
            );
        }
    }

    #[test]
    fn the_types_are_the_reports_own() {
        let schema = Value::Object(of_report(&[]));
        assert_eq!(schema["properties"]["run_id"]["type"], "string");
        assert_eq!(schema["properties"]["answers"]["type"], "array");
        assert_eq!(schema["properties"]["answer"].get("type"), None);
        let report = Value::from(schemars::schema_for!(Report));
        for (name, _) in OF_REPORT {
            assert!(report["properties"].get(name).is_some(), "a report has no `{name}`");
        }
    }

    #[test]
    #[should_panic(expected = "a union of types")]
    fn a_union_of_types_is_found() {
        assert_portable(&json!({"properties": {"x": {"type": ["string", "null"], "description": "X."}}}));
    }
}
