//! The description of the endpoint in OpenAPI 3.1, made of the types that are read and written.

use axum::response::{IntoResponse, Response};
use parallel_llm_engine::plan::IDEMPOTENCY_KEY_BYTES_MAX;
use parallel_llm_service::report::ErrorReport;
use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, SchemaGenerator};
use serde_json::{Map, Value, json};

use crate::caller::Caller;
use crate::models::{ModelList, ModelObject};
use crate::refusal::ErrorBody;
use crate::reply::{self, Chunk, Completion, ResponseObject};
use crate::request::{
    ChatRequest, NEUTRAL_IN_CHAT, NEUTRAL_IN_ITEM, NEUTRAL_IN_MESSAGE, NEUTRAL_IN_OPTIONS,
    NEUTRAL_IN_REASONING, NEUTRAL_IN_RESPONSES, Neutral, Own, ResponsesRequest, schema_of,
};

/// The path of the document.
pub(crate) const PATH: &str = "/openapi.json";
/// Where the document keeps its schemas.
const SCHEMAS: &str = "/components/schemas";
/// The objects of requests. None has other fields than those described.
const CLOSED: [&str; 10] = [
    "ChatRequest",
    "ChatMessage",
    "StreamOptions",
    "ResponsesRequest",
    "Reasoning",
    "InputItem",
    "Part",
    "ImageFields",
    "FileFields",
    "Own",
];

/// Their fields that are refused unless their value changes nothing.
const NEUTRAL: [(&str, &[Neutral]); 6] = [
    ("ChatRequest", NEUTRAL_IN_CHAT),
    ("ChatMessage", NEUTRAL_IN_MESSAGE),
    ("StreamOptions", NEUTRAL_IN_OPTIONS),
    ("ResponsesRequest", NEUTRAL_IN_RESPONSES),
    ("Reasoning", NEUTRAL_IN_REASONING),
    ("InputItem", NEUTRAL_IN_ITEM),
];

/// A refusal of a route that is not OpenAI's.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "it stands for the body that the listener writes")]
struct ServerRefusal {
    /// The version of the format.
    schema: u32,
    /// The error.
    error: ErrorReport,
}

/// Serves the document.
pub(crate) async fn serve(_caller: Caller) -> Response {
    reply::json(&document()).into_response()
}

/// The document.
pub fn document() -> Value {
    let settings = SchemaSettings::draft2020_12().with(|settings| settings.definitions_path = SCHEMAS.into());
    let mut schemas = Schemas(settings.into_generator());
    let paths = paths(&mut schemas);
    let schemas = schemas.close();
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "A panel of models as one model",
            "version": env!("CARGO_PKG_VERSION"),
            "summary": parallel_llm_settings::DESCRIPTION,
            "license": { "name": "MIT OR Apache-2.0", "identifier": "MIT OR Apache-2.0" },
        },
        "servers": [{ "url": "/", "description": "the server that serves this document" }],
        "security": [{ "token": [] }],
        "tags": [{ "name": "questions" }, { "name": "models" }, { "name": "server" }],
        "paths": paths,
        "components": {
            "schemas": schemas,
            "securitySchemes": {
                "token": {
                    "type": "http",
                    "scheme": "bearer",
                    "description": "A token of this server. A server that wants none takes none.",
                },
            },
        },
    })
}

/// The schemas of the types that the document names.
struct Schemas(SchemaGenerator);

impl Schemas {
    /// A reference to the schema of a type.
    fn of<T: JsonSchema>(&mut self) -> Value {
        self.0.subschema_for::<T>().to_value()
    }

    /// All of them, with the fields that are refused unless their value changes nothing.
    fn close(mut self) -> Map<String, Value> {
        let mut schemas = self.0.take_definitions(true);
        for name in CLOSED {
            if let Some(schema) = schemas.get_mut(name) {
                schema["additionalProperties"] = false.into();
            }
        }
        // Read as optional fields, so that a missing one is refused by its name.
        if let Some(required) = schemas.get_mut("ChatMessage").and_then(|it| it["required"].as_array_mut()) {
            required.push("content".into());
        }
        if let Some(item) = schemas.get_mut("InputItem") {
            let reasoning =
                json!({ "required": ["type"], "properties": { "type": { "const": "reasoning" } } });
            item["anyOf"] = json!([{ "required": ["role", "content"] }, reasoning]);
        }
        if let Some(own) = schemas.get_mut("Own").and_then(|own| own["properties"].as_object_mut()) {
            own.extend(Own::options().map(|field| (field.name.to_owned(), schema_of(field).to_value())));
        }
        for (name, fields) in NEUTRAL {
            let properties = schemas.get_mut(name).and_then(|schema| schema["properties"].as_object_mut());
            if let Some(properties) = properties {
                properties.extend(fields.iter().map(neutral));
            }
        }
        schemas
    }
}

