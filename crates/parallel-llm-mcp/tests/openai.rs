//! The OpenAI-compatible endpoint as its clients see it: whole answers, streams, and refusals.
//!
//! Several checks share a server, because starting one takes longer than most of them.

mod conversations;
mod malformed;
mod recursion;
mod refusals;
mod streams;

use std::net::SocketAddr;

use parallel_llm_testkit::simulator::{Fault, Script};
use serde_json::{Value, json};

use crate::http::client::{Reply, Wire, post};
use crate::http::program::{PANEL, sandbox_with, serve};

/// The panel of most tests as a model.
pub(crate) fn panel() -> String {
    format!("panel/{}", PANEL.join("+"))
}

/// A chat that asks this panel.
fn chat(model: &str) -> Value {
    json!({"model": model, "messages": [{"role": "user", "content": "Which is safer, and why?"}]})
}

/// Posts to the endpoint.
fn send(address: SocketAddr, path: &str, headers: &str, body: &Value) -> Reply {
    let mut wire = Wire::to(address);
    wire.write(post(address, path, headers, &body.to_string()));
    wire.reply().expect("an answer")
}

fn get(address: SocketAddr, path: &str) -> Reply {
    let mut wire = Wire::to(address);
    wire.write(format!("GET {path} HTTP/1.1\r\nHost: {address}\r\n\r\n"));
    wire.reply().expect("an answer")
}

/// A body with placeholders for what differs from run to run.
fn masked(body: &Value) -> String {
    let mut body = body.clone();
    mask(&mut body);
    body.to_string()
}

fn mask(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            for (name, field) in fields {
                match name.as_str() {
                    "created" | "created_at" | "elapsed_ms" => *field = format!("<{name}>").into(),
                    _ => mask(field),
                }
            }
        }
        Value::Array(values) => values.iter_mut().for_each(mask),
        Value::String(text) => *text = without_ids(text),
        _ => {}
    }
}

/// A text with placeholders for the ids of runs.
fn without_ids(text: &str) -> String {
    const ID_CHARS: usize = 26;
    let is_of_id = |letter: char| letter.is_ascii_digit() || letter.is_ascii_uppercase();
    let words = text.split_inclusive(|letter| !is_of_id(letter));
    words
        .map(|word| {
            let id = word.trim_end_matches(|letter| !is_of_id(letter));
            if id.len() == ID_CHARS && id.chars().all(is_of_id) {
                word.replacen(id, "<run>", 1)
            } else {
                word.to_owned()
            }
        })
        .collect()
}

