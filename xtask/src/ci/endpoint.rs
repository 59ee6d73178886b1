//! The stage `endpoint`: the OpenAI-compatible endpoint, called by clients that other people wrote.
//!
//! The `openai` clients for Python and Node, the command `llm`, LiteLLM's proxy in front of the endpoint, and schemathesis against
//! its OpenAPI document. It would have caught a chunk or an event that a client cannot read, a refusal that a client takes for an
//! answer, a stream that goes on after its reader has left, and a route whose answers differ from its document. A client that
//! cannot be installed is skipped with the reason.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Value, json};

use super::report::Verdict;
use super::setup::{Setup, TokenServer};
use super::{State, foreign, upstreams};
use crate::failure::Failure;
use crate::program::Program;
use crate::{built, say};

/// The longest time in ms until the upstream notices that a reader has left.
const CANCEL_MS_MAX: u64 = 1_000;
/// Time limit of a client.
const CLIENT_TIME_MAX: Duration = Duration::from_mins(2);
/// Time limit of schemathesis.
const SCHEMA_TIME_MAX: Duration = Duration::from_mins(4);
/// Generated requests for each operation of the document.
const EXAMPLES: &str = "20";
/// The speed of the simulated models, so that an answer comes in pieces.
const TOKENS_PER_S: u64 = 400;

/// A panel, and one whose model keeps its caller waiting.
const PANEL: &str = "panel/openai/gpt-6.1-sol+anthropic/claude-opus-5.5";
const SLOW: &str = "panel/x-ai/grok-4.7";

pub(super) fn run(state: &mut State) -> Result<Verdict, Failure> {
    let Some(binary) = &state.binary else {
        return Ok(Verdict::Skipped("there is no release binary to ask".to_owned()));
    };
    let (mut absent, mut wrong) = (Vec::new(), Vec::new());
    let setup = Setup::start(binary, "endpoint")?;
    setup.script("*", &json!({"behaviour": {"ttft_ms": {"mean": 0}, "tokens_per_s": TOKENS_PER_S}}))?;
    let server = setup.serve_tokens()?;
    let proofs: [(&str, Proof); 5] = [
        ("openai for Python", python),
        ("openai for Node", node),
        ("llm", llm),
        ("litellm in front", litellm),
        ("schemathesis", schemathesis),
    ];
    for (name, proof) in proofs {
        match proof(&setup, &server) {
            Ok(Proved::Holds(summary)) => say::note(&format!("{name}: {summary}")),
            Ok(Proved::Absent(why)) => absent.push(format!("{name} is not available: {why}")),
            Err(failure) => wrong.push(format!("{name}: {failure}")),
        }
    }
    match (wrong.is_empty(), absent.is_empty()) {
        (false, _) => Err(Failure::new(wrong.join("; "))),
        (true, false) => Ok(Verdict::Skipped(absent.join("; "))),
        (true, true) => Ok(Verdict::Passed),
    }
}

/// What a client showed.
enum Proved {
    Holds(String),
    /// It could not be installed.
    Absent(Failure),
}

type Proof = fn(&Setup, &TokenServer) -> Result<Proved, Failure>;

/// The address that clients are given.
fn base_url(server: &TokenServer) -> String {
    format!("http://{}/v1", server.address)
}

/// The input of a client's script.
fn order(setup: &Setup, base_url: &str, key: &str) -> Value {
    let mut order = setup.order(true);
    order["base_url"] = base_url.into();
    order["key"] = key.into();
    order["panel"] = PANEL.into();
    order["slow"] = SLOW.into();
    order
}

fn python(setup: &Setup, server: &TokenServer) -> Result<Proved, Failure> {
    let interpreter = match foreign::python("endpoint") {
        Ok(interpreter) => interpreter,
        Err(failure) => return Ok(Proved::Absent(failure)),
    };
    let script = foreign::folder(foreign::CLIENTS)?.join("endpoint.py");
    let order = order(setup, &base_url(server), &server.token);
    judged(Program::new(interpreter).arguments([script]), &order)
}

fn node(setup: &Setup, server: &TokenServer) -> Result<Proved, Failure> {
    let packages = match foreign::packages(foreign::CLIENTS) {
        Ok(packages) => packages,
        Err(failure) => return Ok(Proved::Absent(failure)),
    };
    judged(packages.script("endpoint.mjs"), &order(setup, &base_url(server), &server.token))
}

