//! Knobs of the account and of a model, each seen from outside.

use parallel_llm_simulator::{
    Answer, Behaviour, Fault, Latency, ReasoningKind, Script, Simulator, SimulatorConfig, WriteSplit,
};
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::client::{MODEL, chat, question, scrub, send};
use crate::peer::{WAYS, meet};

async fn started(config: SimulatorConfig) -> Simulator {
    Simulator::start(config).await.unwrap()
}

async fn behaving(behaviour: Behaviour) -> Simulator {
    let simulator = started(SimulatorConfig::instant()).await;
    simulator.script(MODEL, Script::behaving(behaviour));
    simulator
}

/// Which of so many requests fail, as `x`.
async fn failures(seed: u64, probability: f64) -> String {
    let simulator = started(SimulatorConfig { seed, ..SimulatorConfig::instant() }).await;
    simulator.script(MODEL, Script::fault(Fault::Server500).fail_probability(probability));
    let mut line = String::new();
    for _ in 0..24 {
        let failed = send(&simulator, &question(&simulator, MODEL, false)).await.status == 500;
        line.push(if failed { 'x' } else { '.' });
    }
    line
}

#[tokio::test]
async fn a_fault_may_come_by_chance_and_the_chance_follows_from_the_seed() {
    assert_eq!(failures(1, 0.0).await, ".".repeat(24));
    assert_eq!(failures(1, 1.0).await, "x".repeat(24));
    assert_eq!(failures(1, 0.5).await, "xx..xxx.x.x.xx.x...xx.xx");
    assert_eq!(failures(2, 0.5).await, "..xxx.xx..x.xxx..xx..x..");
    assert_eq!(failures(1, 0.2).await, "x.....x.x....x.x...xx...");
}

#[tokio::test(start_paused = true)]
async fn a_latency_has_a_tail() {
    let config = SimulatorConfig { time_scale: 1.0, ..SimulatorConfig::instant() };
    let simulator = started(config).await;
    let ttft_ms = Latency { tail_p: 0.25, tail_ms: 60_000, ..Latency::of(100) };
    simulator.script(MODEL, Script::behaving(Behaviour { ttft_ms, ..Behaviour::instant() }));
    let mut slow = String::new();
    for number in 0..16 {
        let messages = json!([{"role": "user", "content": format!("Question {number}?")}]);
        let ask = chat(&simulator, &json!({"model": MODEL, "stream": true, "messages": messages}));
        let sent = Instant::now();
        send(&simulator, &ask).await;
        slow.push(if sent.elapsed().as_secs() >= 60 { 'x' } else { '.' });
    }
    assert_eq!(slow, "x...x.xxxx...xx.");
}

