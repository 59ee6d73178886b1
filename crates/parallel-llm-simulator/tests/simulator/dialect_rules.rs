//! The rules of each dialect: its fields, its images, its provider preferences, and its models.

use parallel_llm_simulator::{Simulator, SimulatorConfig};
use serde_json::{Value, json};

use crate::client::{Ask, chat, get, send};
use crate::dialect::*;

/// Fields added to a body, with the status and the text of the reply.
const STRICT: &[(Encoder, &str, u16, &str)] = &[
    (
        OPENAI,
        r#"{"max_tokens":5}"#,
        400,
        r#"{"error":{"message":"Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.","type":"invalid_request_error","param":"max_tokens","code":"unsupported_parameter"}}"#,
    ),
    (
        OPENAI,
        r#"{"temperature":0.2}"#,
        400,
        r#"{"error":{"message":"Unsupported parameter: 'temperature' is not supported with this model.","type":"invalid_request_error","param":"temperature","code":"unsupported_parameter"}}"#,
    ),
    (
        OPENAI,
        r#"{"provider":{}}"#,
        400,
        r#"{"error":{"message":"Unknown parameter: 'provider'.","type":"invalid_request_error","param":"provider","code":"unknown_parameter"}}"#,
    ),
    (
        OPENAI,
        r#"{"model":"gpt-6.1-sol","reasoning_effort":"none"}"#,
        400,
        r#"{"error":{"message":"Unsupported value: 'reasoning_effort' does not support 'none' with this model. Supported values are: 'low', 'medium', and 'high'.","type":"invalid_request_error","param":"reasoning_effort","code":"unsupported_value"}}"#,
    ),
    (
        OPENAI,
        r#"{"model":"openai/gpt-6-luna"}"#,
        404,
        r#"{"error":{"message":"The model `openai/gpt-6-luna` does not exist or you do not have access to it.","type":"invalid_request_error","param":null,"code":"model_not_found"}}"#,
    ),
    (
        OPENAI,
        r#"{"max_completion_tokens":200000}"#,
        400,
        r#"{"error":{"message":"max_tokens is too large: 200000. This model supports at most 128000 completion tokens, whereas you provided 200000.","type":"invalid_request_error","param":"max_completion_tokens","code":"invalid_value"}}"#,
    ),
    (
        ANTHROPIC,
        r#"{"store":true}"#,
        400,
        r#"{"type":"error","error":{"type":"invalid_request_error","message":"store: Extra inputs are not permitted"},"request_id":"req_LETTERS"}"#,
    ),
    (
        ANTHROPIC,
        r#"{"messages":[{"role":"user","content":"Hi","name":"x"}]}"#,
        400,
        r#"{"type":"error","error":{"type":"invalid_request_error","message":"messages.0.name: Extra inputs are not permitted"},"request_id":"req_LETTERS"}"#,
    ),
    (
        ANTHROPIC,
        r#"{"messages":[{"role":"assistant","content":"Hi"}]}"#,
        400,
        r#"{"type":"error","error":{"type":"invalid_request_error","message":"messages: first message must use the \"user\" role"},"request_id":"req_LETTERS"}"#,
    ),
    (
        ANTHROPIC,
        r#"{"messages":[{"role":"system","content":"Hi"}]}"#,
        400,
        r#"{"type":"error","error":{"type":"invalid_request_error","message":"messages: Unexpected role \"system\". The Messages API accepts a top-level `system` parameter, not \"system\" as an input message role."},"request_id":"req_LETTERS"}"#,
    ),
    (
        ANTHROPIC,
        r#"{"temperature":1.5}"#,
        400,
        r#"{"type":"error","error":{"type":"invalid_request_error","message":"temperature: Input should be less than or equal to 1"},"request_id":"req_LETTERS"}"#,
    ),
    (
        ANTHROPIC,
        r#"{"max_tokens":200000}"#,
        400,
        r#"{"type":"error","error":{"type":"invalid_request_error","message":"max_tokens: 200000 > 128000, which is the maximum allowed number of output tokens for claude-haiku-5.5"},"request_id":"req_LETTERS"}"#,
    ),
    (
        ANTHROPIC,
        r#"{"messages":[]}"#,
        400,
        r#"{"type":"error","error":{"type":"invalid_request_error","message":"messages: at least one message is required"},"request_id":"req_LETTERS"}"#,
    ),
    (
        GEMINI,
        r#"{"generationConfig":{"max_tokens":5}}"#,
        400,
        r#"{"error":{"code":400,"message":"Invalid JSON payload received. Unknown name \"max_tokens\" at 'generationConfig': Cannot find field.","status":"INVALID_ARGUMENT","details":[{"@type":"type.googleapis.com/google.rpc.BadRequest","fieldViolations":[{"description":"Invalid JSON payload received. Unknown name \"max_tokens\" at 'generationConfig': Cannot find field.","field":"generationConfig.max_tokens"}]}]}}"#,
    ),
    (
        GEMINI,
        r#"{"contents":[{"role":"assistant","parts":[{"text":"Hi"}]}]}"#,
        400,
        r#"{"error":{"code":400,"message":"Please use a valid role: user, model.","status":"INVALID_ARGUMENT"}}"#,
    ),
    (
        GEMINI,
        r#"{"generation_config":{"thinking_config":{"thinking_budget":0}}}"#,
        400,
        r#"{"error":{"code":400,"message":"Budget 0 is invalid. This model only works in thinking mode.","status":"INVALID_ARGUMENT"}}"#,
    ),
    (
        GEMINI_COMPAT,
        r#"{"store":true}"#,
        400,
        r#"[{"error":{"code":400,"message":"Invalid JSON payload received. Unknown name \"store\": Cannot find field.","status":"INVALID_ARGUMENT","details":[{"@type":"type.googleapis.com/google.rpc.BadRequest","fieldViolations":[{"description":"Invalid JSON payload received. Unknown name \"store\": Cannot find field.","field":"store"}]}]}}]"#,
    ),
    (
        GROQ,
        r#"{"logprobs":true}"#,
        400,
        r#"{"error":{"message":"property 'logprobs' is unsupported","type":"invalid_request_error","param":null,"code":null}}"#,
    ),
    (
        GROQ,
        r#"{"messages":[{"role":"user","content":"Hi","name":"x"}]}"#,
        400,
        r#"{"error":{"message":"'messages.0.name' : property 'name' is unsupported","type":"invalid_request_error","param":null,"code":null}}"#,
    ),
    (
        GROQ,
        r#"{"n":2}"#,
        400,
        r#"{"error":{"message":"'n' : number must be at most 1","type":"invalid_request_error","param":null,"code":null}}"#,
    ),
    (
        DEEPSEEK,
        r#"{"messages":[{"role":"developer","content":"Hi"}]}"#,
        422,
        r#"{"error":{"message":"Failed to deserialize the JSON body into the target type: messages.0.role: unknown variant \"developer\", expected one of `system`, `user`, `assistant`, `tool`","type":"invalid_request_error","param":null,"code":"invalid_request_error"}}"#,
    ),
    (
        DEEPSEEK,
        r#"{"temperature":3}"#,
        400,
        r#"{"error":{"message":"Invalid temperature value, the valid range of temperature is [0, 2]","type":"invalid_request_error","param":null,"code":"invalid_request_error"}}"#,
    ),
    (
        XAI,
        r#"{"reasoning_effort":"high"}"#,
        400,
        r#"{"code":"Client specified an invalid argument","error":"Argument not supported on this model: reasoning_effort"}"#,
    ),
    (
        XAI,
        r#"{"stop":["x"]}"#,
        400,
        r#"{"code":"Client specified an invalid argument","error":"Argument not supported on this model: stop"}"#,
    ),
    (
        XAI,
        r#"{"messages":[{"role":"developer","content":"Hi"}]}"#,
        422,
        r#"{"code":"Client specified an invalid argument","error":"messages: unknown role \"developer\""}"#,
    ),
    (
        MISTRAL,
        r#"{"max_completion_tokens":100,"stream_options":{"include_usage":true}}"#,
        422,
        r#"{"detail":[{"type":"extra_forbidden","loc":["body","max_completion_tokens"],"msg":"Extra inputs are not permitted","input":100},{"type":"extra_forbidden","loc":["body","stream_options"],"msg":"Extra inputs are not permitted","input":{"include_usage":true}}]}"#,
    ),
    (
        MISTRAL,
        r#"{"temperature":1.7}"#,
        422,
        r#"{"detail":[{"type":"less_than_equal","loc":["body","temperature"],"msg":"Input should be less than or equal to 1.5","input":1.7}]}"#,
    ),
    (
        MISTRAL,
        r#"{"model":"nobody"}"#,
        400,
        r#"{"object":"error","message":"Invalid model: nobody","type":"invalid_model","param":null,"code":"1500"}"#,
    ),
    (
        MOONSHOT,
        r#"{"temperature":1.2}"#,
        400,
        r#"{"error":{"message":"Invalid request: invalid temperature: 1.2, only values in [0, 1] are allowed","type":"invalid_request_error"}}"#,
    ),
    (
        VLLM,
        r#"{"messages":7}"#,
        422,
        r#"{"detail":[{"type":"value_error","loc":["body"],"msg":"Value error, invalid argument","input":null}]}"#,
    ),
    (
        VLLM,
        r#"{"max_tokens":262144}"#,
        400,
        r#"{"error":{"message":"This model's maximum context length is 262144 tokens. However, you requested 262145 tokens (1 in the messages, 262144 in the completion). Please reduce the length of the messages or completion.","type":"BadRequestError","param":null,"code":400}}"#,
    ),
];

