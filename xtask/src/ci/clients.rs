//! The stage `clients`: SDKs that other people wrote, each on pipes and over HTTP, as a program would use them.
//!
//! A script of `xtask/clients` per SDK drives it and prints one line of facts; what they must be is judged here. The
//! wall of a client is scaled down to three seconds, the slow model takes five. SDKs of two years ago are asked one thing:
//! whether they read a paid result that holds, for a newer client, blocks of types they do not know.

use std::time::Duration;

use serde_json::{Value, json};

use super::report::Verdict;
use super::scene::{self, FAST, Scene, WALL_MS};
use super::{State, foreign};
use crate::failure::Failure;
use crate::program::Program;
use crate::say;

/// Until the upstream sees that a call was taken back, ms.
const CANCEL_MS_MAX: u64 = 1_000;
/// A script takes ten seconds.
const SCRIPT_DEADLINE: Duration = Duration::from_mins(2);

const TOOLS: [&str; 4] = ["process_prompt", "get_run", "resume_run", "list_models"];

/// An SDK, by the name of its script.
struct Client {
    name: &'static str,
    /// What it agrees on with the server.
    protocol: &'static str,
    /// Whether it tells the server that a call is taken back.
    cancels: bool,
    /// The program that runs its script.
    script: fn(&'static str) -> Result<Program, Failure>,
}

const CLIENTS: [Client; 4] = [
    Client { name: "python1", protocol: "2025-11-25", cancels: false, script: python },
    Client { name: "python2", protocol: "2026-07-28", cancels: true, script: python },
    Client { name: "typescript1", protocol: "2025-11-25", cancels: true, script: typescript },
    Client { name: "typescript2", protocol: "2026-07-28", cancels: true, script: typescript },
];

/// An SDK of two years ago, by the name of its script.
struct OldClient {
    name: &'static str,
    /// Whether it speaks the protocol over HTTP.
    over_http: bool,
    script: fn(&'static str) -> Result<Program, Failure>,
}

const OLD_CLIENTS: [OldClient; 3] = [
    OldClient { name: "typescript1-8", over_http: false, script: typescript },
    OldClient { name: "typescript1-11", over_http: true, script: typescript },
    OldClient { name: "python1-8", over_http: true, script: python },
];

/// Seats whose answers are together more than a result holds, so that a newer client is sent links to them.
const SEATS_OF_OLD: usize = 16;

pub(super) fn run(state: &mut State) -> Result<Verdict, Failure> {
    let Some(binary) = &state.binary else {
        return Ok(Verdict::Skipped("there is no release binary to ask".to_owned()));
    };
    let (mut absent, mut wrong) = (Vec::new(), Vec::new());
    for client in &CLIENTS {
        // Asked once before anything is started, so that what cannot be had is told from what fails.
        if let Err(failure) = (client.script)(client.name) {
            absent.push(format!("{} cannot be had: {failure}", client.name));
            continue;
        }
        let scene = Scene::start(binary, client.name)?;
        for over_http in [false, true] {
            let way = scene::way(over_http);
            match prove(client, &scene, over_http) {
                Ok(summary) => say::note(&format!("{} on {way}: {summary}", client.name)),
                Err(failure) => wrong.push(format!("{} on {way}: {failure}", client.name)),
            }
        }
    }
    let scene = Scene::start(binary, "old-clients")?;
    for client in &OLD_CLIENTS {
        if let Err(failure) = (client.script)(client.name) {
            absent.push(format!("{} cannot be had: {failure}", client.name));
            continue;
        }
        for over_http in [false, true].into_iter().filter(|over_http| client.over_http || !over_http) {
            let way = scene::way(over_http);
            match read(client, &scene, over_http) {
                Ok(()) => say::note(&format!("{} on {way}: reads a paid result", client.name)),
                Err(failure) => wrong.push(format!("{} on {way}: {failure}", client.name)),
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

fn prove(client: &Client, scene: &Scene, over_http: bool) -> Result<String, Failure> {
    let script = (client.script)(client.name)?;
    let script = script.variable("ORDER", scene.order(over_http).to_string()).deadline(SCRIPT_DEADLINE);
    let said = script.output()?;
    let facts: Value = serde_json::from_str(&said)
        .map_err(|error| Failure::new(format!("it prints no line of facts: {error}")))?;
    let wrong = judge(client, &facts);
    if wrong.is_empty() {
        let cancel = facts["cancel_ms"].as_u64().map(|ms| format!(", taken back in {ms} ms"));
        return Ok(format!("answered early after {} ms{}", facts["wall"]["ms"], cancel.unwrap_or_default()));
    }
    Err(Failure::new(format!("{}; of {facts}", wrong.join(", "))))
}

/// Whether an old SDK reads a result whose answers are too long for it.
fn read(client: &OldClient, scene: &Scene, over_http: bool) -> Result<(), Failure> {
    let mut order = scene.order(over_http);
    // Not twice the same question, which would be one run.
    let prompt = format!("Which is safer, asks {} on {}?", client.name, scene::way(over_http));
    order["question"] =
        json!({"prompt": prompt, "models": [format!("{FAST}*{SEATS_OF_OLD}")], "max_tokens": 1_000});
    let script = (client.script)(client.name)?.variable("ORDER", order.to_string());
    let said = script.deadline(SCRIPT_DEADLINE).output()?;
    let facts: Value = serde_json::from_str(&said)
        .map_err(|error| Failure::new(format!("it prints no line of facts: {error}")))?;
    let wrong = judge_old(&facts);
    if wrong.is_empty() { Ok(()) } else { Err(Failure::new(format!("{}; of {facts}", wrong.join(", ")))) }
}

/// What is not as it must be with an old SDK.
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
        ("nothing is left out, so nothing is proved", text.contains("texts left out for their size")),
        ("there are blocks that it does not know", facts["blocks"] == json!(["text"])),
    ];
    checks.into_iter().filter(|(_, holds)| !holds).map(|(wrong, _)| wrong).collect()
}

/// What is not as it must be.
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
        // A client may hear nothing of a call that is over at once.
        ("progress does not rise", rising(&call["progress"], 0) && rising(&wall["progress"], 2)),
        ("there is no early answer", wall["status"] == "running" && wall["run_id"].is_string()),
        ("the early answer comes after the wall", wall["ms"].as_u64().is_some_and(|ms| ms < WALL_MS)),
        ("the rest cannot be fetched", facts["fetched"] == "complete"),
        (
            "taking a call back is not seen upstream in time",
            !client.cancels || facts["cancel_ms"].as_u64().is_some_and(|ms| ms <= CANCEL_MS_MAX),
        ),
    ];
    checks.into_iter().filter(|(_, holds)| !holds).map(|(wrong, _)| wrong).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_old_sdk_has_read_what_was_paid_or_not() {
        let text =
            "a\n\nrun_id 01, complete, 16 of 16 answered\n\nnext: texts left out for their size: get_run";
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
        check("text", json!(text.replace("texts left", "")), &["nothing is left out, so nothing is proved"]);
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
        check("/wall/ms", json!(3_001), &["the early answer comes after the wall"]);
        check("/fetched", json!("partial"), &["the rest cannot be fetched"]);
        check("/cancel_ms", json!(1_500), &["taking a call back is not seen upstream in time"]);
        check("/cancel_ms", json!(null), &["taking a call back is not seen upstream in time"]);
    }

    #[test]
    fn without_a_binary_the_stage_is_skipped() {
        assert!(matches!(run(&mut State::default()), Ok(Verdict::Skipped(_))));
    }
}
