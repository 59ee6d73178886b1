//! Endpoints besides chats and models: the state of a key, and generations.

use parallel_llm_simulator::{Behaviour, Latency, Script, Simulator, SimulatorConfig};
use serde_json::{Value, json};

use crate::client::{MODEL, get, question, send};

/// A model that costs nothing.
const FREE: &str = "google/gemma-4-31b-it:free";

async fn read(simulator: &Simulator, path: &str) -> Value {
    send(simulator, &get(simulator, path)).await.json()
}

#[tokio::test]
async fn the_key_shows_what_was_spent() {
    let simulator = Simulator::start(SimulatorConfig::instant()).await.unwrap();
    for slug in [FREE, FREE, MODEL] {
        assert_eq!(send(&simulator, &question(&simulator, slug, false)).await.status, 200);
    }
    let usage = read(&simulator, "/api/v1/credits").await["data"]["total_usage"].clone();
    assert!(usage.as_f64().unwrap() > 0.0);
    let expected = json!({"data": {
        "label": "sk-or-v1-sim...key",
        "limit": null,
        "limit_remaining": null,
        "limit_reset": null,
        "include_byok_in_limit": false,
        "usage": usage,
        "usage_daily": usage,
        "usage_weekly": usage,
        "usage_monthly": usage,
        "byok_usage": 0,
        "is_free_tier": false,
        "is_management_key": false,
        "is_provisioning_key": false,
        "expires_at": null,
        "free_model_daily_requests": {"limit": 50, "remaining": 50, "used": 0},
        "rate_limit": {
            "requests": -1,
            "interval": "10s",
            "note": "This field is deprecated and safe to ignore.",
        },
    }});
    assert_eq!(read(&simulator, "/api/v1/key").await, expected);
}

#[tokio::test(start_paused = true)]
async fn a_generation_reports_its_usage_and_cost() {
    let config = SimulatorConfig { time_scale: 1.0, ..SimulatorConfig::instant() };
    let simulator = Simulator::start(config).await.unwrap();
    let behaviour = Behaviour { ttft_ms: Latency::of(300), ..Behaviour::instant() };
    simulator.script(MODEL, Script::behaving(Behaviour { comment_every_ms: 0, ..behaviour }));
    let reply = send(&simulator, &question(&simulator, MODEL, false)).await.json();
    let id = reply["id"].as_str().unwrap();
    let mut record = read(&simulator, &format!("/api/v1/generation?id={id}")).await;
    let latency = record["data"]["latency"].take().as_u64().unwrap();
    assert!((300..400).contains(&latency), "{latency}");
    let generation_time = record["data"]["generation_time"].take();
    assert!(generation_time.as_u64().unwrap() < 100, "{generation_time}");
    let created_at = record["data"]["created_at"].take();
    assert_eq!(created_at.as_str().unwrap().len(), "2026-10-04T11:22:33Z".len());
    let (prompt, completion) = (&reply["usage"]["prompt_tokens"], &reply["usage"]["completion_tokens"]);
    let cost = &reply["usage"]["cost"];
    let expected = json!({"data": {
        "id": id,
        "created_at": null,
        "model": MODEL,
        "app_id": null,
        "streamed": false,
        "cancelled": false,
        "latency": null,
        "generation_time": null,
        "tokens_prompt": prompt,
        "tokens_completion": completion,
        "native_tokens_prompt": prompt,
        "native_tokens_completion": completion,
        "native_tokens_cached": 0,
        "total_cost": cost,
        "usage": cost,
        "is_byok": false,
        "finish_reason": "stop",
        "native_finish_reason": "stop",
        "provider_name": "OpenAI",
        "provider_responses": [{"provider_name": "OpenAI", "status": 200, "latency": null}],
        "router": null,
        "request_id": null,
        "upstream_id": null,
        "api_type": "completions",
        "data_region": "global",
    }});
    record["data"]["provider_responses"][0]["latency"].take();
    assert_eq!(record, expected);
}