#[tokio::test]
async fn every_dialect_is_as_strict_as_its_provider() {
    for (form, fields, status, expected) in STRICT {
        let simulator = Simulator::start(SimulatorConfig::instant()).await.unwrap();
        let mut body = form.body("Hi", false);
        let fields: Value = serde_json::from_str(fields).unwrap();
        body.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        let reply = send(&simulator, &form.ask(&simulator, &body, false)).await;
        let text = reply.text().replace(FIRST_LETTERS, "LETTERS");
        assert_eq!((reply.status, text.as_str()), (*status, *expected), "{form:?} {fields}");
    }
}

#[tokio::test]
async fn fields_that_a_provider_ignores_are_ignored() {
    for form in [ANTHROPIC_COMPAT, DEEPSEEK, TOGETHER, MOONSHOT, OLLAMA, LM_STUDIO, VLLM] {
        let simulator = Simulator::start(SimulatorConfig::instant()).await.unwrap();
        assert_eq!(form.with(&simulator, "nobody_knows", json!(1)).await.status, 200, "{form:?}");
    }
    let simulator = Simulator::start(SimulatorConfig::instant()).await.unwrap();
    for (form, field, is_limit) in [
        (DEEPSEEK, "max_completion_tokens", false),
        (DEEPSEEK, "max_tokens", true),
        (TOGETHER, "max_completion_tokens", false),
        (VLLM, "max_completion_tokens", true),
        (OPENAI, "max_completion_tokens", true),
    ] {
        let reply = form.with(&simulator, field, json!(2)).await.json();
        assert_eq!(reply["choices"][0]["finish_reason"] == "length", is_limit, "{form:?} {field}");
    }
    // The newer version of the Messages API has no sampling options.
    let mut body = ANTHROPIC.body("Hi", false);
    body["temperature"] = json!(0.5);
    let mut ask = ANTHROPIC.ask(&simulator, &body, false);
    assert_eq!(send(&simulator, &ask).await.status, 200);
    ask.extra_headers = ask.extra_headers.replace("2023-06-01", "2026-10-21");
    let reply = send(&simulator, &ask).await.json();
    assert_eq!(reply["error"]["message"], "temperature: Extra inputs are not permitted");
    body.as_object_mut().unwrap().remove("max_tokens");
    let reply = send(&simulator, &ANTHROPIC.ask(&simulator, &body, false)).await.json();
    assert_eq!(reply["error"]["message"], "max_tokens: Field required");
}