#[tokio::test]
async fn a_body_may_be_cut_at_random_on_every_way_in() {
    let answer = Answer::Fixed("Ünïcödé 你好 🙂 and a little more text to cut.".to_owned());
    let whole = Behaviour { answer, ..Behaviour::instant() };
    for way in WAYS {
        let config = SimulatorConfig { tls: way.tls, ..SimulatorConfig::instant() };
        let simulator = started(config).await;
        let mut texts = Vec::new();
        for write_split in [WriteSplit::default(), WriteSplit::Random, WriteSplit::Bytes(7)] {
            simulator.script(MODEL, Script::behaving(Behaviour { write_split, ..whole.clone() }));
            let heard = meet(&simulator, way).await.hear(&question(&simulator, MODEL, true)).await;
            let mut lengths: Vec<usize> = heard.pieces.iter().map(bytes::Bytes::len).collect();
            lengths.pop();
            match write_split {
                WriteSplit::Bytes(0) => assert!(lengths.is_empty(), "{way:?}"),
                WriteSplit::Bytes(bytes) => assert!(lengths.iter().all(|length| *length == bytes), "{way:?}"),
                WriteSplit::Random => {
                    assert!(lengths.iter().all(|length| (1..=40).contains(length)), "{way:?} {lengths:?}");
                    assert!(lengths.iter().any(|length| *length != lengths[0]), "{way:?}");
                }
            }
            texts.push(scrub(&heard.text()));
        }
        assert!(texts.iter().all(|text| *text == texts[0]), "{way:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn padding_has_a_pace_of_its_own() {
    let ttft_ms = Latency::of(1000);
    for (pad_whitespace_every_ms, paddings) in [(None, 1), (Some(0), 0), (Some(300), 3)] {
        let simulator = started(SimulatorConfig { time_scale: 1.0, ..SimulatorConfig::instant() }).await;
        let behaviour = Behaviour { ttft_ms, pad_whitespace_every_ms, ..Behaviour::instant() };
        simulator.script(MODEL, Script::behaving(behaviour));
        let text = send(&simulator, &question(&simulator, MODEL, false)).await.text();
        assert_eq!(text.matches("\n         \n").count(), paddings);
    }
}

#[tokio::test]
async fn what_a_model_says_of_itself_is_chosen() {
    let heard = async |behaviour: Behaviour, stream: bool| {
        let simulator = behaving(behaviour).await;
        let reply = send(&simulator, &question(&simulator, MODEL, stream)).await;
        if !stream {
            return vec![reply.json()["choices"][0].clone()];
        }
        let events = reply.events();
        let chunks = events.iter().filter_map(|event| serde_json::from_str::<Value>(event).ok());
        chunks.map(|chunk| chunk["choices"][0].clone()).collect()
    };
    let short = Behaviour { answer: Answer::Fixed("Yes.".to_owned()), ..Behaviour::instant() };

    let native = Behaviour { native_finish: Some("end_turn".to_owned()), ..short.clone() };
    for stream in [true, false] {
        let choices = heard(native.clone(), stream).await;
        let last = choices.last().unwrap();
        assert_eq!(
            (&last["finish_reason"], &last["native_finish_reason"]),
            (&json!("stop"), &json!("end_turn"))
        );
    }

    let refusing = Behaviour { refusal: Some("Not this.".to_owned()), ..short.clone() };
    assert_eq!(heard(refusing.clone(), false).await[0]["message"]["refusal"], "Not this.");
    assert!(heard(refusing, true).await.iter().any(|choice| choice["delta"]["refusal"] == "Not this."));

    let roles = async |role_every_chunk| {
        let chunks = heard(Behaviour { role_every_chunk, ..short.clone() }, true).await;
        let roles: Vec<bool> = chunks.iter().map(|choice| choice["delta"]["role"] == "assistant").collect();
        roles
    };
    assert_eq!(roles(true).await, [true, true, true]);
    assert_eq!(roles(false).await, [true, false, false]);
}

#[tokio::test]
async fn reasoning_is_shown_as_chosen() {
    let kinds = [
        (ReasoningKind::Text, Some("reasoning.text"), true),
        (ReasoningKind::Summary, Some("reasoning.summary"), true),
        (ReasoningKind::Encrypted, Some("reasoning.encrypted"), false),
        (ReasoningKind::None, None, false),
    ];
    for (reasoning_kind, detail, legible) in kinds {
        let simulator =
            behaving(Behaviour { reasoning_kind, reasoning_tokens: 8, ..Behaviour::instant() }).await;
        let whole = send(&simulator, &question(&simulator, MODEL, false)).await.json();
        let message = &whole["choices"][0]["message"];
        assert_eq!(message["reasoning_details"][0]["type"].as_str(), detail, "{reasoning_kind:?}");
        assert_eq!(message["reasoning"].is_string(), legible, "{reasoning_kind:?}");
        assert_eq!(whole["usage"]["completion_tokens_details"]["reasoning_tokens"], 8);
        let streamed = send(&simulator, &question(&simulator, MODEL, true)).await.text();
        for kind in ["reasoning.text", "reasoning.summary", "reasoning.encrypted"] {
            assert_eq!(streamed.contains(kind), detail == Some(kind), "{reasoning_kind:?}");
        }
        assert_eq!(streamed.contains("\"reasoning\":\""), legible, "{reasoning_kind:?}");
        assert!(streamed.contains("\"reasoning_tokens\":8"), "{reasoning_kind:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn comments_say_what_they_are_told_to() {
    for (comment_text, comment) in [("PATIENCE", ": PATIENCE\n\n"), ("", ": \n\n")] {
        let simulator = started(SimulatorConfig { time_scale: 1.0, ..SimulatorConfig::instant() }).await;
        let comment_text = comment_text.to_owned();
        let behaviour = Behaviour { ttft_ms: Latency::of(100), comment_text, ..Behaviour::instant() };
        simulator.script(MODEL, Script::behaving(behaviour));
        let text = send(&simulator, &question(&simulator, MODEL, true)).await.text();
        assert!(text.starts_with(&format!("{comment}data: ")), "{text}");
    }
}