/// Runs a script and judges its facts.
fn judged(script: Program, order: &Value) -> Result<Proved, Failure> {
    let facts = facts(script, order)?;
    let wrong: Vec<&str> = judge_chat(&facts).into_iter().chain(judge_rest(&facts)).collect();
    if wrong.is_empty() {
        let pieces = &facts["chat_streamed"]["pieces"];
        return Ok(Proved::Holds(format!("{pieces} pieces, cancelled in {} ms", facts["cancel_ms"])));
    }
    Err(Failure::new(format!("{}; of {facts}", wrong.join(", "))))
}

fn facts(script: Program, order: &Value) -> Result<Value, Failure> {
    let output = script.variable("ORDER", order.to_string()).time_limit(CLIENT_TIME_MAX).output()?;
    serde_json::from_str(&output)
        .map_err(|error| Failure::new(format!("it prints no line of facts: {error}")))
}

/// The failed checks of chat, which hold behind another program as well.
fn judge_chat(facts: &Value) -> Vec<&'static str> {
    let (chat, streamed, errors) = (&facts["chat"], &facts["chat_streamed"], &facts["errors"]);
    let tokens: Vec<u64> =
        chat["tokens"].as_array().into_iter().flatten().filter_map(Value::as_u64).collect();
    let is_status = |name: &str, status: u64| errors[name][1] == status;
    let checks = [
        ("a chat has no answer", has_text(&chat["text"])),
        ("a chat does not end by itself", chat["finish"] == "stop"),
        (
            "the tokens do not add up",
            matches!(*tokens, [prompt, completion, all] if prompt > 0 && completion > 0 && prompt + completion == all),
        ),
        ("a streamed chat has no answer", has_text(&streamed["text"])),
        ("an answer is not streamed", streamed["pieces"].as_u64() > Some(3)),
        ("a stream does not end by itself", streamed["finish"] == "stop"),
        ("a stream has several ids", streamed["ids"] == 1),
        ("a stream reports no tokens", streamed["total_tokens"].as_u64() > Some(0)),
        ("tools are not refused", is_status("tools", 400)),
        ("several choices are not refused", is_status("n", 400)),
        ("a chat without messages is not refused", is_status("no_messages", 400)),
        ("a refused stream begins", is_status("streamed", 400)),
    ];
    failed(checks)
}

/// The failed checks of everything else.
fn judge_rest(facts: &Value) -> Vec<&'static str> {
    let (response, streamed, errors) = (&facts["response"], &facts["response_streamed"], &facts["errors"]);
    let names_field = |name: &str, field: &str| errors[name][3] == field;
    let models = facts["models"].as_array();
    let checks = [
        (
            "the id of a chat does not name its run",
            facts["chat"]["id"].as_str().is_some_and(|id| id.starts_with("chatcmpl-")),
        ),
        ("a chat has no request id", facts["chat"]["request_id"].is_string()),
        ("the default panel is no model", models.is_some_and(|all| all.contains(&json!("panel/default")))),
        ("a model cannot be looked up", facts["model"] == "panel/default"),
        ("a response has no answer", has_text(&response["text"])),
        ("a response is not completed", response["status"] == "completed"),
        ("a response reports no tokens", response["total_tokens"].as_u64() > Some(0)),
        ("a streamed response has no answer", has_text(&streamed["text"])),
        ("the pieces are not the answer", streamed["streamed"] == streamed["text"]),
        ("a response is not streamed", streamed["pieces"].as_u64() > Some(3)),
        ("the first event is another", streamed["first"] == "response.created"),
        ("the last event is another", streamed["last"] == "response.completed"),
        ("the events are out of order", streamed["in_order"] == true),
        (
            "a response cannot be continued",
            facts["follow_up"] == json!({"status": "completed", "continues": true}),
        ),
        (
            "an unknown model is not named",
            errors["unknown_model"] == json!(["NotFoundError", 404, "model_not_found", "model"]),
        ),
        ("the refusal of tools does not name them", names_field("tools", "tools")),
        ("the refusal of choices does not name them", names_field("n", "n")),
        ("the refusal of a stream names no field", names_field("streamed", "logprobs")),
        ("a wrong token is not refused as such", errors["wrong_key"][0] == "AuthenticationError"),
        (
            "a reader that leaves is not noticed upstream in time",
            facts["cancel_ms"].as_u64().is_some_and(|ms| ms <= CANCEL_MS_MAX),
        ),
    ];
    failed(checks)
}

