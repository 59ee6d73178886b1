//! The stage `clients`: third-party SDKs, each on pipes and over HTTP, as a program would use them.
//!
//! One script of `xtask/clients` drives each SDK and prints one line of facts, which are judged here. A client's timeout is
//! scaled down to three seconds; the slow model takes five. SDKs of two years ago are only tested for reading a paid result
//! that has, for a newer client, blocks of types that they do not know.

use std::time::Duration;

use serde_json::{Value, json};

use super::report::Verdict;
use super::setup::{self, CLIENT_TIMEOUT_MS, FAST, Setup};
use super::{State, foreign};
use crate::failure::Failure;
use crate::program::Program;
use crate::say;

/// The longest time in ms until the upstream notices that a call was cancelled.
const CANCEL_MS_MAX: u64 = 1_000;
/// Time limit of a script, which takes ten seconds.
const SCRIPT_TIME_MAX: Duration = Duration::from_mins(2);

const TOOLS: [&str; 4] = ["process_prompt", "get_run", "resume_run", "list_models"];

/// An SDK, named after its script.
struct Client {
    name: &'static str,
    /// The protocol version that it negotiates.
    protocol: &'static str,
    /// Whether it notifies the server of a cancelled call.
    cancels: bool,
    /// Makes the command that runs its script.
    script: fn(&'static str) -> Result<Program, Failure>,
}

const CLIENTS: [Client; 4] = [
    Client { name: "python1", protocol: "2025-11-25", cancels: false, script: python },
    Client { name: "python2", protocol: "2026-07-28", cancels: true, script: python },
    Client { name: "typescript1", protocol: "2025-11-25", cancels: true, script: typescript },
    Client { name: "typescript2", protocol: "2026-07-28", cancels: true, script: typescript },
];

/// An SDK of two years ago, named after its script.
struct OldClient {
    name: &'static str,
    /// Whether it supports streamable HTTP.
    over_http: bool,
    script: fn(&'static str) -> Result<Program, Failure>,
}

const OLD_CLIENTS: [OldClient; 3] = [
    OldClient { name: "typescript1-8", over_http: false, script: typescript },
    OldClient { name: "typescript1-11", over_http: true, script: typescript },
    OldClient { name: "python1-8", over_http: true, script: python },
];

/// Enough seats that their answers exceed a report, so that a newer client gets links to them.
const SEATS_OF_OLD: usize = 16;

pub(super) fn run(state: &mut State) -> Result<Verdict, Failure> {
    let Some(binary) = &state.binary else {
        return Ok(Verdict::Skipped("there is no release binary to ask".to_owned()));
    };
    let (mut absent, mut wrong) = (Vec::new(), Vec::new());
    for client in &CLIENTS {
        // Made once before anything is started, to tell an unavailable SDK from a failing one.
        if let Err(failure) = (client.script)(client.name) {
            absent.push(format!("{} is not available: {failure}", client.name));
            continue;
        }
        let setup = Setup::start(binary, client.name)?;
        for over_http in [false, true] {
            let transport = setup::transport(over_http);
            match prove(client, &setup, over_http) {
                Ok(summary) => say::note(&format!("{} on {transport}: {summary}", client.name)),
                Err(failure) => wrong.push(format!("{} on {transport}: {failure}", client.name)),
            }
        }
    }
    let setup = Setup::start(binary, "old-clients")?;
    for client in &OLD_CLIENTS {
        if let Err(failure) = (client.script)(client.name) {
            absent.push(format!("{} is not available: {failure}", client.name));
            continue;
        }
        for over_http in [false, true].into_iter().filter(|over_http| client.over_http || !over_http) {
            let transport = setup::transport(over_http);
            match read(client, &setup, over_http) {
                Ok(()) => say::note(&format!("{} on {transport}: reads a paid result", client.name)),
                Err(failure) => wrong.push(format!("{} on {transport}: {failure}", client.name)),
            }
        }
    }
    match (wrong.is_empty(), absent.is_empty()) {
        (false, _) => Err(Failure::new(wrong.join("; "))),
        (true, false) => Ok(Verdict::Skipped(absent.join("; "))),
        (true, true) => Ok(Verdict::Passed),
    }
}

fn python(name: &'static str) -> Result<Program, Failure> {
    let interpreter = foreign::python(name)?;
    let script = foreign::folder(foreign::CLIENTS)?.join(format!("{name}.py"));
    Ok(Program::new(interpreter).arguments([script]))
}

fn typescript(name: &'static str) -> Result<Program, Failure> {
    Ok(foreign::packages(foreign::CLIENTS)?.script(&format!("{name}.mjs")))
}

fn prove(client: &Client, setup: &Setup, over_http: bool) -> Result<String, Failure> {
    let script = (client.script)(client.name)?;
    let script = script.variable("ORDER", setup.order(over_http).to_string()).time_limit(SCRIPT_TIME_MAX);
    let output = script.output()?;
    let facts: Value = serde_json::from_str(&output)
        .map_err(|error| Failure::new(format!("it prints no line of facts: {error}")))?;
    let wrong = judge(client, &facts);
    if wrong.is_empty() {
        let cancel = facts["cancel_ms"].as_u64().map(|ms| format!(", cancelled in {ms} ms"));
        return Ok(format!("answered early after {} ms{}", facts["wall"]["ms"], cancel.unwrap_or_default()));
    }
    Err(Failure::new(format!("{}; of {facts}", wrong.join(", "))))
}

/// Tests that an old SDK reads a result whose answers do not fit.
fn read(client: &OldClient, setup: &Setup, over_http: bool) -> Result<(), Failure> {
    let mut order = setup.order(over_http);
    // A different question each time: the same question would join the same run.
    let prompt = format!("Which is safer, asks {} on {}?", client.name, setup::transport(over_http));
    order["question"] =
        json!({"prompt": prompt, "models": [format!("{FAST}*{SEATS_OF_OLD}")], "max_tokens": 1_000});
    let script = (client.script)(client.name)?.variable("ORDER", order.to_string());
    let output = script.time_limit(SCRIPT_TIME_MAX).output()?;
    let facts: Value = serde_json::from_str(&output)
        .map_err(|error| Failure::new(format!("it prints no line of facts: {error}")))?;
    let wrong = judge_old(&facts);
    if wrong.is_empty() { Ok(()) } else { Err(Failure::new(format!("{}; of {facts}", wrong.join(", ")))) }
}

/// The failed checks of an old SDK.
fn judge_old(facts: &Value) -> Vec<&'static str> {
    let text = facts["text"].as_str().unwrap_or_default();
    let tools = facts["tools"].as_array();
    let answered = format!("{SEATS_OF_OLD} of {SEATS_OF_OLD} answered");
    let checks = [
        ("another server answers", facts["server"] == "parallel-llm-mcp"),
        (
            "a tool is missing",
            TOOLS.iter().all(|name| tools.is_some_and(|all| all.iter().any(|one| one == name))),
        ),
        ("there are no prompts", facts["prompts"].as_u64() > Some(0)),
        ("there are no resources", facts["resources"].as_u64() > Some(0)),
        ("the paid answer is not read", text.contains(&answered)),
        ("nothing is left out, so the check proves nothing", text.contains("left out for")),
        ("there are blocks that it does not know", facts["blocks"] == json!(["text"])),
    ];
    checks.into_iter().filter(|(_, holds)| !holds).map(|(wrong, _)| wrong).collect()
}

/// The failed checks of an SDK.
fn judge(client: &Client, facts: &Value) -> Vec<&'static str> {
    let rising = |progress: &Value, steps_min: usize| {
        let steps: Vec<f64> = progress.as_array().into_iter().flatten().filter_map(Value::as_f64).collect();
        steps.len() >= steps_min && steps.windows(2).all(|two| two[0] < two[1])
    };
    let names = |key: &str, wanted: &[&str]| {
        let all = facts[key].as_array();
        wanted.iter().all(|name| all.is_some_and(|all| all.iter().any(|found| found == name)))
    };
    let (call, wall) = (&facts["call"], &facts["wall"]);
    let offered = |key: &str| facts[key].is_null() || facts[key].as_u64() > Some(0);
    let checks = [
        ("another server answers", facts["server"] == "parallel-llm-mcp"),
        ("another protocol is agreed on", facts["protocol"] == client.protocol),
        ("a tool is missing", names("tools", &TOOLS)),
        ("a tool has no schema for its results", names("schemas", &TOOLS)),
        ("no models are listed", facts["models"].as_u64() > Some(0)),
        ("prompts are offered and there are none", offered("prompts")),
        ("resources are offered and there are none", offered("resources")),
        ("a call is not answered in full", call["status"] == "complete" && call["has_answer"] == true),
        // A call that ends at once need not report progress.
        ("progress does not rise", rising(&call["progress"], 0) && rising(&wall["progress"], 2)),
        ("there is no early answer", wall["status"] == "running" && wall["run_id"].is_string()),
        (
            "the early answer comes after the timeout",
            wall["ms"].as_u64().is_some_and(|ms| ms < CLIENT_TIMEOUT_MS),
        ),
        ("the rest cannot be fetched", facts["fetched"] == "complete"),
        (
            "a cancelled call is not noticed upstream in time",
            !client.cancels || facts["cancel_ms"].as_u64().is_some_and(|ms| ms <= CANCEL_MS_MAX),
        ),
    ];
    checks.into_iter().filter(|(_, holds)| !holds).map(|(wrong, _)| wrong).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_fact_of_an_old_sdk_is_judged() {
        let text = "a\n\nrun_id 01, complete, 16 of 16 answered\n\nnext: the texts of seats 5, 6 were left out for their size: call get_run";
        let facts = json!({
            "server": "parallel-llm-mcp", "tools": TOOLS, "prompts": 3, "resources": 1, "blocks": ["text"], "text": text,
        });
        assert_eq!(judge_old(&facts), Vec::<&str>::new());
        let check = |name: &str, value: Value, expected: &[&str]| {
            let mut facts = facts.clone();
            facts[name] = value;
            assert_eq!(judge_old(&facts), expected, "{name}");
        };
        check("server", json!("rmcp"), &["another server answers"]);
        check("tools", json!(["get_run"]), &["a tool is missing"]);
        check("prompts", json!(0), &["there are no prompts"]);
        check("resources", json!(0), &["there are no resources"]);
        check(
            "text",
            json!(text.replace("left out", "")),
            &["nothing is left out, so the check proves nothing"],
        );
        check("text", json!(text.replace("16 of", "3 of")), &["the paid answer is not read"]);
        check("blocks", json!(["text", "resource_link"]), &["there are blocks that it does not know"]);
    }

