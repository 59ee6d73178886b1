//! Replies without streaming: the healthy body, and its faults.

use parallel_llm_simulator::{Answer, Behaviour, Fault, Script, Simulator, SimulatorConfig};
use serde_json::{Value, json};

use crate::client::{End, MODEL, Reply, chat, question, scrub, send};

async fn whole(script: Script) -> Reply {
    let simulator = Simulator::start(SimulatorConfig::instant()).await.unwrap();
    simulator.script(MODEL, script);
    send(&simulator, &question(&simulator, MODEL, false)).await
}

async fn choice(fault: Fault) -> Value {
    let reply = whole(Script { fault: Some(fault), ..Script::answering("A fine answer.") }).await;
    assert_eq!((reply.status, reply.end), (200, End::Whole), "{fault}");
    reply.json()["choices"][0].clone()
}

#[tokio::test]
async fn a_healthy_body_is_openrouters() {
    let answer = Answer::Fixed("pong".to_owned());
    let behaviour = Behaviour { answer, reasoning_tokens: 2, dated_slug: true, ..Behaviour::instant() };
    let reply = whole(Script::behaving(behaviour)).await;
    assert_eq!(
        scrub(&reply.text()),
        r#"{"id":"gen-ID","object":"chat.completion","created":NOW,"model":"openai/gpt-6.1-terra-20260929","provider":"OpenAI","system_fingerprint":null,"choices":[{"index":0,"logprobs":null,"finish_reason":"stop","native_finish_reason":"stop","message":{"role":"assistant","content":"pong","refusal":null,"reasoning":"The user","reasoning_details":[{"type":"reasoning.text","text":"The user","format":"unknown","index":0}]}}],"usage":{"prompt_tokens":6,"completion_tokens":3,"total_tokens":9,"cost":0.000021,"is_byok":false,"prompt_tokens_details":{"cached_tokens":0,"cache_write_tokens":0,"audio_tokens":0,"video_tokens":0},"cost_details":{"upstream_inference_cost":0.000021,"upstream_inference_prompt_cost":0.000006,"upstream_inference_completions_cost":0.000015},"completion_tokens_details":{"reasoning_tokens":2,"image_tokens":0,"audio_tokens":0}}}"#
    );
}

#[tokio::test]
async fn the_id_of_the_head_is_the_id_of_the_body() {
    let reply = whole(Script::default()).await;
    assert_eq!(reply.json()["id"], reply.header("X-Generation-Id").unwrap());
}

#[tokio::test]
async fn faulty_answers_keep_their_status() {
    assert!(choice(Fault::EmptyChoices).await.is_null());
    assert!(choice(Fault::NullContent).await["message"]["content"].is_null());
    assert_eq!(choice(Fault::EmptyContent).await["message"]["content"], "");
    assert_eq!(choice(Fault::ContentFilter).await["finish_reason"], "content_filter");
    assert_eq!(choice(Fault::Refusal).await["message"]["refusal"], "I can't help with that request.");
    assert_eq!(choice(Fault::ReasoningBurn).await["finish_reason"], "length");
    assert_eq!(choice(Fault::TruncatedLength).await["message"]["content"], "A fine a");
    let error = choice(Fault::OkFinishError).await;
    assert_eq!(
        (&error["finish_reason"], &error["error"]["code"]),
        (&Value::from("error"), &Value::from(502))
    );
}

#[tokio::test]
async fn a_broken_connection_breaks_a_body() {
    for (fault, end) in
        [(Fault::SseReset, End::Reset), (Fault::SseEofInChunk, End::Cut), (Fault::Stall, End::Open)]
    {
        let reply = whole(Script::fault(fault)).await;
        assert_eq!((reply.end, reply.body().is_empty()), (end, false), "{fault}");
    }
}

#[tokio::test]
async fn white_space_is_sent_before_the_answer() {
    let mut config = SimulatorConfig::instant();
    config.time_scale = 1.0;
    config.behaviour.ttft_ms.mean = 50;
    config.behaviour.comment_every_ms = 20;
    let simulator = Simulator::start(config).await.unwrap();
    let reply = send(&simulator, &question(&simulator, MODEL, false)).await;
    assert!(reply.text().starts_with("\n         \n\n         \n{\"id\""));
}

#[tokio::test]
async fn a_quick_answer_sends_its_head_when_it_is_ready() {
    let mut config = SimulatorConfig::instant();
    config.time_scale = 1.0;
    config.behaviour.ttft_ms.mean = 20;
    let simulator = Simulator::start(config).await.unwrap();
    send(&simulator, &question(&simulator, MODEL, false)).await;
    let request = &simulator.requests()[0];
    assert!(request.first_byte_us.unwrap() - request.arrived_us >= 20_000);
}

#[tokio::test]
async fn a_limit_on_tokens_cuts_the_answer() {
    let simulator = Simulator::start(SimulatorConfig::instant()).await.unwrap();
    simulator.script(MODEL, Script::answering("one two three four"));
    let messages = json!([{"role": "user", "content": "Count."}]);
    let body = json!({"model": MODEL, "messages": messages, "max_completion_tokens": 2});
    let reply = send(&simulator, &chat(&simulator, &body)).await.json();
    assert_eq!(reply["choices"][0]["message"]["content"], "one two ");
    assert_eq!(reply["choices"][0]["finish_reason"], "length");
    assert_eq!(reply["usage"]["completion_tokens"], 2);
}

#[tokio::test]
async fn an_alias_is_served_by_its_target() {
    let simulator = Simulator::start(SimulatorConfig::instant()).await.unwrap();
    let reply = send(&simulator, &question(&simulator, "~anthropic/claude-opus-latest", false)).await;
    assert_eq!(reply.json()["model"], "anthropic/claude-opus-5.5");
    assert_eq!(reply.json()["provider"], "Anthropic");
}

#[tokio::test]
async fn the_same_seed_gives_the_same_answer() {
    let said = async |seed| {
        let simulator =
            Simulator::start(SimulatorConfig { seed, ..SimulatorConfig::instant() }).await.unwrap();
        let reply = send(&simulator, &question(&simulator, "qwen/qwen3.8-max-0902", false)).await;
        (scrub(&reply.text()), reply.header("X-Generation-Id").unwrap()[15..].to_owned())
    };
    assert_eq!(said(3).await, said(3).await);
    assert_ne!(said(3).await.1, said(4).await.1);
}
