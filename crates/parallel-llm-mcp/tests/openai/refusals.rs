//! Refusals: each names its field, in the shape that clients of OpenAI read.

use std::fmt::Write as _;
use std::net::SocketAddr;

use serde_json::{Value, json};

use super::{chat, masked, panel, send};
use crate::http::client::{Reply, Wire};
use crate::http::program::{sandbox_with, serve};

/// A refusal in one line: status, code, field, message.
fn line(reply: &Reply) -> String {
    let error = &reply.json()["error"];
    let text = |name: &str| error[name].as_str().unwrap_or("-").to_owned();
    format!("{} {} {}: {}", reply.status, text("code"), text("param"), text("message"))
}

/// The body with this field.
fn with(mut body: Value, name: &str, value: Value) -> Value {
    body[name] = value;
    body
}

/// Fields of a chat that cannot be honoured or used.
fn fields_of_chat() -> Vec<(&'static str, Value)> {
    [sampling(), messages(), own()].concat()
}

fn sampling() -> Vec<(&'static str, Value)> {
    vec![
        ("tools", json!([{"type": "function", "function": {"name": "f"}}])),
        ("tool_choice", json!("required")),
        ("functions", json!([{"name": "f"}])),
        ("n", json!(2)),
        ("logprobs", json!(true)),
        ("response_format", json!({"type": "json_object"})),
        ("stop", json!(["\n"])),
        ("logit_bias", json!({"50256": -100})),
        ("presence_penalty", json!(0.5)),
        ("top_p", json!(0.9)),
        ("seed", json!(7)),
        ("audio", json!({"voice": "ash", "format": "mp3"})),
        ("temperature", json!(3)),
        ("temperature", json!("hot")),
        ("max_tokens", json!(0)),
        ("max_completion_tokens", json!(-1)),
        ("reasoning_effort", json!("hihg")),
        ("stream_options", json!({"include_obfuscation": true})),
        ("stream_options", json!({"include_usage": true})),
        ("temprature", json!(1)),
        ("model", json!("gpt-4o")),
        ("model", json!("panel/a/b+")),
    ]
}