fn has_text(value: &Value) -> bool {
    value.as_str().is_some_and(|text| !text.trim().is_empty())
}

fn failed<const N: usize>(checks: [(&'static str, bool); N]) -> Vec<&'static str> {
    checks.into_iter().filter(|(_, holds)| !holds).map(|(wrong, _)| wrong).collect()
}

/// The command `llm`, which is told of the endpoint by a file.
fn llm(_: &Setup, server: &TokenServer) -> Result<Proved, Failure> {
    let interpreter = match foreign::python("endpoint") {
        Ok(interpreter) => interpreter,
        Err(failure) => return Ok(Proved::Absent(failure)),
    };
    let home = folder("llm")?;
    let models = json!([{
        "model_id": "panel", "model_name": PANEL, "api_base": base_url(server), "api_key_name": "panel",
    }]);
    // JSON is YAML.
    write(&home.join("extra-openai-models.yaml"), &models.to_string())?;
    write(&home.join("keys.json"), &json!({"panel": server.token}).to_string())?;
    for flags in [&[][..], &["--no-stream"]] {
        let llm =
            Program::new(interpreter.with_file_name("llm")).arguments(["-m", "panel", "Which is safer?"]);
        let llm =
            llm.arguments(flags).variable("LLM_USER_PATH", &home).variable("OPENAI_API_KEY", &server.token);
        if llm.time_limit(CLIENT_TIME_MAX).output()?.trim().is_empty() {
            return Err(Failure::new(format!("it prints no answer with {flags:?}")));
        }
    }
    Ok(Proved::Holds("streamed and whole".to_owned()))
}

/// LiteLLM's proxy, which passes chats on to the endpoint.
fn litellm(setup: &Setup, server: &TokenServer) -> Result<Proved, Failure> {
    let interpreter = match foreign::python("endpoint") {
        Ok(interpreter) => interpreter,
        Err(failure) => return Ok(Proved::Absent(failure)),
    };
    let models = json!({
        "model_list": [{
            "model_name": "panel",
            "litellm_params": {
                "model": format!("openai/{PANEL}"), "api_base": base_url(server), "api_key": server.token,
            },
        }],
        "litellm_settings": {"num_retries": 0},
    });
    let config = folder("litellm")?.join("config.yaml");
    write(&config, &models.to_string())?;
    let key = "sk-in-front";
    let proxy = match upstreams::litellm_proxy(&config, key) {
        Ok(proxy) => proxy,
        Err(failure) => return Ok(Proved::Absent(failure)),
    };
    let mut order = order(setup, &format!("http://{}/v1", proxy.address()), key);
    order["panel"] = "panel".into();
    order["behind"] = true.into();
    let script = foreign::folder(foreign::CLIENTS)?.join("endpoint.py");
    let facts = facts(Program::new(interpreter).arguments([script]), &order)?;
    let wrong = judge_chat(&facts);
    if wrong.is_empty() {
        return Ok(Proved::Holds("chats, whole and streamed".to_owned()));
    }
    Err(Failure::new(format!("{}; of {facts}", wrong.join(", "))))
}

/// Requests generated from the OpenAPI document, right and wrong ones.
fn schemathesis(_: &Setup, server: &TokenServer) -> Result<Proved, Failure> {
    let interpreter = match foreign::python("endpoint") {
        Ok(interpreter) => interpreter,
        Err(failure) => return Ok(Proved::Absent(failure)),
    };
    let report = folder("schemathesis")?;
    let run = Program::new(interpreter.with_file_name("schemathesis")).arguments([
        "run",
        &format!("http://{}/openapi.json", server.address),
        "--header",
        &format!("Authorization: Bearer {}", server.token),
        "--checks",
        "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance,negative_data_rejection",
        "--max-examples",
        EXAMPLES,
        "--request-timeout",
        "20",
        "--generation-deterministic",
        "--no-color",
        "--suppress-health-check",
        "all",
    ]);
    let run = run.arguments(["--report", "junit", "--report-dir"]).arguments([report.as_path()]);
    run.time_limit(SCHEMA_TIME_MAX).run()?;
    Ok(Proved::Holds(format!("up to {EXAMPLES} generated requests for each operation and way")))
}

/// An empty folder for a client, below `target`.
fn folder(name: &str) -> Result<PathBuf, Failure> {
    let folder = built::target()?.join("setups/endpoint").join(name);
    let failed = |error: std::io::Error| Failure::new(format!("cannot make `{}`: {error}", folder.display()));
    std::fs::create_dir_all(&folder).map_err(failed)?;
    Ok(folder)
}

fn write(path: &Path, text: &str) -> Result<(), Failure> {
    std::fs::write(path, text)
        .map_err(|error| Failure::new(format!("cannot write `{}`: {error}", path.display())))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn good() -> Value {
        json!({
            "chat": {"text": "a", "finish": "stop", "id": "chatcmpl-1", "request_id": "1", "tokens": [1, 2, 3]},
            "chat_streamed": {"text": "a", "pieces": 9, "finish": "stop", "ids": 1, "total_tokens": 3},
            "models": ["panel/default"],
            "model": "panel/default",
            "response": {"text": "a", "status": "completed", "total_tokens": 3},
            "response_streamed": {
                "text": "a", "streamed": "a", "pieces": 9, "first": "response.created", "last": "response.completed",
                "in_order": true, "status": "completed",
            },
            "follow_up": {"status": "completed", "continues": true},
            "errors": {
                "unknown_model": ["NotFoundError", 404, "model_not_found", "model"],
                "tools": ["BadRequestError", 400, "usage", "tools"],
                "n": ["BadRequestError", 400, "usage", "n"],
                "no_messages": ["BadRequestError", 400, "usage", "messages"],
                "streamed": ["BadRequestError", 400, "usage", "logprobs"],
                "wrong_key": ["AuthenticationError", 401, null, null],
            },
            "cancel_ms": 20,
        })
    }

    fn check(pointer: &str, value: Value, expected: &str) {
        let mut facts = good();
        *facts.pointer_mut(pointer).unwrap() = value;
        let wrong: Vec<&str> = judge_chat(&facts).into_iter().chain(judge_rest(&facts)).collect();
        assert_eq!(wrong.join(", "), expected, "{pointer}");
    }

    #[test]
    fn each_fact_is_judged() {
        check("/cancel_ms", json!(20), "");
        check("/cancel_ms", json!(1_001), "a reader that leaves is not noticed upstream in time");
        check("/chat/text", json!(" "), "a chat has no answer");
        check("/chat/finish", json!("length"), "a chat does not end by itself");
        check("/chat/tokens", json!([1, 2, 4]), "the tokens do not add up");
        check("/chat/id", json!("1"), "the id of a chat does not name its run");
        check("/chat/request_id", json!(null), "a chat has no request id");
        check("/chat_streamed/pieces", json!(1), "an answer is not streamed");
        check("/chat_streamed/ids", json!(2), "a stream has several ids");
        check("/chat_streamed/total_tokens", json!(null), "a stream reports no tokens");
        check("/models", json!([]), "the default panel is no model");
        check("/response/status", json!("failed"), "a response is not completed");
        check("/response_streamed/streamed", json!("b"), "the pieces are not the answer");
        check("/response_streamed/last", json!("error"), "the last event is another");
        check("/response_streamed/in_order", json!(false), "the events are out of order");
        check("/follow_up/continues", json!(false), "a response cannot be continued");
        check("/errors/unknown_model/1", json!(400), "an unknown model is not named");
        check("/errors/tools/3", json!(null), "the refusal of tools does not name them");
        check("/errors/no_messages", json!(null), "a chat without messages is not refused");
        check("/errors/wrong_key/0", json!("APIStatusError"), "a wrong token is not refused as such");
    }

    #[test]
    fn without_a_binary_the_stage_is_skipped() {
        assert!(matches!(run(&mut State::default()), Ok(Verdict::Skipped(_))));
    }
}
