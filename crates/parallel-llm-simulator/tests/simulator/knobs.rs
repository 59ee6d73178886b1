//! Knobs of the account and of a model, each seen from outside.

use parallel_llm_simulator::{
    Answer, Behaviour, Fault, HeaderCase, Latency, ReasoningKind, Script, Simulator, SimulatorConfig,
    WriteSplit,
};
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::client::{Ask, MODEL, Reply, chat, get, question, scrub, send};
use crate::peer::{WAYS, meet};

/// A model that costs nothing.
const FREE: &str = "google/gemma-4-31b-it:free";

async fn started(config: SimulatorConfig) -> Simulator {
    Simulator::start(config).await.unwrap()
}

async fn behaving(behaviour: Behaviour) -> Simulator {
    let simulator = started(SimulatorConfig::instant()).await;
    simulator.script(MODEL, Script::behaving(behaviour));
    simulator
}

/// The question as a chat with this header.
fn with_header(simulator: &Simulator, model: &str, stream: bool, headers: &str) -> Ask {
    Ask { extra_headers: headers.to_owned(), ..question(simulator, model, stream) }
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

#[tokio::test]
async fn free_requests_have_a_limit_each_day() {
    let config = SimulatorConfig { free_per_day: Some(2), ..SimulatorConfig::instant() };
    let simulator = started(config).await;
    for _ in 0..2 {
        assert_eq!(send(&simulator, &question(&simulator, FREE, false)).await.status, 200);
    }
    let refused = send(&simulator, &question(&simulator, FREE, false)).await;
    assert_eq!((refused.status, refused.header("X-Ratelimit-Limit")), (429, Some("2")));
    assert_eq!(
        refused.json()["error"]["message"],
        "Rate limit exceeded: free-models-per-day. Add 10 credits to unlock 1000 free model requests per day"
    );
    let reset: u64 = refused.header("X-Ratelimit-Reset").unwrap().parse().unwrap();
    assert_eq!(reset % 86_400_000, 0);
    assert_eq!(send(&simulator, &question(&simulator, MODEL, false)).await.status, 200);
}

#[tokio::test]
async fn names_of_headers_are_written_as_chosen() {
    for (header_case, name) in [(HeaderCase::Title, "Content-Type"), (HeaderCase::Lower, "content-type")] {
        let simulator = started(SimulatorConfig { header_case, ..SimulatorConfig::instant() }).await;
        let reply = send(&simulator, &get(&simulator, "/api/v1/models/count")).await;
        assert_eq!(reply.header(name), Some("application/json"));
    }
}

#[tokio::test]
async fn the_account_may_stay_unnamed() {
    for (send_user_id, tail) in [(true, r#","user_id":"user_sim"}"#), (false, "}")] {
        let simulator = started(SimulatorConfig { send_user_id, ..SimulatorConfig::instant() }).await;
        let reply = send(&simulator, &question(&simulator, "x/y", false)).await;
        let expected = format!(r#"{{"error":{{"message":"x/y is not a valid model ID","code":400}}{tail}"#);
        assert_eq!(reply.text(), expected);
        let bare = send(&simulator, &question(&simulator, MODEL, true).scenario("sse_error_bare")).await;
        assert_eq!(bare.text().contains("user_sim"), send_user_id);
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
async fn routing_is_told_to_who_asks() {
    let simulator = started(SimulatorConfig::instant()).await;
    let told = async |model: &str, stream: bool| {
        let ask = with_header(&simulator, model, stream, "X-OpenRouter-Metadata: enabled\r\n");
        let reply = send(&simulator, &ask).await;
        let last = if stream && reply.status == 200 {
            let events = reply.events();
            assert!(events[..events.len() - 2].iter().all(|event| !event.contains("openrouter_metadata")));
            serde_json::from_str(&events[events.len() - 2]).unwrap()
        } else {
            reply.json()
        };
        last["openrouter_metadata"].clone()
    };
    let direct = json!({
        "requested": MODEL,
        "strategy": "direct",
        "region": null,
        "summary": "available=1, selected=1",
        "attempt": 1,
        "is_byok": false,
        "endpoints": {"total": 1, "available": [{"provider": "OpenAI", "model": MODEL, "selected": true}]},
    });
    assert_eq!(told(MODEL, true).await, direct);
    assert_eq!(told(MODEL, false).await, direct);
    assert_eq!(told("~openai/gpt-sol-latest", true).await["strategy"], "latest");
    assert_eq!(told("openrouter/auto", false).await["strategy"], "auto");
    let unknown = told("x/y", true).await;
    assert_eq!(
        (&unknown["requested"], &unknown["endpoints"]),
        (&json!("x/y"), &json!({"total": 0, "available": []}))
    );
    simulator.script(MODEL, Script::fault(Fault::BadGateway));
    let failed = told(MODEL, false).await;
    assert_eq!(failed["endpoints"]["available"][0]["selected"], false);
    let silent = send(&simulator, &question(&simulator, FREE, false)).await;
    assert!(!silent.text().contains("openrouter_metadata"));
}

#[tokio::test]
async fn a_fallback_is_told_too() {
    let simulator = started(SimulatorConfig::instant()).await;
    simulator.script(MODEL, Script::fault(Fault::Server500));
    let messages = json!([{"role": "user", "content": "Hi"}]);
    let body = json!({"models": [MODEL, "x-ai/grok-4.7"], "messages": messages});
    let headers = "X-OpenRouter-Metadata: enabled\r\n".to_owned();
    let reply = send(&simulator, &Ask { extra_headers: headers, ..chat(&simulator, &body) }).await.json();
    let routed = &reply["openrouter_metadata"];
    assert_eq!(
        (&routed["requested"], &routed["strategy"], &routed["attempt"]),
        (&json!(MODEL), &json!("fallback"), &json!(2))
    );
    assert_eq!(routed["endpoints"]["available"][0]["model"], "x-ai/grok-4.7");
}

fn cache_headers(reply: &Reply) -> [Option<&str>; 3] {
    ["Status", "Age", "Ttl"].map(|name| reply.header(&format!("X-Openrouter-Cache-{name}")))
}

#[tokio::test]
async fn a_cached_reply_is_the_same_for_nothing() {
    for stream in [true, false] {
        let behaviour = Behaviour { reasoning_tokens: 3, ..Behaviour::instant() };
        let simulator = behaving(behaviour).await;
        let ask = with_header(&simulator, MODEL, stream, "X-OpenRouter-Cache: true\r\n");
        let miss = send(&simulator, &ask).await;
        assert_eq!(cache_headers(&miss), [Some("MISS"), None, Some("300")]);
        let charged = simulator.ledger().charged_pico_usd;
        // The cache stands before the provider, so a provider that fails does not show.
        simulator.script(MODEL, Script::fault(Fault::Server500));
        let hit = send(&simulator, &ask).await;
        assert_eq!(cache_headers(&hit), [Some("HIT"), Some("0"), Some("300")]);
        assert_eq!(hit.header("X-Openrouter-Cache-Source-Id"), miss.header("X-Generation-Id"));
        assert_ne!(hit.header("X-Generation-Id"), miss.header("X-Generation-Id"));
        assert!(hit.text().contains(hit.header("X-Generation-Id").unwrap()));
        assert_eq!(simulator.ledger().charged_pico_usd, charged);
        assert_eq!(simulator.ledger().held_pico_usd, 0);

        let usage = |reply: &Reply| {
            let text = reply.text();
            let (said, rest) = text.split_once("\"usage\":").unwrap();
            let usage = serde_json::Deserializer::from_str(rest).into_iter::<Value>().next();
            (scrub(said), usage.unwrap().unwrap())
        };
        let ((miss_said, miss_usage), (hit_said, hit_usage)) = (usage(&miss), usage(&hit));
        assert_eq!(miss_said, hit_said);
        assert!(miss_usage["cost"].as_f64().unwrap() > 0.0);
        assert_eq!(
            hit_usage,
            json!({
                "prompt_tokens": 0,
                "completion_tokens": 0,
                "total_tokens": 0,
                "cost": 0,
                "is_byok": false,
                "prompt_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0, "audio_tokens": 0, "video_tokens": 0},
                "cost_details": {
                    "upstream_inference_cost": 0,
                    "upstream_inference_prompt_cost": 0,
                    "upstream_inference_completions_cost": 0,
                },
                "completion_tokens_details": {"reasoning_tokens": 0, "image_tokens": 0, "audio_tokens": 0},
            })
        );
    }
}

#[tokio::test(start_paused = true)]
async fn the_cache_forgets_when_told_and_when_time_is_over() {
    let simulator = started(SimulatorConfig::instant()).await;
    let asked = async |headers: &str| {
        let ask = with_header(&simulator, MODEL, false, headers);
        let reply = send(&simulator, &ask).await;
        cache_headers(&reply).map(|value| value.map(str::to_owned))
    };
    let short = "X-OpenRouter-Cache: true\r\nX-OpenRouter-Cache-TTL: 60\r\n";
    let some = |text: &str| Some(text.to_owned());
    assert_eq!(asked("").await, [None, None, None]);
    assert_eq!(asked(short).await, [some("MISS"), None, some("60")]);
    tokio::time::advance(std::time::Duration::from_secs(30)).await;
    assert_eq!(asked(short).await, [some("HIT"), some("30"), some("60")]);
    tokio::time::advance(std::time::Duration::from_secs(30)).await;
    assert_eq!(asked(short).await, [some("MISS"), None, some("60")]);
    let clear = "X-OpenRouter-Cache: true\r\nX-OpenRouter-Cache-Clear: true\r\n";
    assert_eq!(asked(clear).await, [some("MISS"), None, some("300")]);
    let ask = with_header(&simulator, MODEL, true, short);
    assert_eq!(cache_headers(&send(&simulator, &ask).await)[0], Some("MISS"));
    let other = Ask { authorization: Some("Bearer wrong".to_owned()), ..ask };
    assert_eq!(cache_headers(&send(&simulator, &other).await), [None, None, None]);
}

#[tokio::test]
async fn a_fault_is_not_kept() {
    let simulator = started(SimulatorConfig::instant()).await;
    simulator.script(MODEL, Script::fault(Fault::Server500).fail_first(1));
    let ask = with_header(&simulator, MODEL, false, "X-OpenRouter-Cache: true\r\n");
    let mut replies = Vec::new();
    for _ in 0..3 {
        let reply = send(&simulator, &ask).await;
        replies.push((reply.status, cache_headers(&reply)[0].map(str::to_owned)));
    }
    let some = |text: &str| Some(text.to_owned());
    assert_eq!(replies, [(500, some("MISS")), (200, some("MISS")), (200, some("HIT"))]);
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
