//! The output schemas of the tools, made from the types of their results.
//!
//! Clients check every result against them, so they are portable: no references, formats, lists of types or dialects. What
//! always holds: one schema describes all results of a tool, its errors included, so nothing is required, and members
//! that it does not name are allowed.

use rmcp::model::JsonObject;
use schemars::{JsonSchema, Schema};
use serde_json::{Map, Value, json};

use super::run_result::RunReply;
use parallel_llm_service::report::ErrorReport;

/// The schema of results that are a reply on a run, an error, or one of these types instead.
pub(super) fn of_run(instead: impl IntoIterator<Item = Schema>) -> JsonObject {
    of_any([of::<RunReply>()].into_iter().chain(instead))
}

/// The schema of results that are an error or one of these types.
pub(super) fn of_any(types: impl IntoIterator<Item = Schema>) -> JsonObject {
    let mut properties = Map::new();
    for kind in types.into_iter().chain([of::<ErrorReport>()]) {
        let kind = kind.to_value();
        for (name, property) in kind["properties"].as_object().into_iter().flatten() {
            // The first type has the word on a member of several.
            properties.entry(name).or_insert_with(|| property_of(property, &kind["$defs"]));
        }
    }
    let mut schema = Map::new();
    schema.insert("type".to_owned(), "object".into());
    schema.insert("properties".to_owned(), properties.into());
    schema
}

/// The schema of a type as it is derived.
pub(super) fn of<T: JsonSchema>() -> Schema {
    schemars::schema_for!(T)
}

/// A property with the first clause of its documentation.
fn property_of(property: &Value, definitions: &Value) -> Value {
    let mut made = portable(property, definitions);
    let about = property["description"].as_str().unwrap_or_default().replace('\n', " ");
    let clause = about.split([';', ':']).next().unwrap_or_default();
    made["description"] = clause.split(". ").next().unwrap_or_default().trim_end_matches('.').into();
    made
}

/// A schema reduced to types, branches and properties. The names of inner properties say enough.
fn portable(schema: &Value, definitions: &Value) -> Value {
    if let Some(reference) = schema["$ref"].as_str() {
        let name = reference.rsplit('/').next().unwrap_or_default();
        return portable(&definitions[name], definitions);
    }
    if let Some(branches) = schema["anyOf"].as_array() {
        return any_of(branches.iter().map(|branch| portable(branch, definitions)));
    }
    match &schema["type"] {
        Value::Array(kinds) => any_of(kinds.iter().map(|kind| {
            let mut of_kind = schema.clone();
            of_kind["type"] = kind.clone();
            portable(&of_kind, definitions)
        })),
        Value::String(kind) => {
            let mut made = json!({ "type": kind });
            match (kind.as_str(), &schema["items"], schema["properties"].as_object()) {
                ("array", items, _) => made["items"] = portable(items, definitions),
                ("object", _, Some(properties)) => {
                    let inner = properties.iter();
                    let inner = inner.map(|(name, property)| (name.clone(), portable(property, definitions)));
                    made["properties"] = Value::Object(inner.collect());
                }
                _ => {}
            }
            made
        }
        _ => json!({}),
    }
}

fn any_of(branches: impl Iterator<Item = Value>) -> Value {
    json!({ "anyOf": branches.collect::<Vec<_>>() })
}

/// Fails where a schema is one that some client complains about: a property without a description, and at any depth a
/// format no validator knows, a union of types, a reference or a dialect of its own.
#[cfg(test)]
#[track_caller]
pub(super) fn assert_portable(schema: &Value) {
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        let about = property["description"].as_str().unwrap_or_default();
        assert!(!about.is_empty(), "`{name}` is not described in {schema}");
    }
    assert_plain(schema);
}

#[cfg(test)]
#[track_caller]
fn assert_plain(schema: &Value) {
    const UNWANTED: [&str; 7] = ["$schema", "$ref", "$defs", "oneOf", "allOf", "nullable", "format"];
    for unwanted in UNWANTED {
        assert!(schema.get(unwanted).is_none(), "`{unwanted}` in {schema}");
    }
    assert!(schema.get("type").is_none_or(Value::is_string), "a union of types: {schema}");
    let is_constrained = ["type", "anyOf", "enum", "pattern"].iter().any(|word| schema.get(word).is_some());
    assert!(is_constrained, "anything goes: {schema}");
    let branches = schema["anyOf"].as_array();
    assert!(branches.is_none_or(|branches| branches.len() == 2), "more than one or the other: {schema}");
    let properties = schema["properties"].as_object();
    for name in schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        assert!(properties.is_some_and(|all| all.contains_key(name)), "`{name}` is required and not there");
    }
    let inner = properties.into_iter().flatten().map(|(_, property)| property);
    inner.chain(branches.into_iter().flatten()).chain(schema.get("items")).for_each(assert_plain);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{prompts, tools};

    #[test]
    fn every_schema_is_portable_and_every_property_described() {
        for tool in tools::all(&[]) {
            assert_portable(&json!(tool.input_schema));
            let output = json!(tool.output_schema);
            assert_portable(&output);
            assert_eq!(output["properties"]["code"]["type"], "string", "{}: errors have a code", tool.name);
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
    fn the_types_are_the_results_own() {
        let schema = Value::Object(of_run([]));
        let property = |name: &str| schema["properties"][name].clone();
        assert_eq!(property("run_id")["type"], "string");
        for (name, kind) in [("answer", "string"), ("cost_usd", "number")] {
            assert_eq!(property(name)["anyOf"], json!([{"type": kind}, {"type": "null"}]), "{name}");
        }
        let objection = &property("agreement")["properties"]["object"]["items"]["properties"];
        assert_eq!(objection["model"]["type"], "string", "{schema}");
        let next = &property("next")["anyOf"];
        assert_eq!(
            (&next[0]["properties"]["tool"]["type"], &next[1]),
            (&json!("string"), &json!({"type": "string"}))
        );
    }

    #[test]
    #[should_panic(expected = "a union of types")]
    fn a_union_of_types_is_found() {
        assert_portable(
            &json!({"properties": {"x": {"type": ["string", "null"], "description": "X."}}, "type": "object"}),
        );
    }
}
