//! The schema of what the tools give back, made from the report itself so that the two cannot part.
//!
//! Kept small and portable: the top level only, and no type where a value may be null, because clients check every
//! result against it and some know no unions of types. Nothing is required, so errors fit it as well.

use rmcp::model::JsonObject;
use schemars::JsonSchema;
use serde_json::{Map, Value, json};

/// The schema of an object whose top level is `T`'s, and these besides.
pub(super) fn of<T: JsonSchema>(besides: &[(&str, &str)]) -> JsonObject {
    let whole = Value::from(schemars::schema_for!(T));
    let properties = whole["properties"].as_object().into_iter().flatten();
    let mut properties: Map<String, Value> =
        properties.map(|(name, property)| (name.clone(), plain(property))).collect();
    for (name, kind) in besides {
        properties.insert((*name).to_owned(), json!({ "type": kind }));
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::report::Report;

    #[test]
    fn no_format_no_union_no_reference() {
        let schema = Value::Object(of::<Report>(&[("code", "string")]));
        let text = schema.to_string();
        for unwanted in ["format", "null", "$ref", "anyOf", "$schema"] {
            assert!(!text.contains(unwanted), "{unwanted} in {text}");
        }
        assert_eq!(schema["properties"]["run_id"], json!({"type": "string"}));
        assert_eq!(schema["properties"]["answer"], json!({}));
        assert_eq!(schema["properties"]["answers"], json!({"type": "array"}));
    }
}
