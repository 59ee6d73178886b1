//! Tools that answer at once: each kind of content, an error, and two whose schema is tested.

use rmcp::ErrorData;
use rmcp::model::{CallToolResult, JsonObject, Tool};
use serde_json::{Value, json};

use super::{Called, PIXEL_PNG};

/// Silence, as WAV in base64.
const SILENCE_WAV: &str = "UklGRiQAAABXQVZFZm10IBAAAAABAAEARKwAAIhYAQACABAAZGF0YQAAAAA=";

/// A tool whose result depends only on its arguments.
struct Fixture {
    name: &'static str,
    description: &'static str,
    schema: fn() -> Value,
    /// The result as the protocol writes it.
    answer: fn(&JsonObject) -> Value,
}

const FIXTURES: &[Fixture] = &[
    Fixture {
        name: "test_simple_text",
        description: "Answers with text",
        schema: nothing,
        answer: |_| text_result("This is a simple text response for testing."),
    },
    Fixture {
        name: "test_image_content",
        description: "Answers with a picture",
        schema: nothing,
        answer: |_| json!({"content": [picture()]}),
    },
    Fixture {
        name: "test_audio_content",
        description: "Answers with sound",
        schema: nothing,
        answer: |_| json!({"content": [{"type": "audio", "data": SILENCE_WAV, "mimeType": "audio/wav"}]}),
    },
    Fixture {
        name: "test_embedded_resource",
        description: "Answers with a resource",
        schema: nothing,
        answer: |_| {
            let text = "This is an embedded resource content.";
            json!({"content": [resource("test://embedded-resource", "text/plain", text)]})
        },
    },
    Fixture {
        name: "test_multiple_content_types",
        description: "Answers with text, a picture and a resource",
        schema: nothing,
        answer: |_| {
            let text = r#"{"test":"data","value":123}"#;
            json!({"content": [
                {"type": "text", "text": "Multiple content types test:"},
                picture(),
                resource("test://mixed-content-resource", "application/json", text),
            ]})
        },
    },
    Fixture {
        name: "test_error_handling",
        description: "Fails always",
        schema: nothing,
        answer: |_| {
            let mut failed = text_result("This tool intentionally returns an error for testing");
            failed["isError"] = true.into();
            failed
        },
    },
    Fixture {
        name: "json_schema_2020_12_tool",
        description: "Tool with JSON Schema 2020-12 features",
        schema: many_keywords,
        answer: |arguments| text_result(argument(arguments, "name")),
    },
    Fixture {
        name: "test_custom_header",
        description: "Answers with its argument, which a header repeats",
        schema: || {
            json!({
                "type": "object",
                "properties": {"value": {"type": "string", "x-mcp-header": "Value"}},
                "required": ["value"],
            })
        },
        answer: |arguments| text_result(argument(arguments, "value")),
    },
];

/// The tools of this group.
pub(super) fn tools() -> impl Iterator<Item = Tool> {
    FIXTURES.iter().map(|fixture| super::tool(fixture.name, fixture.description, (fixture.schema)()))
}

/// The answer of a tool of this group; `None` for another tool.
pub(super) fn call(name: &str, arguments: &JsonObject) -> Option<Called> {
    let fixture = FIXTURES.iter().find(|fixture| fixture.name == name)?;
    let mut answer = (fixture.answer)(arguments);
    answer["resultType"] = "complete".into();
    let result: Result<CallToolResult, ErrorData> = Ok(super::read(answer));
    Some(result.map(Into::into))
}

fn nothing() -> Value {
    json!({"type": "object", "properties": {}})
}

/// Keywords that a server may lose: anchors, composition, conditions.
fn many_keywords() -> Value {
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "$defs": {
            "address": {
                "$anchor": "addressDef",
                "type": "object",
                "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
            },
        },
        "properties": {
            "name": {"type": "string"},
            "address": {"$ref": "#/$defs/address"},
            "contactMethod": {"type": "string", "enum": ["phone", "email"]},
            "phone": {"type": "string"},
            "email": {"type": "string"},
        },
        "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
        "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
        "then": {"required": ["phone"]},
        "else": {"required": ["email"]},
        "additionalProperties": false,
    })
}

fn text_result(text: &str) -> Value {
    json!({"content": [{"type": "text", "text": text}]})
}

fn picture() -> Value {
    json!({"type": "image", "data": PIXEL_PNG, "mimeType": "image/png"})
}

fn resource(uri: &str, mime_type: &str, text: &str) -> Value {
    json!({"type": "resource", "resource": {"uri": uri, "mimeType": mime_type, "text": text}})
}

fn argument<'a>(arguments: &'a JsonObject, name: &str) -> &'a str {
    arguments.get(name).and_then(Value::as_str).unwrap_or_default()
}
