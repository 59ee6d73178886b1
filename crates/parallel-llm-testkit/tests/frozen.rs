//! A folder that does not respond: the real program, whose folder of files freezes. What was paid for is still
//! returned, and in time.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "../../parallel-llm-mcp/tests/mcp/client.rs"]
#[allow(dead_code, reason = "these tests speak only a part of what the client can")]
mod client;

use std::time::Duration;

use client::Client;
use parallel_llm_testkit::simulator::{Behaviour, Latency, Script};
use parallel_llm_testkit::{FREEZE_FILES, Sandbox};
use serde_json::json;
use tokio::time::Instant;

const ADA: &str = "openai/gpt-6.1-sol";
const WALL_MS: u64 = 3_000;

/// A sandbox whose answer takes a moment, and the file that freezes the folder of files.
fn sandbox() -> (Sandbox, String) {
    let slow = Behaviour { ttft_ms: Latency::of(300), ..Behaviour::instant() };
    let sandbox = Sandbox::new(env!("CARGO_BIN_EXE_failpoints")).scripted(ADA, Script::behaving(slow));
    let freeze = sandbox.write("frozen", "").display().to_string();
    (sandbox, freeze)
}

#[test]
fn an_answer_comes_before_the_clients_wall_although_its_folder_is_frozen() {
    let (sandbox, freeze) = sandbox();
    let wall = WALL_MS.to_string();
    let settings = [
        (FREEZE_FILES, freeze.as_str()),
        ("PARALLEL_LLM_CLIENT_WALL_MS", &wall),
        ("PARALLEL_LLM_DRAIN_MS", "300"),
    ];
    let mut client = Client::new(&sandbox, &settings);
    let asked = Instant::now();
    let result = client.call("process_prompt", json!({"prompt": "Why?", "models": [ADA], "files": true}));
    let passed = asked.elapsed();
    assert!(passed < Duration::from_millis(WALL_MS), "the reply came after {passed:?}");
    let report = &result["structuredContent"];
    assert!(report["answer"].is_string(), "{report}");
    let run_id = report["run_id"].as_str().unwrap().to_owned();
    let report = client.call("get_run", json!({"run_id": run_id}))["structuredContent"].clone();
    assert!(report["answer"].is_string(), "{report}");
    client.hang_up();
    client.wait();
}

#[test]
fn a_shell_gets_its_answer_although_its_folder_is_frozen() {
    let (sandbox, freeze) = sandbox();
    let asked = Instant::now();
    let output = sandbox.call(["ask", "--json", "-m", ADA, "Why?"]).env(FREEZE_FILES, &freeze).run();
    assert!(asked.elapsed() < Duration::from_secs(15), "it took {:?}", asked.elapsed());
    let report = output.json();
    assert_eq!((output.code, report["answer"].is_string()), (Some(0), true), "{}", output.stderr);
    assert_eq!(report["files"]["state"], "writing", "{report}");
    std::fs::remove_file(&freeze).unwrap();
    let shown = sandbox.call(["runs", "export", "@"]).env(FREEZE_FILES, &freeze).run();
    assert_eq!(shown.code, Some(0), "{}", shown.stderr);
}