fn messages() -> Vec<(&'static str, Value)> {
    vec![
        ("messages", json!([])),
        ("messages", json!("Why?")),
        ("messages", json!([{"role": "tool", "content": "4"}])),
        ("messages", json!([{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}])),
        ("messages", json!([{"role": "user", "content": "  "}])),
        ("messages", json!([{"role": "user"}])),
        ("messages", json!([{"role": "user", "content": "a", "name": "anna"}])),
        ("messages", json!([{"role": "user", "content": "a", "tool_calls": [1]}])),
        ("messages", json!([{"role": "user", "content": [{"type": "input_audio"}]}])),
        ("messages", json!([{"role": "user", "content": [{"type": "text", "image_url": "x"}]}])),
        (
            "messages",
            json!([{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "https://example.com/a.png"}}]}]),
        ),
        (
            "messages",
            json!([{"role": "user", "content": [{"type": "file", "file": {"file_data": "data:application/pdf;base64,!"}}]}]),
        ),
        (
            "messages",
            json!([{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:text/plain;base64,SGk="}}]}]),
        ),
    ]
}

fn own() -> Vec<(&'static str, Value)> {
    vec![
        ("parallel_llm", json!({"budget": 1})),
        ("parallel_llm", json!({"budget_usd": -1})),
        ("parallel_llm", json!({"budget_usd": 0.000_000_1})),
        ("parallel_llm", json!({"deadline_s": 0})),
        ("parallel_llm", json!({"progress": "loud"})),
        ("parallel_llm", json!({"continue_run": "resp_7"})),
        ("parallel_llm", json!({"continue_run": "resp_01JD0M3Z8K5Q2W7V9X4B6N1C0A"})),
        ("parallel_llm", json!({"strategy": "vot"})),
        ("parallel_llm", json!({"idempotency_key": ""})),
    ]
}

#[test]
fn what_cannot_be_honoured_is_refused_by_its_name() {
    let sandbox = sandbox_with(None);
    let (_running, address) = serve(&sandbox, &["--no-auth"], &[]);
    let mut lines = String::new();
    for (name, value) in fields_of_chat() {
        let reply = send(address, "/v1/chat/completions", "", &with(chat(&panel()), name, value));
        writeln!(lines, "{}", line(&reply)).unwrap();
    }
    insta::assert_snapshot!(lines, @r#"
    400 unsupported_parameter tools: `tools` cannot be honoured as `[{"function":{"name":"f"},"type":"function"}]`: a panel calls no tools: leave `tools` out
    400 unsupported_parameter tool_choice: `tool_choice` cannot be honoured as `"required"`: a panel calls no tools: leave `tool_choice` out
    400 unsupported_parameter functions: `functions` cannot be honoured as `[{"name":"f"}]`: a panel calls no tools: leave `functions` out
    400 unsupported_parameter n: `n` cannot be honoured as `2`: a panel gives one answer: leave `n` out
    400 unsupported_parameter logprobs: `logprobs` cannot be honoured as `true`: an answer of several models has no probabilities: leave `logprobs` out
    400 unsupported_parameter response_format: `response_format` cannot be honoured as `{"type":"json_object"}`: the form of a fused answer is not enforced: leave `response_format` out
    400 unsupported_parameter stop: `stop` cannot be honoured as `["\n"]`: a fused answer ends where it ends: leave `stop` out
    400 unsupported_parameter logit_bias: `logit_bias` cannot be honoured as `{"50256":-100}`: not every model of a panel takes it: leave `logit_bias` out
    400 unsupported_parameter presence_penalty: `presence_penalty` cannot be honoured as `0.5`: not every model of a panel takes it: leave `presence_penalty` out
    400 unsupported_parameter top_p: `top_p` cannot be honoured as `0.9`: not every model of a panel takes it: leave `top_p` out
    400 unsupported_parameter seed: `seed` cannot be honoured as `7`: models do not repeat themselves; `Idempotency-Key` repeats an answer: leave `seed` out
    400 unsupported_parameter audio: `audio` cannot be honoured as `{"format":"mp3","voice":"ash"}`: a panel answers in text: leave `audio` out
    400 invalid_value temperature: `temperature` is a number from 0 to 2, not 3.0: for example 0.7
    400 invalid_type temperature: `temperature` cannot be used: invalid type: string "hot", expected a number: see `GET /openapi.json`
    400 invalid_value max_tokens: `max_tokens` is a whole number from 1 to 1000000, not 0: for example 16000
    400 invalid_type max_completion_tokens: `max_completion_tokens` cannot be used: invalid value: integer `-1`, expected a whole number: see `GET /openapi.json`
    400 invalid_type reasoning_effort: `reasoning_effort` cannot be used: there is no `hihg`, expected one of `none`, `minimal`, `low`, `medium`, `high`, `xhigh`, `max`: see `GET /openapi.json`
    400 unsupported_parameter stream_options.include_obfuscation: `stream_options.include_obfuscation` cannot be honoured as `true`: there is no padding: leave `stream_options.include_obfuscation` out
    400 invalid_value stream_options: `stream_options` belongs to a stream, and `stream` is not true: leave `stream_options` out
    400 unknown_parameter temprature: there is no field `temprature`: did you mean `temperature`?
    404 model_not_found model: there is no model `gpt-4o` here: see which models there are with `GET /v1/models`
    400 model_invalid model: `panel/a/b+` has no model on one side of a `+`; one in the name of a model is written `%2B`: write it like `panel/~openai/gpt-sol-latest+~google/gemini-pro-latest`
    400 invalid_value messages: the last message of `messages` is not the user's: give a prompt as a message of the role `user` with text
    400 invalid_type messages: `messages` cannot be used: invalid type: string "Why?", expected a list: see `GET /openapi.json`
    400 invalid_type messages[0].role: `messages[0].role` cannot be used: there is no `tool`, expected one of `system`, `developer`, `user`, `assistant`: see `GET /openapi.json`
    400 invalid_value messages: the last message of `messages` is not the user's: give a prompt as a message of the role `user` with text
    400 prompt_empty messages: the prompt is empty: give a prompt as a message of the role `user` with text
    400 missing_required_parameter messages[0].content: `messages[0].content` is missing: see `GET /openapi.json`
    400 unsupported_parameter messages[0].name: `messages[0].name` cannot be honoured as `"anna"`: the models of a panel are not told names: leave `messages[0].name` out
    400 unsupported_parameter messages[0].tool_calls: `messages[0].tool_calls` cannot be honoured as `[1]`: a panel calls no tools: leave `messages[0].tool_calls` out
    400 invalid_type messages[0].content[0].type: `messages[0].content[0].type` cannot be used: there is no `input_audio`, expected one of `text`, `input_text`, `output_text`, `refusal`, `image_url`, `input_image`, `file`, `input_file`: see `GET /openapi.json`
    400 unknown_parameter messages[0].content[0].image_url: a part of this type has no `image_url`: leave `image_url` out
    400 invalid_value messages[0].content[0].image_url.url: attachment 1 is no data URI in Base64 but `https://example.com/a.png`; paths and links are not read: write it as `data:image/png;base64,...`
    400 invalid_value messages[0].content[0].file.file_data: the Base64 of attachment 1 is broken: invalid symbol 33, offset 0: send it whole, with the standard alphabet and padding, without white space
    400 invalid_value messages[0].content[0].image_url: a text is no picture: put the text into the prompt
    400 unknown_parameter parallel_llm.budget: there is no field `parallel_llm.budget`: did you mean `parallel_llm.budget_usd`?
    400 invalid_value parallel_llm.budget_usd: `parallel_llm.budget_usd` is an amount in US dollars such as 0.50, not -1: for example 0.5
    402 budget -: the run may cost up to $0.67; the budget is $0.00000010: give `parallel_llm.budget_usd` from 0.6746 to 3
    400 invalid_value parallel_llm.deadline_s: `parallel_llm.deadline_s` is a whole number from 1 to 86400, not 0: for example 300
    400 invalid_type parallel_llm.progress: `parallel_llm.progress` cannot be used: there is no `loud`, expected one of `comments`, `reasoning`, `off`: see `GET /openapi.json`
    404 invalid_value parallel_llm.continue_run: `resp_7` is no id of an answer of this server: look for the run with `GET /v1/responses/{id}`
    404 run_not_found parallel_llm.continue_run: no run has an id that begins with `01JD0M3Z8K5Q2W7V9X4B6N1C0A`: look for the run with `GET /v1/responses/{id}`
    400 invalid_value parallel_llm.strategy: there is no strategy `vot`: did you mean `vote`?
    400 invalid_value parallel_llm.idempotency_key: `parallel_llm.idempotency_key` is a string of 1 to 255 bytes, not "": for example "ticket-4711"
    "#);
    assert_eq!(sandbox.chats().len(), 0, "nothing was asked");
    let reply = send(address, "/v1/chat/completions", "", &with(chat(&panel()), "n", json!(2)));
    insta::assert_snapshot!(masked(&reply.json()), @r#"{"error":{"code":"unsupported_parameter","message":"`n` cannot be honoured as `2`: a panel gives one answer: leave `n` out","parallel_llm":{"code":"usage","next":"leave `n` out","retryable":false},"param":"n","type":"invalid_request_error"}}"#);
    assert_eq!(reply.header("x-should-retry"), Some("false"));
}

#[test]
fn what_a_response_cannot_honour_is_refused_by_its_name() {
    let sandbox = sandbox_with(None);
    let (_running, address) = serve(&sandbox, &["--no-auth"], &[]);
    let asked = json!({"model": panel(), "input": "Why?"});
    let mut lines = String::new();
    for (name, value) in [
        ("input", json!(5)),
        ("input", json!([{"type": "function_call_output", "call_id": "c", "output": "4"}])),
        (
            "input",
            json!([{"role": "user", "content": [{"type": "input_image", "image_url": "https://example.com/a.png"}]}]),
        ),
        ("input", json!([{"role": "user", "content": [{"type": "input_image", "file_id": "file-1"}]}])),
        ("previous_response_id", json!("resp_7")),
        ("background", json!(true)),
        ("reasoning", json!({"effort": "low", "summary": "auto"})),
        ("text", json!({"format": {"type": "json_schema", "name": "a", "schema": {}}})),
        ("truncation", json!("auto")),
        ("include", json!(["reasoning.encrypted_content"])),
        ("max_output_tokens", json!(0)),
        ("metadata", json!({"a": 1})),
        ("messages", json!([])),
        ("input", json!([{"type": "reasoning", "summary": [], "encrypted_content": "gAAA"}])),
        ("input", json!([{"type": "reasoning", "summary": [], "role": "user"}])),
        ("input", json!([{"role": "user", "content": "a", "summary": []}])),
        ("input", json!([{"content": "a"}])),
        ("stream_options", json!({"include_obfuscation": false})),
    ] {
        let reply = send(address, "/v1/responses", "", &with(asked.clone(), name, value));
        writeln!(lines, "{}", line(&reply)).unwrap();
    }
    insta::assert_snapshot!(lines, @r#"
    400 invalid_type input: `input` cannot be used: invalid type: integer `5`, expected a text or a list of items: see `GET /openapi.json`
    400 invalid_type input[0].type: `input[0].type` cannot be used: there is no `function_call_output`, expected `message` or `reasoning`: see `GET /openapi.json`
    400 invalid_value input[0].content[0].image_url: attachment 1 is no data URI in Base64 but `https://example.com/a.png`; paths and links are not read: write it as `data:image/png;base64,...`
    400 unknown_parameter input[0].content[0].file_id: there is no field `input[0].content[0].file_id`: did you mean `input[0].content[0].file`?
    404 previous_response_not_found previous_response_id: `resp_7` is no id of an answer of this server: look for the run with `GET /v1/responses/{id}`
    400 unsupported_parameter background: `background` cannot be honoured as `true`: a run goes on by itself; `GET /v1/responses/{id}` reads it: leave `background` out
    400 unsupported_parameter reasoning.summary: `reasoning.summary` cannot be honoured as `"auto"`: the reasoning of several models is not summarized: leave `reasoning.summary` out
    400 unsupported_parameter text: `text` cannot be honoured as `{"format":{"name":"a","schema":{},"type":"json_schema"}}`: the form of a fused answer is not enforced: leave `text` out
    400 unsupported_parameter truncation: `truncation` cannot be honoured as `"auto"`: a conversation is never cut silently: leave `truncation` out
    400 unsupported_parameter include: `include` cannot be honoured as `["reasoning.encrypted_content"]`: there is nothing else to include: leave `include` out
    400 invalid_value max_output_tokens: `max_output_tokens` is a whole number from 1 to 1000000, not 0: for example 16000
    400 invalid_type metadata.a: `metadata.a` cannot be used: invalid type: integer `1`, expected a string: see `GET /openapi.json`
    400 unknown_parameter messages: there is no field `messages`: leave `messages` out
    400 unsupported_parameter input[0].encrypted_content: `input[0].encrypted_content` cannot be honoured as `"gAAA"`: the models of a panel are not told the reasoning of others: leave `input[0].encrypted_content` out
    400 unknown_parameter input[0].role: reasoning of an earlier response has no `role`: leave `role` out
    400 unknown_parameter input[0].summary: a message has no `summary`: leave `summary` out
    400 missing_required_parameter input[0].role: `input[0].role` is missing: see `GET /openapi.json`
    400 invalid_value stream_options: `stream_options` belongs to a stream, and `stream` is not true: leave `stream_options` out
    "#);
    assert_eq!(sandbox.chats().len(), 0, "nothing was asked");
}

/// Sends a request without a body.
fn bare(address: SocketAddr, method: &str, path: &str, headers: &str) -> Reply {
    let mut wire = Wire::to(address);
    wire.write(format!("{method} {path} HTTP/1.1\r\nHost: {address}\r\n{headers}\r\n"));
    wire.reply().expect("an answer")
}

#[test]
fn what_an_address_has_wrong_is_refused_in_the_same_shape() {
    let sandbox = sandbox_with(None);
    let (_running, address) = serve(&sandbox, &["--no-auth"], &[]);
    let id = send(address, "/v1/responses", "", &json!({"model": panel(), "input": "Why?"})).json();
    let path = format!("/v1/responses/{}", id["id"].as_str().unwrap());
    let mut lines = String::new();
    for (method, path) in [
        ("GET", "/v1/responses/%FF"),
        ("GET", "/v1/chat/completions/%FF"),
        ("GET", "/v1/models/panel/%FF"),
        ("DELETE", path.as_str()),
        ("GET", "/v1/responses"),
        ("GET", "/v1/embeddings"),
        ("GET", &format!("{path}?stream=true")),
        ("GET", &format!("{path}?starting_after=3")),
        ("GET", &format!("{path}?include[]=reasoning.encrypted_content")),
        ("GET", &format!("{path}?strem=true")),
    ] {
        let reply = bare(address, method, path, "");
        writeln!(lines, "{} {:?}", line(&reply), reply.header("allow")).unwrap();
    }
    insta::assert_snapshot!(lines, @r#"
    400 usage id: the path cannot be read: Invalid URL: Invalid UTF-8 in `id`: see `GET /openapi.json` None
    400 usage id: the path cannot be read: Invalid URL: Invalid UTF-8 in `id`: see `GET /openapi.json` None
    400 usage model: the path cannot be read: Invalid URL: Invalid UTF-8 in `id`: see `GET /openapi.json` None
    405 usage -: this path does not serve this method: use a method that the header `Allow` names Some("GET,HEAD")
    405 usage -: this path does not serve this method: use a method that the header `Allow` names Some("POST")
    404 usage -: `/v1/embeddings` is not served: a panel only answers questions: choose one of: `POST /v1/chat/completions`, `POST /v1/responses`, `GET /v1/models`, `GET /openapi.json` for all None
    400 unsupported_parameter stream: `stream` cannot be honoured as `"true"`: a stored answer is returned whole: leave `stream` out None
    400 unsupported_parameter starting_after: `starting_after` cannot be honoured as `"3"`: a stored answer is returned whole: leave `starting_after` out None
    400 unsupported_parameter include[]: `include[]` cannot be honoured as `"reasoning.encrypted_content"`: there is nothing else to include: leave `include[]` out None
    400 unknown_parameter strem: there is no field `strem`: did you mean `stream`? None
    "#);
    let embeddings = send(address, "/v1/embeddings", "", &json!({"model": panel(), "input": "Why?"}));
    assert_eq!(embeddings.status, 404, "{embeddings:?}");
    let neutral = bare(address, "GET", &format!("{path}?stream=false&include_obfuscation=false"), "");
    assert_eq!(neutral.status, 200, "{neutral:?}");
}

#[test]
fn a_key_of_the_header_is_visible_and_short() {
    let sandbox = sandbox_with(None);
    let (_running, address) = serve(&sandbox, &["--no-auth"], &[]);
    let long = "k".repeat(256);
    let mut lines = String::new();
    for key in ["two words", "", &long, "a\r\nIdempotency-Key: b"] {
        let reply = bare(address, "GET", "/v1/models", &format!("Idempotency-Key: {key}\r\n"));
        writeln!(lines, "{}", line(&reply)).unwrap();
    }
    insta::assert_snapshot!(lines, @"
    400 invalid_value idempotency-key: the header `idempotency-key` is not one text of 1 to 255 visible characters without spaces: leave the idempotency key out, or give one of your own such as `ticket-4711`
    400 invalid_value idempotency-key: the header `idempotency-key` is not one text of 1 to 255 visible characters without spaces: leave the idempotency key out, or give one of your own such as `ticket-4711`
    400 invalid_value idempotency-key: the header `idempotency-key` is not one text of 1 to 255 visible characters without spaces: leave the idempotency key out, or give one of your own such as `ticket-4711`
    400 invalid_value idempotency-key: the header `idempotency-key` is not one text of 1 to 255 visible characters without spaces: leave the idempotency key out, or give one of your own such as `ticket-4711`
    ");
}

/// Refusals of the listener, which are made before the route is known, have the same shape.
#[test]
fn refusals_of_the_listener_have_the_same_shape() {
    let sandbox = sandbox_with(None);
    let (_running, address) = serve(&sandbox, &[], &[]);
    let head = format!("POST /v1/chat/completions HTTP/1.1\r\nHost: {address}\r\n");
    let mut lines = String::new();
    for rest in [
        "Content-Type: application/json\r\nContent-Length: 2\r\n\r\n{}",
        "Content-Type: application/json\r\nAuthorization: Bearer plm_wrong\r\nContent-Length: 2\r\n\r\n{}",
        "Origin: https://evil.example\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}",
    ] {
        let mut wire = Wire::to(address);
        wire.write(format!("{head}{rest}"));
        writeln!(lines, "{}", line(&wire.reply().expect("an answer"))).unwrap();
    }
    insta::assert_snapshot!(lines, @"
    401 invalid_api_key -: the request brings no token: ask the owner of this server for a token, and send it as `Authorization: Bearer ...`
    401 invalid_api_key -: this is not a complete token of this server: copy the token again: it was mistyped or cut off
    403 host_refused -: pages of the origin `https://evil.example` may not ask here: call the server by the address that it prints at its start, or ask the owner of this server to add the name to `http_hosts`, the origin to `http_origins`
    ");
}