#[tokio::test]
async fn images_go_only_to_models_that_see() {
    let simulator = Simulator::start(SimulatorConfig::instant()).await.unwrap();
    let picture = json!([{"type": "text", "text": "What is it?"}, {"type": "image_url", "image_url": {"url": "data:,"}}]);
    let messages = json!([{"role": "user", "content": picture}]);
    for (form, model, status) in [
        (OPENROUTER, "openai/gpt-6-luna", 200),
        (OPENROUTER, "z-ai/glm-5.3", 404),
        (OPENAI, "gpt-6-luna", 200),
        (OPENAI, "gpt-oss-120b", 400),
        (GROQ, "gpt-oss-120b", 400),
        (DEEPSEEK, "deepseek-v4-pro-0813", 400),
        (VLLM, "glm-5.3", 400),
    ] {
        let body = json!({"model": model, "messages": messages});
        let reply = send(&simulator, &form.ask(&simulator, &body, false)).await;
        assert_eq!(reply.status, status, "{form:?} {model} {}", reply.text());
    }
    let body = json!({"model": "z-ai/glm-5.3", "messages": messages});
    assert_eq!(
        send(&simulator, &chat(&simulator, &body)).await.text(),
        r#"{"error":{"message":"No endpoints found that support image input","code":404}}"#
    );
    let part = json!({"inlineData": {"mimeType": "application/pdf", "data": ""}});
    let body = json!({"contents": [{"role": "user", "parts": [part, {"text": "Read."}]}]});
    assert_eq!(send(&simulator, &GEMINI.ask(&simulator, &body, false)).await.status, 200);
    let body = json!({"contents": [{"role": "user", "parts": [{"inlineData": {"mimeType": "audio/wav", "data": ""}}]}]});
    let reply = send(&simulator, &GEMINI.ask(&simulator, &body, false)).await.json();
    assert_eq!(reply["error"]["message"], "audio input modality is not enabled for models/gemini-3.8-flash");
    let body =
        json!({"model": "gpt-oss-120b", "messages": [{"role": "user", "content": "Hi", "images": ["AAAA"]}]});
    assert_eq!(send(&simulator, &OLLAMA_NATIVE.ask(&simulator, &body, false)).await.status, 400);
}

