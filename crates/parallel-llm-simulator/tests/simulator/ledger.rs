//! Money: the costs in replies are the charges in the ledger, to the pico-dollar.

use parallel_llm_simulator::{Behaviour, Fault, Script, Simulator, SimulatorConfig, pico_usd};
use serde_json::json;
use tokio::io::AsyncReadExt;

use crate::client::{MODEL, Reply, connect, get, question, send, until};

#[tokio::test]
async fn the_sum_of_all_replies_is_the_ledger() {
    let simulator = Simulator::start(SimulatorConfig::instant()).await.unwrap();
    let mut sum_pico = 0;
    for slug in ["openai/gpt-6.1-sol", "~x-ai/grok-latest", "z-ai/glm-5.3", "google/gemma-4-31b-it:free"] {
        let reply = send(&simulator, &question(&simulator, slug, false)).await.json();
        let cost_pico = pico_usd(&reply["usage"]["cost"].as_f64().unwrap().to_string()).unwrap();
        let charge = simulator.ledger().charge(reply["id"].as_str().unwrap()).unwrap().clone();
        assert_eq!(charge.cost_pico_usd, cost_pico, "{slug}");
        assert_eq!(charge.completion_tokens, reply["usage"]["completion_tokens"], "{slug}");
        sum_pico += cost_pico;
    }
    assert!(sum_pico > 0);
    assert_eq!(simulator.ledger().charged_pico_usd, sum_pico);
    let credits = send(&simulator, &get(&simulator, "/api/v1/credits")).await.json();
    let total_usage = credits["data"]["total_usage"].as_f64().unwrap();
    assert_eq!(pico_usd(&total_usage.to_string()), Some(sum_pico));
}

/// Reads a stream until the first token, then closes the connection; returns the bill.
async fn cancelled(slug: &str) -> (u64, u64, bool) {
    let config = SimulatorConfig { time_scale: 1.0, ..SimulatorConfig::instant() };
    let simulator = Simulator::start(config).await.unwrap();
    let slow = Behaviour { tokens_per_s: 1, chunk_tokens: 1, ..Behaviour::instant() };
    simulator.script("*", Script::behaving(slow));
    let mut stream = connect(&simulator, &question(&simulator, slug, true)).await;
    let mut piece = [0; 4096];
    assert!(stream.read(&mut piece).await.unwrap() > 0);
    drop(stream);
    until(|| simulator.stats().client_cancelled == 1).await;
    let charge = simulator.ledger().charges[0].clone();
    (charge.prompt_tokens, charge.completion_tokens, charge.cancelled)
}

#[tokio::test]
async fn a_closed_connection_is_billed_for_what_was_sent_or_for_everything() {
    assert_eq!(cancelled(MODEL).await, (6, 1, true));
    let (_, completion_tokens, is_cancelled) = cancelled("google/gemini-4-argon").await;
    assert!(completion_tokens > 50 && is_cancelled);
}

/// The reply to a lookup of a generation that has just ended.
async fn looked_up(generation_delay_ms: u64) -> (String, Reply) {
    let config = SimulatorConfig { generation_delay_ms, ..SimulatorConfig::instant() };
    let simulator = Simulator::start(config).await.unwrap();
    let reply = send(&simulator, &question(&simulator, MODEL, true)).await;
    let id = reply.header("X-Generation-Id").unwrap().to_owned();
    let reply = send(&simulator, &get(&simulator, &format!("/api/v1/generation?id={id}"))).await;
    (id, reply)
}

#[tokio::test]
async fn a_generation_can_be_looked_up_later() {
    let (id, early) = looked_up(60_000).await;
    assert_eq!(early.text(), format!(r#"{{"error":{{"message":"Generation {id} not found","code":404}}}}"#));
    let (id, found) = looked_up(0).await;
    let record = found.json();
    assert_eq!((&record["data"]["id"], &record["data"]["streamed"]), (&json!(id), &json!(true)));
}

#[tokio::test]
async fn a_stream_that_fails_before_its_first_token_is_free() {
    let simulator = Simulator::start(SimulatorConfig::instant()).await.unwrap();
    simulator.script(MODEL, Script::fault(Fault::SseCut).after_tokens(0));
    send(&simulator, &question(&simulator, MODEL, true)).await;
    assert_eq!(simulator.ledger().charged_pico_usd, 0);
}
