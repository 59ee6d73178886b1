//! The output schemas of the tools, made from the types of their results.
//!
//! Clients check every result against them, so they are portable: each property has one plain type, without references,
//! formats or dialects. What always holds: one schema describes all results of a tool, its errors included, so nothing is
//! required, and members that it does not name are allowed.

use std::collections::BTreeMap;

use rmcp::model::JsonObject;
use schemars::{JsonSchema, Schema};
use serde_json::{Map, Value, json};

use crate::results::run_result::RunReply;
use parallel_llm_service::report::ErrorReport;

/// The schema of results that are a reply on a run, an error, or one of these types instead.
pub(super) fn of_run(instead: impl IntoIterator<Item = Schema>) -> JsonObject {
    of_any([of::<RunReply>()].into_iter().chain(instead))
}

/// The schema of results that are an error or one of these types.
pub(super) fn of_any(types: impl IntoIterator<Item = Schema>) -> JsonObject {
    let mut members = BTreeMap::new();
    for kind in types.into_iter().chain([of::<ErrorReport>()]) {
        let kind = kind.to_value();
        for (name, property) in kind["properties"].as_object().into_iter().flatten() {
            // The first type has the word on a member of several.
            members.entry(name.clone()).or_insert_with(|| of_one_type(property, &kind["$defs"]));
        }
    }
    // A member of several types is not declared.
    let declared = members.into_iter().filter_map(|(name, made)| Some((name, made?)));
    let properties: Map<String, Value> = declared.collect();
    let mut schema = Map::new();
    schema.insert("type".to_owned(), "object".into());
    schema.insert("properties".to_owned(), properties.into());
    schema
}

/// The schema of a type as it is derived.
pub(super) fn of<T: JsonSchema>() -> Schema {
    schemars::schema_for!(T)
}

/// The type of a schema, and of its items; `None` for one that is not always of one type. Descriptions and what an object
/// holds are left out, because some clients show a model these schemas in every conversation, and names say enough.
fn of_one_type(schema: &Value, definitions: &Value) -> Option<Value> {
    let mut kinds = BTreeMap::new();
    collect_types(schema, definitions, &mut kinds);
    // A member without a value is left out of a result.
    kinds.remove("null");
    let (kind, items) = kinds.pop_first().filter(|_| kinds.is_empty())?;
    let mut made = json!({ "type": kind });
    let of_items = items.and_then(|items| of_one_type(&items, definitions));
    // Objects are what a list holds unless it says so.
    if let Some(of_items) = of_items.filter(|items| kind == "array" && items["type"] != "object") {
        made["items"] = of_items;
    }
    Some(made)
}

/// The types of a schema, each with its items.
fn collect_types(schema: &Value, definitions: &Value, kinds: &mut BTreeMap<String, Option<Value>>) {
    if let Some(reference) = schema["$ref"].as_str() {
        let name = reference.rsplit('/').next().unwrap_or_default();
        return collect_types(&definitions[name], definitions, kinds);
    }
    let branches = [&schema["anyOf"], &schema["oneOf"]].into_iter().filter_map(Value::as_array).flatten();
    branches.for_each(|branch| collect_types(branch, definitions, kinds));
    let named = schema["type"].as_array().into_iter().flatten().chain([&schema["type"]]);
    for kind in named.filter_map(Value::as_str) {
        kinds.insert(kind.to_owned(), schema.get("items").cloned());
    }
}

/// Fails where a schema is one that some client complains about: an argument without a description, and at any depth a
/// format no validator knows, a union of types, a reference or a dialect of its own.
#[cfg(test)]
#[track_caller]
pub(super) fn assert_portable(arguments: &Value) {
    for (name, property) in arguments["properties"].as_object().into_iter().flatten() {
        let about = property["description"].as_str().unwrap_or_default();
        assert!(!about.is_empty(), "`{name}` is not described in {arguments}");
    }
    assert_plain(arguments);
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
    fn every_schema_is_portable_and_every_argument_described() {
        for tool in tools::all(&[]) {
            assert_portable(&json!(tool.input_schema));
            let output = json!(tool.output_schema);
            assert_plain(&output);
            assert_eq!(output["properties"]["code"]["type"], "string", "{}: errors have a code", tool.name);
        }
        for prompt in prompts::all() {
            let arguments = prompt.arguments.unwrap_or_default();
            assert!(!arguments.is_empty() && prompt.description.is_some() && prompt.title.is_some());
            assert!(
                arguments.iter().all(|one| one.description.as_ref().is_some_and(|text| !text.is_empty()))
            );
        }
    }

    #[test]
    fn each_property_of_a_result_has_one_plain_type() {
        for tool in tools::all(&[]) {
            let output = json!(tool.output_schema);
            let typed = |(name, property): (&String, &Value)| {
                assert!(
                    property["type"].is_string(),
                    "{}: `{name}` has no plain type: {property}",
                    tool.name
                );
                (name.clone(), property["type"].clone())
            };
            let types: BTreeMap<String, Value> =
                output["properties"].as_object().into_iter().flatten().map(typed).collect();
            let is_call_or_sentence = tool.name != "list_models";
            assert_eq!(types.contains_key("next"), !is_call_or_sentence, "{}", tool.name);
            if tool.name == "list_models" {
                assert_eq!((&types["models"], &types["models_total"]), (&json!("array"), &json!("integer")));
                continue;
            }
            for (name, kind) in
                [("answer", "string"), ("cost_usd", "number"), ("missing", "array"), ("agreement", "object")]
            {
                assert_eq!(types[name], kind, "{}: {name}", tool.name);
            }
        }
    }

    #[test]
    #[should_panic(expected = "a union of types")]
    fn a_union_of_types_is_found() {
        assert_portable(
            &json!({"properties": {"x": {"type": ["string", "null"], "description": "X."}}, "type": "object"}),
        );
    }
}
