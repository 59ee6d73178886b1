//! The stage `agents`: coding agents that other people wrote, run as their users run them, with a model of ours behind.
//!
//! `xtask/agents/agent.mjs` installs the program into the agent's settings by the program's own `install`, has the
//! agent's model call it, and prints one line of facts; what they must be is judged here. What was seen is kept in
//! `xtask/agents/results.json`. The agents are 800 MB to fetch, so the stage is run only where it is named.

use std::time::Duration;

use serde_json::{Value, json};

use super::report::Verdict;
use super::scene::{Scene, WALL_MS};
use super::{State, foreign};
use crate::failure::Failure;
use crate::program::Program;
use crate::{repository, say};

/// By the names `install` knows them by.
const AGENTS: [&str; 2] = ["claude-code", "codex"];
const STAGE: &str = "agents";
/// Five short talks.
const SCRIPT_DEADLINE: Duration = Duration::from_mins(5);
/// From the agent's wall until the upstream sees that the call was taken back, ms.
const CANCEL_MS_MAX: u64 = 1_000;

const TOOLS: [&str; 4] = ["get_run", "list_models", "process_prompt", "resume_run"];

pub(super) fn run(state: &mut State) -> Result<Verdict, Failure> {
    if !state.only.iter().any(|name| name == STAGE) {
        return Ok(Verdict::Skipped(format!("it fetches 800 MB; `--only {STAGE}` runs it")));
    }
    let Some(binary) = &state.binary else {
        return Ok(Verdict::Skipped(
            "there is no release binary to ask: add `--only \"release build\"`".to_owned(),
        ));
    };
    let packages = match foreign::packages(foreign::AGENTS) {
        Ok(packages) => packages,
        Err(failure) => return Ok(Verdict::Skipped(format!("the agents cannot be had: {failure}"))),
    };
    let (mut seen, mut wrong) = (serde_json::Map::new(), Vec::new());
    for agent in AGENTS {
        let scene = Scene::start(binary, agent)?;
        let mut order = scene.order(false);
        order["agent"] = agent.into();
        let facts = ask(packages.script("agent.mjs"), &order)?;
        say::note(&format!("{agent}: {facts}"));
        wrong.extend(judge(&facts).into_iter().map(|wrong| format!("{agent}: {wrong}")));
        seen.insert(agent.to_owned(), facts);
    }
    keep(&seen.into())?;
    if wrong.is_empty() { Ok(Verdict::Passed) } else { Err(Failure::new(wrong.join("; "))) }
}

fn ask(script: Program, order: &Value) -> Result<Value, Failure> {
    let said = script.variable("ORDER", order.to_string()).deadline(SCRIPT_DEADLINE).output()?;
    serde_json::from_str(&said).map_err(|error| Failure::new(format!("it prints no line of facts: {error}")))
}

fn keep(seen: &Value) -> Result<(), Failure> {
    let path = repository::root().join("xtask/agents/results.json");
    std::fs::write(&path, format!("{seen:#}\n"))
        .map_err(|error| Failure::new(format!("cannot write `{}`: {error}", path.display())))
}

/// What is not as it must be.
fn judge(facts: &Value) -> Vec<String> {
    let mut wrong = Vec::new();
    for way in ["pipes", "http"] {
        let (call, wall) = (&facts[way]["call"], &facts[way]["wall"]);
        let statuses = |talk: &Value| talk["statuses"].as_array().cloned().unwrap_or_default();
        let goes_on = |talk: &Value| talk["has_answer"] == true && talk["ended"] == true;
        let checks = [
            ("the model is offered other tools", call["tools"] == json!(TOOLS)),
            ("a call is not answered in full", statuses(call) == ["complete"] && goes_on(call)),
            ("there is no early answer", statuses(wall).first().is_some_and(|status| status == "running")),
            ("the rest is not fetched", statuses(wall).last().is_some_and(|status| status == "complete")),
            ("the agent does not say what it was given", goes_on(wall)),
        ];
        wrong.extend(
            checks.into_iter().filter(|(_, holds)| !holds).map(|(wrong, _)| format!("{way}: {wrong}")),
        );
    }
    let pipes = &facts["pipes"];
    let is_soon = |ms: u64| ms <= WALL_MS + CANCEL_MS_MAX;
    let checks = [
        ("giving up is not seen upstream in time", pipes["cancel_ms"].as_u64().is_some_and(is_soon)),
        ("the agent does not go on after it gave up", pipes["given_up"]["ended"] == true),
        // Where it cannot be seen it is null.
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
        check("/http/wall/ended", json!(false), &["http: the agent does not say what it was given"]);
        check("/pipes/cancel_ms", json!(4_001), &["giving up is not seen upstream in time"]);
        check("/pipes/cancel_ms", json!(null), &["giving up is not seen upstream in time"]);
        check("/pipes/given_up/ended", json!(false), &["the agent does not go on after it gave up"]);
        check("/pipes/left", json!(1), &["a program outlives its agent"]);
        check("/pipes/left", json!(null), &[]);
    }

    #[test]
    fn the_stage_is_run_only_where_it_is_named() {
        assert!(
            matches!(run(&mut State::default()), Ok(Verdict::Skipped(why)) if why.contains("--only agents"))
        );
        let mut named = State { only: vec![STAGE.to_owned()], ..State::default() };
        assert!(matches!(run(&mut named), Ok(Verdict::Skipped(why)) if why.contains("release build")));
    }
}