/// The property of a field that is refused unless its value changes nothing.
fn neutral(field: &Neutral) -> (String, Value) {
    let values: Vec<Value> = std::iter::once(Value::Null).chain(field.values()).collect();
    let about = format!("Accepted only where it changes nothing: {}.", field.why);
    (field.name.to_owned(), json!({ "description": about, "enum": values }))
}

fn paths(schemas: &mut Schemas) -> Value {
    let (error, refusal) = (schemas.of::<ErrorBody>(), schemas.of::<ServerRefusal>());
    let chat = (schemas.of::<ChatRequest>(), schemas.of::<Completion>(), schemas.of::<Chunk<'static>>());
    let response = (schemas.of::<ResponsesRequest>(), schemas.of::<ResponseObject>());
    let (list, model) = (schemas.of::<ModelList>(), schemas.of::<ModelObject>());
    let asking = |id: &str, about: &str, request: &Value, answer: &Value| {
        json!({
            "operationId": id,
            "tags": ["questions"],
            "summary": about,
            "parameters": [header("Idempotency-Key", "A repeated request with the same key is the same run.")],
            "requestBody": { "required": true, "content": { "application/json": { "schema": request } } },
            "responses": {
                "200": {
                    "description": "The answer; with `stream`, its events.",
                    "headers": { "x-request-id": { "description": "The id of the run.", "schema": { "type": "string" } } },
                    "content": {
                        "application/json": { "schema": answer },
                        "text/event-stream": { "schema": { "type": "string" } },
                    },
                },
                "default": failure(&error),
            },
        })
    };
    let reading = |id: &str, about: &str, tag: &str, answer: &Value, parameters: Value| {
        json!({
            "operationId": id,
            "tags": [tag],
            "summary": about,
            "parameters": parameters,
            "responses": {
                "200": { "description": about, "content": { "application/json": { "schema": answer } } },
                "default": failure(&error),
            },
        })
    };
    let id = |about: &str| json!([{ "name": "id", "in": "path", "required": true, "description": about, "schema": { "type": "string" } }]);
    let any = json!({ "type": "object" });
    let of_answer = "The id of the answer.";
    json!({
        "/v1/chat/completions": { "post": asking("createChatCompletion", "Asks a panel a question", &chat.0, &chat.1) },
        "/v1/chat/completions/{id}": {
            "get": reading("getChatCompletion", "The chat completion of a run", "questions", &chat.1, id(of_answer)),
        },
        "/v1/responses": { "post": asking("createResponse", "Asks a panel a question", &response.0, &response.1) },
        "/v1/responses/{id}": {
            "get": reading("getResponse", "The response of a run", "questions", &response.1, id(of_answer)),
        },
        "/v1/models": { "get": reading("listModels", "The names of panels", "models", &list, json!([])) },
        "/v1/models/{id}": {
            "get": reading("getModel", "The panel of a name", "models", &model, id("The name; a `/` in it may be written `%2F`.")),
        },
        "/healthz": { "get": open("getHealth", "Whether the process lives", &["200"]) },
        "/readyz": { "get": open("getReadiness", "Whether the server can take a question", &["200", "503"]) },
        "/metrics": { "get": reading_text("getFigures", "The figures of the server, if they are on", &refusal) },
        "/openapi.json": { "get": reading("getDescription", "This document", "server", &any, json!([])) },
    })
}

/// A route that is open to everyone.
fn open(id: &str, about: &str, statuses: &[&str]) -> Value {
    let answer = json!({ "description": about });
    let responses: Map<String, Value> =
        statuses.iter().map(|status| ((*status).to_owned(), answer.clone())).collect();
    json!({ "operationId": id, "tags": ["server"], "summary": about, "security": [], "responses": responses })
}

/// A route that answers in text.
fn reading_text(id: &str, about: &str, error: &Value) -> Value {
    let text = json!({ "text/plain": { "schema": { "type": "string" } } });
    json!({
        "operationId": id,
        "tags": ["server"],
        "summary": about,
        "responses": { "200": { "description": about, "content": text }, "default": failure(error) },
    })
}

fn header(name: &str, about: &str) -> Value {
    let pattern = format!("^[!-~]{{1,{IDEMPOTENCY_KEY_BYTES_MAX}}}$");
    json!({ "name": name, "in": "header", "description": about, "schema": { "type": "string", "pattern": pattern } })
}

fn failure(error: &Value) -> Value {
    json!({
        "description": "Why there is no answer.",
        "content": { "application/json": { "schema": error } },
    })
}