    fn facts() -> Value {
        json!({
            "server": "parallel-llm-mcp",
            "protocol": "2026-07-28",
            "tools": TOOLS,
            "schemas": TOOLS,
            "models": 2,
            "prompts": 3,
            "resources": null,
            "call": {"ms": 90, "status": "complete", "run_id": "1", "has_answer": true, "progress": [0, 0.1, 1]},
            "wall": {"ms": 2_560, "status": "running", "run_id": "2", "has_answer": false, "progress": [0, 0.1]},
            "fetched": "complete",
            "cancel_ms": 20,
        })
    }

    fn check(pointer: &str, value: Value, expected: &[&str]) {
        let mut facts = facts();
        *facts.pointer_mut(pointer).unwrap() = value;
        assert_eq!(judge(&CLIENTS[1], &facts), expected, "{pointer}");
    }

    #[test]
    fn each_fact_is_judged() {
        check("/server", json!("parallel-llm-mcp"), &[]);
        check("/server", json!("rmcp"), &["another server answers"]);
        check("/protocol", json!("2025-11-25"), &["another protocol is agreed on"]);
        check("/tools", json!(["get_run"]), &["a tool is missing"]);
        check("/schemas", json!([]), &["a tool has no schema for its results"]);
        check("/models", json!(0), &["no models are listed"]);
        check("/prompts", json!(0), &["prompts are offered and there are none"]);
        check("/call/status", json!("failed"), &["a call is not answered in full"]);
        check("/call/progress", json!([0, 1, 1]), &["progress does not rise"]);
        check("/call/progress", json!([]), &[]);
        check("/wall/progress", json!([0]), &["progress does not rise"]);
        check("/wall/status", json!("complete"), &["there is no early answer"]);
        check("/wall/ms", json!(3_001), &["the early answer comes after the timeout"]);
        check("/fetched", json!("partial"), &["the rest cannot be fetched"]);
        check("/cancel_ms", json!(1_500), &["a cancelled call is not noticed upstream in time"]);
        check("/cancel_ms", json!(null), &["a cancelled call is not noticed upstream in time"]);
    }

    #[test]
    fn without_a_binary_the_stage_is_skipped() {
        assert!(matches!(run(&mut State::default()), Ok(Verdict::Skipped(_))));
    }
}
