//! The output schemas of the tools, with the types of the report itself.
//!
//! Small and portable: only the top level, with a branch for values that may be null, because clients validate every
//! result and some know no lists of types. Nothing is required, so errors are valid too, and unnamed members are
//! allowed.

use rmcp::model::JsonObject;
use schemars::JsonSchema;
use serde_json::{Map, Value, json};

use parallel_llm_service::report::Report;

/// The described members of a run's report.
const OF_REPORT: [(&str, &str); 5] = [
    ("run_id", "For the other tools."),
    ("status", "`running` while it goes on."),
    ("answer", "The one text."),
    ("answers", "By seat."),
    ("cost_usd", "As far as known."),
];

/// Optional members beside a report.
const BESIDE: [(&str, &str, &str); 2] =
    [("code", "string", "Of an error."), ("next", "string", "What to do next.")];

/// The schema of a result that is a report, or has these members instead: name, type and description.
pub(super) fn of_report(instead: &[(&str, &str, &str)]) -> JsonObject {
    of::<Report>(&OF_REPORT, &[instead, &BESIDE].concat())
}

/// The schema of a result with these members: name, type and description.
pub(super) fn of_members(members: &[(&str, &str, &str)]) -> JsonObject {
    object(members.iter().map(|(name, kind, about)| ((*name).to_owned(), described(of_kind(kind), about))))
}

fn of<T: JsonSchema>(told: &[(&str, &str)], besides: &[(&str, &str, &str)]) -> JsonObject {
    let whole = Value::from(schemars::schema_for!(T));
    let of_report = told
        .iter()
        .map(|(name, about)| ((*name).to_owned(), described(plain(&whole["properties"][name]), about)));
    let besides =
        besides.iter().map(|(name, kind, about)| ((*name).to_owned(), described(of_kind(kind), about)));
    object(of_report.chain(besides))
}

fn object(properties: impl Iterator<Item = (String, Value)>) -> JsonObject {
    let mut schema = Map::new();
    schema.insert("type".to_owned(), "object".into());
    schema.insert("properties".to_owned(), Value::Object(properties.collect()));
    schema
}

/// A property reduced to its type, with a branch for null.
fn plain(property: &Value) -> Value {
    match &property["type"] {
        Value::String(kind) => of_kind(kind),
        Value::Array(kinds) => {
            json!({ "anyOf": kinds.iter().map(|kind| json!({ "type": kind })).collect::<Vec<_>>() })
        }
        _ => json!({}),
    }
}

/// The schema of a type. All lists here hold objects.
fn of_kind(kind: &str) -> Value {
    match kind {
        "array" => json!({ "type": kind, "items": { "type": "object" } }),
        _ => json!({ "type": kind }),
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
    const UNWANTED: [&str; 7] = ["$schema", "$ref", "$defs", "oneOf", "allOf", "nullable", "format"];
    for unwanted in UNWANTED {
        assert!(schema.get(unwanted).is_none(), "`{unwanted}` in {schema}");
    }
    assert!(schema.get("type").is_none_or(Value::is_string), "a union of types: {schema}");
    if let Some(branches) = schema["anyOf"].as_array() {
        let of_null = |branch: &Value| *branch == json!({ "type": "null" });
        assert!(branches.len() == 2 && branches.iter().any(of_null), "more than a type or null: {schema}");
        branches.iter().for_each(assert_portable);
    }
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
    use crate::{prompts, tools};

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
        assert_eq!(schema["properties"]["answers"]["items"], json!({"type": "object"}));
        for (name, kind) in [("answer", "string"), ("cost_usd", "number")] {
            assert_eq!(
                schema["properties"][name]["anyOf"],
                json!([{"type": kind}, {"type": "null"}]),
                "{name}"
            );
        }
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
