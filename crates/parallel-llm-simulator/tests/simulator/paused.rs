//! Paused time: latencies pass at once and in order.

use std::time::Duration;

use parallel_llm_simulator::{DEMO_QUESTION, Simulator, SimulatorConfig};
use serde_json::json;
use tokio::io::AsyncReadExt;
use tokio::time::Instant;

use crate::client::{chat, connect};

#[tokio::test(start_paused = true)]
async fn the_demo_runs_in_paused_time() {
    let simulator = Simulator::start(SimulatorConfig::demo()).await.unwrap();
    let seconds = [
        ("x-ai/grok-4.7", 1.0..1.6),
        ("openai/gpt-6.1-sol", 2.2..3.4),
        ("google/gemini-4-argon", 2.2..3.4),
        ("anthropic/claude-opus-5.5", 3.2..4.6),
        ("deepseek/deepseek-v4-pro-0813", 4.0..5.4),
    ];
    for (slug, expected) in seconds {
        let body =
            json!({"model": slug, "stream": true, "messages": [{"role": "user", "content": DEMO_QUESTION}]});
        let started = Instant::now();
        let mut stream = connect(&simulator, &chat(&simulator, &body)).await;
        let mut bytes = Vec::new();
        while !bytes.ends_with(b"\r\n0\r\n\r\n") {
            assert!(stream.read_buf(&mut bytes).await.unwrap() > 0, "{slug}");
        }
        let took = started.elapsed();
        assert!(expected.contains(&took.as_secs_f64()), "{slug} took {took:?}");
        assert!(took < Duration::from_secs(6), "{slug}");
    }
}