#[test]
fn a_chat_is_answered_whole() {
    let fused = Script::answering("The first one.");
    let sandbox = sandbox_with(None).scripted(PANEL[1], fused);
    let (_running, address) = serve(&sandbox, &["--no-auth"], &[("synthesizer", PANEL[1])]);
    let mut asked = chat(&panel());
    asked["messages"] = json!([
        {"role": "developer", "content": "Be brief."},
        {"role": "user", "content": "Which are there?"},
        {"role": "assistant", "content": "Two.", "refusal": null, "annotations": [], "tool_calls": null},
        {"role": "user", "content": [{"type": "text", "text": "Which is safer?"}]},
    ]);
    // What clients send by default.
    for (name, neutral) in [
        ("n", json!(1)),
        ("presence_penalty", json!(0.0)),
        ("tools", json!([])),
        ("parallel_tool_calls", json!(true)),
        ("response_format", json!({"type": "text"})),
        ("stop", Value::Null),
        ("user", json!("anna")),
        ("stream", json!(false)),
    ] {
        asked[name] = neutral;
    }
    let reply = send(address, "/v1/chat/completions", "Idempotency-Key: one\r\n", &asked);
    assert_eq!(reply.status, 200, "{reply:?}");
    let body = reply.json();
    insta::assert_snapshot!(masked(&body), @r#"{"choices":[{"finish_reason":"stop","index":0,"logprobs":null,"message":{"content":"The first one.","refusal":null,"role":"assistant"}}],"created":"<created>","id":"chatcmpl-<run>","model":"panel/openai/gpt-6.1-sol+google/gemini-4-argon+x-ai/grok-4.7","object":"chat.completion","parallel_llm":{"by":"google/gemini-4-argon","cost_is_estimate":false,"cost_usd":0.003424,"elapsed_ms":"<elapsed_ms>","missing":[],"run_id":"<run>","status":"complete","synthesis":"fused","usage_lacks_calls":false,"warnings":[]},"usage":{"completion_tokens":207,"completion_tokens_details":{"reasoning_tokens":0},"cost":0.003424,"prompt_tokens":851,"prompt_tokens_details":{"cached_tokens":0},"total_tokens":1058}}"#);
    let id = body["id"].as_str().unwrap();
    assert_eq!(Some(id), reply.header("x-request-id").map(|run| format!("chatcmpl-{run}")).as_deref());
    assert_eq!(
        reply.header("x-parallel-llm-cost-usd").unwrap(),
        body["parallel_llm"]["cost_usd"].to_string()
    );
    // What the models were sent.
    let sent = sandbox.chats().into_iter().find(|chat| chat.model.as_deref() == Some(PANEL[0])).unwrap();
    insta::assert_snapshot!(sent.body["messages"].to_string(), @r#"[{"content":"Be brief.","role":"system"},{"content":"Which are there?","role":"user"},{"content":"Two.","role":"assistant"},{"content":"Which is safer?","role":"user"}]"#);
    // The same key and question are the same run, and nothing is paid again.
    let calls = sandbox.chats().len();
    let again = send(address, "/v1/chat/completions", "Idempotency-Key: one\r\n", &asked);
    assert_eq!((again.status, again.json()["id"].as_str()), (200, Some(id)), "{again:?}");
    assert_eq!(sandbox.chats().len(), calls);
    // The answer can be had again by its id.
    let stored = get(address, &format!("/v1/chat/completions/{id}"));
    assert_eq!(stored.json()["choices"], body["choices"], "{stored:?}");
}

#[test]
fn a_response_is_answered_whole_and_its_conversation_goes_on() {
    let sandbox = sandbox_with(None).scripted(PANEL[1], Script::answering("The first one."));
    let (_running, address) = serve(&sandbox, &["--no-auth"], &[("synthesizer", PANEL[1])]);
    let asked = json!({
        "model": panel(),
        "instructions": "Be brief.",
        "input": "Which is safer?",
        "metadata": {"ticket": "4711"},
        "max_output_tokens": 900,
        "reasoning": {"effort": "low", "summary": null},
        "text": {"format": {"type": "text"}},
    });
    let reply = send(address, "/v1/responses", "", &asked);
    assert_eq!(reply.status, 200, "{reply:?}");
    let body = reply.json();
    insta::assert_snapshot!(masked(&body), @r#"{"background":false,"created_at":"<created_at>","error":null,"id":"resp_<run>","incomplete_details":null,"instructions":"Be brief.","max_output_tokens":900,"metadata":{"ticket":"4711"},"model":"panel/openai/gpt-6.1-sol+google/gemini-4-argon+x-ai/grok-4.7","object":"response","output":[{"content":[{"annotations":[],"logprobs":[],"text":"The first one.","type":"output_text"}],"id":"msg_<run>","role":"assistant","status":"completed","type":"message"}],"parallel_llm":{"by":"google/gemini-4-argon","cost_is_estimate":false,"cost_usd":0.003362,"elapsed_ms":"<elapsed_ms>","missing":[],"run_id":"<run>","status":"complete","synthesis":"fused","usage_lacks_calls":false,"warnings":[]},"parallel_tool_calls":false,"previous_response_id":null,"reasoning":{"effort":"low","summary":null},"status":"completed","store":true,"temperature":null,"text":{"format":{"type":"text"}},"tool_choice":"none","tools":[],"top_p":null,"truncation":"disabled","usage":{"input_tokens":820,"input_tokens_details":{"cached_tokens":0},"output_tokens":207,"output_tokens_details":{"reasoning_tokens":0},"total_tokens":1027},"user":null}"#);
    let id = body["id"].as_str().unwrap();
    let further = json!({
        "model": panel(),
        "previous_response_id": id,
        "input": [{"role": "user", "content": [{"type": "input_text", "text": "Are you sure?"}]}],
    });
    let further = send(address, "/v1/responses", "", &further);
    assert_eq!(further.status, 200, "{further:?}");
    assert_eq!(further.json()["previous_response_id"], id);
    let sent =
        sandbox.chats().into_iter().rev().find(|chat| chat.model.as_deref() == Some(PANEL[0])).unwrap();
    insta::assert_snapshot!(sent.body["messages"].to_string(), @r#"[{"content":"Which is safer?","role":"user"},{"content":"The first one.","role":"assistant"},{"content":"Are you sure?","role":"user"}]"#);
    let stored = get(address, &format!("/v1/responses/{id}"));
    assert_eq!(stored.json()["output"], body["output"], "{stored:?}");
}

#[test]
fn pictures_and_documents_reach_the_models_in_their_place() {
    let sandbox = sandbox_with(None);
    let (_running, address) = serve(&sandbox, &["--no-auth"], &[]);
    let picture = "data:image/png;base64,iVBORw0KGgoAAAANSUhEUg==";
    let document = "data:application/pdf;base64,JVBERi0xLjcK";
    let mut asked = chat(&format!("panel/{}", PANEL[0]));
    asked["messages"][0]["content"] = json!([
        {"type": "text", "text": "Before"},
        {"type": "image_url", "image_url": {"url": picture, "detail": "low"}},
        {"type": "text", "text": "between"},
        {"type": "file", "file": {"filename": "plan.pdf", "file_data": document}},
    ]);
    assert_eq!(send(address, "/v1/chat/completions", "", &asked).status, 200);
    let of_chat = sandbox.chats()[0].body.clone();
    let input = json!({
        "model": format!("panel/{}", PANEL[0]),
        "parallel_llm": {"fresh": true},
        "input": [{"role": "user", "content": [
            {"type": "input_text", "text": "Before"},
            {"type": "input_image", "image_url": picture, "detail": "low"},
            {"type": "input_text", "text": "between"},
            {"type": "input_file", "filename": "plan.pdf", "file_data": document},
        ]}],
    });
    assert_eq!(send(address, "/v1/responses", "", &input).status, 200);
    let of_response = sandbox.chats().last().unwrap().body.clone();
    assert_eq!(of_chat["messages"], of_response["messages"]);
    insta::assert_snapshot!(of_chat["messages"].to_string(), @r#"[{"content":[{"text":"Before","type":"text"},{"image_url":{"detail":"low","url":"data:image/png;base64,iVBORw0KGgoAAAANSUhEUg=="},"type":"image_url"},{"text":"between","type":"text"},{"file":{"file_data":"data:application/pdf;base64,JVBERi0xLjcK","filename":"plan.pdf"},"type":"file"}],"role":"user"}]"#);
}

#[test]
fn models_are_presets_flows_strategies_and_panels() {
    let sandbox = sandbox_with(None);
    let (_running, address) = serve(&sandbox, &["--no-auth"], &[]);
    let list = get(address, "/v1/models").json();
    let line =
        |model: &Value| format!("{} {}", model["id"].as_str().unwrap(), model["owned_by"].as_str().unwrap());
    let lines: Vec<String> = list["data"].as_array().unwrap().iter().map(line).collect();
    insta::assert_snapshot!(lines.join("\n"), @"
    panel/budget preset
    panel/default preset
    panel/max preset
    panel/quick preset
    panel/synthesize strategy
    panel/vote strategy
    panel/best-of-n strategy
    panel/council strategy
    panel/moa strategy
    panel/cascade strategy
    panel/race strategy
    panel/panel strategy
    panel/auto strategy
    ");
    let described = |path: &str| {
        let reply = get(address, path);
        let body = reply.json();
        match reply.status {
            200 => line(&body),
            status => format!(
                "{status} {} {}",
                body["error"]["code"].as_str().unwrap(),
                body["error"]["message"].as_str().unwrap()
            ),
        }
    };
    let all = [
        "/v1/models/panel/quick",
        "/v1/models/panel%2Fquick",
        "/v1/models/panel/vote@first=2",
        "/v1/models/panel/openai/gpt-6.1-sol+x-ai/grok-4.7",
        "/v1/models/panel/qick",
        "/v1/models/quick",
        "/v1/models/gpt-4o",
        "/v1/models/panel/vote@frist=2",
        "/v1/models/panel/tournament@format=league",
        "/v1/models/panel/debate",
        "/v1/models/panel/quick@first=2",
        "/v1/models/panel/a/b++c/d",
        "/v1/models/panel/",
    ]
    .map(described);
    insta::assert_snapshot!(all.join("\n"), @"
    panel/quick preset
    panel/quick preset
    panel/vote@first=2 strategy
    panel/openai/gpt-6.1-sol+x-ai/grok-4.7 models
    404 model_not_found there is no model `panel/qick` here: did you mean `panel/quick`?
    404 model_not_found there is no model `quick` here: did you mean `panel/quick`?
    404 model_not_found there is no model `gpt-4o` here: see which models there are with `GET /v1/models`
    400 usage the strategy `vote` has no option `frist`: did you mean `first`?
    400 usage the strategy `tournament` is now `best-of-n@by=league`: write it like `panel/best-of-n@by=league`
    400 usage the strategy `debate` is gone; `council` and `moa` come nearest to it: choose one of: panel/council, panel/moa
    400 model_invalid `quick` is a panel, and options belong to a strategy or a model: leave `@first=2` out
    400 model_invalid `panel/a/b++c/d` has no model on one side of a `+`; one in the name of a model is written `%2B`: write it like `panel/~openai/gpt-sol-latest+~google/gemini-pro-latest`
    404 model_not_found there is no model `panel/` here: see which models there are with `GET /v1/models`
    ");
}

/// A failure of all models has its own status, and a part of them is named beside the answer.
#[test]
fn who_is_missing_is_named_and_a_failed_run_has_its_status() {
    let failing = Script::fault(Fault::Moderation);
    let sandbox = sandbox_with(None).scripted(PANEL[2], failing.clone());
    let (_running, address) = serve(&sandbox, &["--no-auth"], &[]);
    let body = send(address, "/v1/chat/completions", "", &chat(&panel())).json();
    insta::assert_snapshot!(format!("{} {}", body["parallel_llm"]["status"], body["parallel_llm"]["missing"]), @r#""partial" [{"code":"moderated","model":"x-ai/grok-4.7","status":"refused"}]"#);
    let failed = send(address, "/v1/chat/completions", "", &chat(&format!("panel/{}", PANEL[2])));
    insta::assert_snapshot!(format!("{} {:?}\n{}", failed.status, failed.header("x-should-retry"), masked(&failed.json())), @r#"
    424 Some("false")
    {"error":{"code":"moderated","message":"no model answered (x-ai/grok-4.7: openrouter (xAI) answered 403: Your input was flagged): rephrase the question, or ask a model of another provider","parallel_llm":{"code":"moderated","next":"rephrase the question, or ask a model of another provider","retryable":false,"run_id":"<run>"},"param":null,"type":"server_error"}}
    "#);
}
