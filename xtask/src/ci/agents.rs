//! The stage `agents`: third-party coding agents, run as their users run them, with a scripted model behind them.
//!
//! `xtask/agents/agent.mjs` adds the program to the agent's settings with `install`, has the agent's model call it, and prints
//! one line of facts, which are judged here and stored in `xtask/agents/results.json`. The agents are a download of 800 MB, so
//! the stage runs only if `--only` names it.

use std::time::Duration;

use serde_json::{Value, json};

use super::report::Verdict;
use super::setup::{CLIENT_TIMEOUT_MS, Setup};
use super::{State, foreign};
use crate::failure::Failure;
use crate::program::Program;
use crate::{repository, say};

/// The agents, by their names for `install`.
const AGENTS: [&str; 2] = ["claude-code", "codex"];
/// Time limit of a script, which has five short conversations.
const SCRIPT_TIME_MAX: Duration = Duration::from_mins(5);
/// The longest time in ms from the agent's timeout until the upstream notices the cancelled call.
const CANCEL_MS_MAX: u64 = 1_000;

const TOOLS: [&str; 4] = ["get_run", "list_models", "process_prompt", "resume_run"];

pub(super) fn run(state: &mut State) -> Result<Verdict, Failure> {
    let Some(binary) = &state.binary else {
        return Ok(Verdict::Skipped(
            "there is no release binary to ask: add `--only \"release build\"`".to_owned(),
        ));
    };
    let packages = match foreign::packages(foreign::AGENTS) {
        Ok(packages) => packages,
        Err(failure) => return Ok(Verdict::Skipped(format!("the agents are not available: {failure}"))),
    };
    let (mut results, mut wrong) = (serde_json::Map::new(), Vec::new());
    for agent in AGENTS {
        let setup = Setup::start(binary, agent)?;
        let mut order = setup.order(false);
        order["agent"] = agent.into();
        let facts = ask(packages.script("agent.mjs"), &order)?;
        say::note(&format!("{agent}: {facts}"));
        wrong.extend(judge(&facts).into_iter().map(|wrong| format!("{agent}: {wrong}")));
        results.insert(agent.to_owned(), facts);
    }
    store(&results.into())?;
    if wrong.is_empty() { Ok(Verdict::Passed) } else { Err(Failure::new(wrong.join("; "))) }
}

fn ask(script: Program, order: &Value) -> Result<Value, Failure> {
    let output = script.variable("ORDER", order.to_string()).time_limit(SCRIPT_TIME_MAX).output()?;
    serde_json::from_str(&output)
        .map_err(|error| Failure::new(format!("it prints no line of facts: {error}")))
}

fn store(results: &Value) -> Result<(), Failure> {
    let path = repository::root().join("xtask/agents/results.json");
    std::fs::write(&path, format!("{results:#}\n"))
        .map_err(|error| Failure::new(format!("cannot write `{}`: {error}", path.display())))
}

/// The failed checks.
fn judge(facts: &Value) -> Vec<String> {
    let mut wrong = Vec::new();
    for transport in ["pipes", "http"] {
        let (call, wall) = (&facts[transport]["call"], &facts[transport]["wall"]);
        let statuses = |talk: &Value| talk["statuses"].as_array().cloned().unwrap_or_default();
        let has_repeated = |talk: &Value| talk["has_answer"] == true && talk["ended"] == true;
        let checks = [
            ("the model is offered other tools", call["tools"] == json!(TOOLS)),
            ("a call is not answered in full", statuses(call) == ["complete"] && has_repeated(call)),
            ("there is no early answer", statuses(wall).first().is_some_and(|status| status == "running")),
            ("the rest is not fetched", statuses(wall).last().is_some_and(|status| status == "complete")),
            ("the agent does not repeat its result", has_repeated(wall)),
        ];
        wrong.extend(
            checks.into_iter().filter(|(_, holds)| !holds).map(|(wrong, _)| format!("{transport}: {wrong}")),
        );
    }
    let pipes = &facts["pipes"];
    let is_soon = |ms: u64| ms <= CLIENT_TIMEOUT_MS + CANCEL_MS_MAX;
    let checks = [
        (
            "the cancelled call is not noticed upstream in time",
            pipes["cancel_ms"].as_u64().is_some_and(is_soon),
        ),
        ("the agent does not continue after it gave up", pipes["given_up"]["ended"] == true),
        // Null if it cannot be determined.
        ("a program outlives its agent", pipes["left"].as_u64().unwrap_or_default() == 0),
    ];
    wrong.extend(checks.into_iter().filter(|(_, holds)| !holds).map(|(wrong, _)| wrong.to_owned()));
    wrong
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts() -> Value {
        let talk = |statuses: &[&str]| json!({"tools": TOOLS, "statuses": statuses, "has_answer": true, "ended": true});
        let talks = json!({"call": talk(&["complete"]), "wall": talk(&["running", "complete"])});
        let mut facts = json!({"version": "1", "pipes": talks, "http": talks});
        facts["pipes"]["cancel_ms"] = 3_040.into();
        facts["pipes"]["given_up"] = json!({"statuses": ["none"], "has_answer": false, "ended": true});
        facts["pipes"]["left"] = 0.into();
        facts
    }

    fn check(pointer: &str, value: Value, expected: &[&str]) {
        let mut facts = facts();
        *facts.pointer_mut(pointer).unwrap() = value;
        assert_eq!(judge(&facts), expected, "{pointer}");
    }

    #[test]
    fn each_fact_is_judged() {
        check("/version", json!("2"), &[]);
        check("/http/call/tools", json!(["get_run"]), &["http: the model is offered other tools"]);
        check("/pipes/call/statuses", json!(["failed"]), &["pipes: a call is not answered in full"]);
        check("/pipes/call/has_answer", json!(false), &["pipes: a call is not answered in full"]);
        check("/http/wall/statuses", json!(["complete"]), &["http: there is no early answer"]);
        check("/http/wall/statuses", json!(["running"]), &["http: the rest is not fetched"]);
        check("/http/wall/ended", json!(false), &["http: the agent does not repeat its result"]);
        check("/pipes/cancel_ms", json!(4_001), &["the cancelled call is not noticed upstream in time"]);
        check("/pipes/cancel_ms", json!(null), &["the cancelled call is not noticed upstream in time"]);
        check("/pipes/given_up/ended", json!(false), &["the agent does not continue after it gave up"]);
        check("/pipes/left", json!(1), &["a program outlives its agent"]);
        check("/pipes/left", json!(null), &[]);
    }
}