#[tokio::test]
async fn every_dialect_lists_its_models() {
    let simulator = Simulator::start(SimulatorConfig::instant()).await.unwrap();
    let listed = async |path: &str| {
        let mut ask = get(&simulator, path);
        let key = simulator.api_key();
        ask.extra_headers = format!("x-goog-api-key: {key}\r\nanthropic-version: 2023-06-01\r\n");
        send(&simulator, &ask).await.json()
    };
    assert_eq!(
        listed("/openai/v1/models").await["data"][0],
        json!({"id": "gpt-6.1-sol", "object": "model", "created": 1_790_000_000, "owned_by": "openai"})
    );
    assert_eq!(
        listed("/anthropic/v1/models").await["data"][0],
        json!({
            "type": "model",
            "id": "claude-opus-5.5",
            "display_name": "Claude Opus 5.5",
            "created_at": "2026-09-21T15:20:00Z",
            "max_input_tokens": 1_000_000,
            "max_tokens": 128_000,
        })
    );
    assert_eq!(
        listed("/gemini/v1beta/models").await["models"][0],
        json!({
            "name": "models/gemini-4-argon",
            "version": "001",
            "displayName": "Gemini 4 Argon",
            "inputTokenLimit": 1_048_576,
            "outputTokenLimit": 943_718,
            "supportedGenerationMethods": ["generateContent", "countTokens"],
            "thinking": true,
        })
    );
    assert_eq!(listed("/gemini/v1beta/openai/models").await["data"][0]["id"], "gemini-4-argon");
    assert_eq!(listed("/mistral/v1/models").await["data"][0]["max_context_length"], 1_048_576);
    assert_eq!(listed("/ollama/api/tags").await["models"][0]["name"], "gpt-6.1-sol");
    for name in Simulator::dialects() {
        let base = simulator.base_url_of(name).unwrap();
        let list = listed(base.strip_prefix(&simulator.origin()).unwrap()).await;
        assert_ne!(list["error"], Value::Null, "{name} has nothing at its base");
        let list = listed(&format!("{}/models", base.strip_prefix(&simulator.origin()).unwrap())).await;
        let entries = list["data"].as_array().or(list["models"].as_array()).unwrap();
        assert!(!entries.is_empty() && !list.to_string().contains("fault-"), "{name}");
    }
    let ask = Ask { authorization: None, ..get(&simulator, "/groq/openai/v1/models") };
    assert_eq!(send(&simulator, &ask).await.status, 401);
}
