//! The healthy answer of every dialect, streamed and whole, byte for byte.

use parallel_llm_simulator::{Answer, Behaviour, Script, Simulator, SimulatorConfig};
use serde_json::{Value, json};

use crate::client::{End, send};
use crate::dialect::*;

/// A simulator that answers with one token of reasoning and then a greeting.
async fn greeting(form: Encoder) -> Simulator {
    let simulator = Simulator::start(SimulatorConfig::instant()).await.unwrap();
    let behaviour = Behaviour {
        answer: Answer::Fixed("Hello \u{1f642}!".to_owned()),
        reasoning_tokens: 1,
        chunk_tokens: 2,
        ..Behaviour::instant()
    };
    let slug = if form.dialect == "openrouter" { form.model } else { "*" };
    simulator.script(slug, Script::behaving(behaviour));
    simulator
}

/// The text with the common beginning of all chunks abbreviated.
fn short(form: Encoder, simulator: &Simulator, text: &str) -> String {
    let model = form.model;
    let chunk = format!(r#"{{"id":"ID","object":"chat.completion.chunk","created":NOW,"model":"{model}","#);
    let body = format!(r#"{{"id":"ID","object":"chat.completion","created":NOW,"model":"{model}","#);
    scrub(simulator, text).replace(&chunk, "{CHUNK ").replace(&body, "{BODY ")
}

/// Each form with its stream and its body.
const ANSWERS: &[(Encoder, &str, &str)] = &[
    (
        OPENROUTER,
        r#"data: {CHUNK "provider":"OpenAI","choices":[{"index":0,"delta":{"content":"","role":"assistant","reasoning":"The ","reasoning_details":[{"type":"reasoning.text","text":"The ","format":"unknown","index":0}]},"finish_reason":null,"native_finish_reason":null}]}

data: {CHUNK "provider":"OpenAI","choices":[{"index":0,"delta":{"content":"Hello ","role":"assistant"},"finish_reason":null,"native_finish_reason":null}]}

data: {CHUNK "provider":"OpenAI","choices":[{"index":0,"delta":{"content":"🙂!","role":"assistant"},"finish_reason":null,"native_finish_reason":null}]}

data: {CHUNK "provider":"OpenAI","choices":[{"index":0,"delta":{"content":"","role":"assistant"},"finish_reason":"stop","native_finish_reason":"stop"}]}

data: {CHUNK "provider":"OpenAI","choices":[{"index":0,"delta":{"content":"","role":"assistant"},"finish_reason":"stop","native_finish_reason":"stop"}],"usage":{"prompt_tokens":6,"completion_tokens":4,"total_tokens":10,"cost":0.0000026,"is_byok":false,"prompt_tokens_details":{"cached_tokens":0,"cache_write_tokens":0,"audio_tokens":0,"video_tokens":0},"cost_details":{"upstream_inference_cost":0.0000026,"upstream_inference_prompt_cost":6e-7,"upstream_inference_completions_cost":0.000002},"completion_tokens_details":{"reasoning_tokens":1,"image_tokens":0,"audio_tokens":0}}}

data: [DONE]

"#,
        r#"{BODY "provider":"OpenAI","system_fingerprint":null,"choices":[{"index":0,"logprobs":null,"finish_reason":"stop","native_finish_reason":"stop","message":{"role":"assistant","content":"Hello 🙂!","refusal":null,"reasoning":"The ","reasoning_details":[{"type":"reasoning.text","text":"The ","format":"unknown","index":0}]}}],"usage":{"prompt_tokens":6,"completion_tokens":4,"total_tokens":10,"cost":0.0000026,"is_byok":false,"prompt_tokens_details":{"cached_tokens":0,"cache_write_tokens":0,"audio_tokens":0,"video_tokens":0},"cost_details":{"upstream_inference_cost":0.0000026,"upstream_inference_prompt_cost":6e-7,"upstream_inference_completions_cost":0.000002},"completion_tokens_details":{"reasoning_tokens":1,"image_tokens":0,"audio_tokens":0}}}"#,
    ),
    (
        OPENAI,
        r#"data: {CHUNK "choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]}

data: {CHUNK "choices":[{"index":0,"delta":{"content":"Hello "},"finish_reason":null}]}

data: {CHUNK "choices":[{"index":0,"delta":{"content":"🙂!"},"finish_reason":null}]}

data: {CHUNK "choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}

data: [DONE]

"#,
        r#"{BODY "system_fingerprint":null,"choices":[{"index":0,"logprobs":null,"finish_reason":"stop","message":{"role":"assistant","content":"Hello 🙂!","refusal":null}}],"usage":{"prompt_tokens":6,"completion_tokens":4,"total_tokens":10,"completion_tokens_details":{"reasoning_tokens":1}}}"#,
    ),
    (
        ANTHROPIC,
        r#"event: message_start
data: {"type":"message_start","message":{"id":"ID","type":"message","role":"assistant","model":"claude-haiku-5.5","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":6,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"output_tokens":1}}}

event: content_block_start
data: {"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}

event: ping
data: {"type":"ping"}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"The "}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"1af651b672a64a11c1ff52e5cdff5a7ae40b069502f54ab6f64471df7da3703c"}}

event: content_block_stop
data: {"type":"content_block_stop","index":0}

event: content_block_start
data: {"type":"content_block_start","index":1,"content_block":{"type":"text","text":""}}

event: content_block_delta
data: {"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"Hello "}}

event: content_block_delta
data: {"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"🙂!"}}

event: content_block_stop
data: {"type":"content_block_stop","index":1}

event: message_delta
data: {"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"input_tokens":6,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"output_tokens":4}}

event: message_stop
data: {"type":"message_stop"}

"#,
        r#"{"id":"ID","type":"message","role":"assistant","model":"claude-haiku-5.5","content":[{"type":"thinking","thinking":"The ","signature":"1af651b672a64a11c1ff52e5cdff5a7ae40b069502f54ab6f64471df7da3703c"},{"type":"text","text":"Hello 🙂!"}],"stop_reason":"end_turn","stop_sequence":null,"usage":{"input_tokens":6,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"output_tokens":4}}"#,
    ),
    (
        ANTHROPIC_COMPAT,
        r#"data: {CHUNK "choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]}

data: {CHUNK "choices":[{"index":0,"delta":{"content":"Hello "},"finish_reason":null}]}

data: {CHUNK "choices":[{"index":0,"delta":{"content":"🙂!"},"finish_reason":null}]}

data: {CHUNK "choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}

data: [DONE]

"#,
        r#"{BODY "system_fingerprint":null,"choices":[{"index":0,"logprobs":null,"finish_reason":"stop","message":{"role":"assistant","content":"Hello 🙂!","refusal":null}}],"usage":{"prompt_tokens":6,"completion_tokens":4,"total_tokens":10,"completion_tokens_details":{"reasoning_tokens":1}}}"#,
    ),
    (
        GEMINI,
        r#"data: {"candidates":[{"content":{"parts":[{"text":"Hello "}],"role":"model"},"index":0}],"usageMetadata":{"promptTokenCount":6,"candidatesTokenCount":2,"totalTokenCount":9,"thoughtsTokenCount":1},"modelVersion":"gemini-3.8-flash","responseId":"ID"}

data: {"candidates":[{"content":{"parts":[{"text":"🙂!"}],"role":"model"},"index":0}],"usageMetadata":{"promptTokenCount":6,"candidatesTokenCount":3,"totalTokenCount":10,"thoughtsTokenCount":1},"modelVersion":"gemini-3.8-flash","responseId":"ID"}

data: {"candidates":[{"content":{"parts":[{"text":""}],"role":"model"},"finishReason":"STOP","index":0}],"usageMetadata":{"promptTokenCount":6,"candidatesTokenCount":3,"totalTokenCount":10,"thoughtsTokenCount":1},"modelVersion":"gemini-3.8-flash","responseId":"ID"}

"#,
        r#"{"candidates":[{"content":{"parts":[{"text":"Hello 🙂!"}],"role":"model"},"finishReason":"STOP","index":0}],"usageMetadata":{"promptTokenCount":6,"candidatesTokenCount":3,"totalTokenCount":10,"thoughtsTokenCount":1},"modelVersion":"gemini-3.8-flash","responseId":"ID"}"#,
    ),
    (
        GEMINI_COMPAT,
        r#"data: {CHUNK "choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]}

data: {CHUNK "choices":[{"index":0,"delta":{"content":"Hello "},"finish_reason":null}]}

data: {CHUNK "choices":[{"index":0,"delta":{"content":"🙂!"},"finish_reason":null}]}

data: {CHUNK "choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}

data: [DONE]

"#,
        r#"{BODY "system_fingerprint":null,"choices":[{"index":0,"logprobs":null,"finish_reason":"stop","message":{"role":"assistant","content":"Hello 🙂!","refusal":null}}],"usage":{"prompt_tokens":6,"completion_tokens":4,"total_tokens":10,"completion_tokens_details":{"reasoning_tokens":1}}}"#,
    ),
    (
        AZURE,
        r#"data: {"choices":[],"created":NOW,"id":"","model":"","object":"","prompt_filter_results":[{"content_filter_results":{"hate":{"filtered":false,"severity":"safe"},"self_harm":{"filtered":false,"severity":"safe"},"sexual":{"filtered":false,"severity":"safe"},"violence":{"filtered":false,"severity":"safe"}},"prompt_index":0}]}

data: {CHUNK "choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]}

data: {CHUNK "choices":[{"index":0,"delta":{"content":"Hello "},"finish_reason":null}]}

data: {CHUNK "choices":[{"index":0,"delta":{"content":"🙂!"},"finish_reason":null}]}

data: {CHUNK "choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}

data: [DONE]

"#,
        r#"{BODY "system_fingerprint":null,"choices":[{"index":0,"logprobs":null,"finish_reason":"stop","message":{"role":"assistant","content":"Hello 🙂!","refusal":null}}],"usage":{"prompt_tokens":6,"completion_tokens":4,"total_tokens":10,"completion_tokens_details":{"reasoning_tokens":1}}}"#,
    ),
    (
        GROQ,
        r#"data: {CHUNK "choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]}

data: {CHUNK "choices":[{"index":0,"delta":{"reasoning":"The "},"finish_reason":null}]}

data: {CHUNK "choices":[{"index":0,"delta":{"content":"Hello "},"finish_reason":null}]}

data: {CHUNK "choices":[{"index":0,"delta":{"content":"🙂!"},"finish_reason":null}]}

data: {CHUNK "choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"x_groq":{"id":"ID","usage":{"prompt_tokens":6,"completion_tokens":4,"total_tokens":10,"completion_tokens_details":{"reasoning_tokens":1}}}}

data: [DONE]

"#,
        r#"{BODY "system_fingerprint":null,"choices":[{"index":0,"logprobs":null,"finish_reason":"stop","message":{"role":"assistant","content":"Hello 🙂!","refusal":null,"reasoning":"The "}}],"usage":{"prompt_tokens":6,"completion_tokens":4,"total_tokens":10,"completion_tokens_details":{"reasoning_tokens":1}}}"#,
    ),
    (
        DEEPSEEK,
        r#"data: {CHUNK "choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]}

data: {CHUNK "choices":[{"index":0,"delta":{"reasoning_content":"The "},"finish_reason":null}]}

data: {CHUNK "choices":[{"index":0,"delta":{"content":"Hello "},"finish_reason":null}]}

data: {CHUNK "choices":[{"index":0,"delta":{"content":"🙂!"},"finish_reason":null}]}

data: {CHUNK "choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}

data: [DONE]

"#,
        r#"{BODY "system_fingerprint":null,"choices":[{"index":0,"logprobs":null,"finish_reason":"stop","message":{"role":"assistant","content":"Hello 🙂!","refusal":null,"reasoning_content":"The "}}],"usage":{"prompt_tokens":6,"completion_tokens":4,"total_tokens":10,"prompt_cache_hit_tokens":0,"prompt_cache_miss_tokens":6,"completion_tokens_details":{"reasoning_tokens":1}}}"#,
    ),
    (
        XAI,
        r#"data: {CHUNK "choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]}

data: {CHUNK "choices":[{"index":0,"delta":{"reasoning_content":"The "},"finish_reason":null}]}

data: {CHUNK "choices":[{"index":0,"delta":{"content":"Hello "},"finish_reason":null}]}

data: {CHUNK "choices":[{"index":0,"delta":{"content":"🙂!"},"finish_reason":null}]}

data: {CHUNK "choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"usage":{"prompt_tokens":6,"completion_tokens":3,"total_tokens":10,"completion_tokens_details":{"reasoning_tokens":1},"cost_in_usd_ticks":360000}}

data: [DONE]

"#,
        r#"{BODY "system_fingerprint":null,"choices":[{"index":0,"logprobs":null,"finish_reason":"stop","message":{"role":"assistant","content":"Hello 🙂!","refusal":null,"reasoning_content":"The "}}],"usage":{"prompt_tokens":6,"completion_tokens":3,"total_tokens":10,"completion_tokens_details":{"reasoning_tokens":1},"cost_in_usd_ticks":360000}}"#,
    ),
    (
        MISTRAL,
        r#"data: {CHUNK "choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]}

data: {CHUNK "choices":[{"index":0,"delta":{"content":[{"type":"thinking","thinking":[{"type":"text","text":"The "}]}]},"finish_reason":null}]}

data: {CHUNK "choices":[{"index":0,"delta":{"content":[{"type":"text","text":"Hello "}]},"finish_reason":null}]}

data: {CHUNK "choices":[{"index":0,"delta":{"content":[{"type":"text","text":"🙂!"}]},"finish_reason":null}]}

data: {CHUNK "choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"usage":{"prompt_tokens":6,"completion_tokens":4,"total_tokens":10,"completion_tokens_details":{"reasoning_tokens":1}}}

data: [DONE]

"#,
        r#"{BODY "system_fingerprint":null,"choices":[{"index":0,"logprobs":null,"finish_reason":"stop","message":{"role":"assistant","content":[{"type":"thinking","thinking":[{"type":"text","text":"The "}]},{"type":"text","text":"Hello 🙂!"}],"refusal":null}}],"usage":{"prompt_tokens":6,"completion_tokens":4,"total_tokens":10,"completion_tokens_details":{"reasoning_tokens":1}}}"#,
    ),
    (
        TOGETHER,
        r#"data: {CHUNK "choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]}

data: {CHUNK "choices":[{"index":0,"delta":{"reasoning":"The "},"finish_reason":null}]}

data: {CHUNK "choices":[{"index":0,"delta":{"content":"Hello "},"finish_reason":null}]}

data: {CHUNK "choices":[{"index":0,"delta":{"content":"🙂!"},"finish_reason":null}]}

data: {CHUNK "choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"usage":{"prompt_tokens":6,"completion_tokens":4,"total_tokens":10,"completion_tokens_details":{"reasoning_tokens":1}}}

data: [DONE]

"#,
        r#"{BODY "system_fingerprint":null,"choices":[{"index":0,"logprobs":null,"finish_reason":"stop","message":{"role":"assistant","content":"Hello 🙂!","refusal":null,"reasoning":"The "}}],"usage":{"prompt_tokens":6,"completion_tokens":4,"total_tokens":10,"completion_tokens_details":{"reasoning_tokens":1}}}"#,
    ),
    (
        MOONSHOT,
        r#"data: {CHUNK "choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]}

data: {CHUNK "choices":[{"index":0,"delta":{"reasoning_content":"The "},"finish_reason":null}]}

data: {CHUNK "choices":[{"index":0,"delta":{"content":"Hello "},"finish_reason":null}]}

data: {CHUNK "choices":[{"index":0,"delta":{"content":"🙂!"},"finish_reason":null}]}

data: {CHUNK "choices":[{"index":0,"delta":{},"finish_reason":"stop","usage":{"prompt_tokens":6,"completion_tokens":4,"total_tokens":10,"cached_tokens":0,"completion_tokens_details":{"reasoning_tokens":1}}}]}

data: [DONE]

"#,
        r#"{BODY "system_fingerprint":null,"choices":[{"index":0,"logprobs":null,"finish_reason":"stop","message":{"role":"assistant","content":"Hello 🙂!","refusal":null,"reasoning_content":"The "}}],"usage":{"prompt_tokens":6,"completion_tokens":4,"total_tokens":10,"cached_tokens":0,"completion_tokens_details":{"reasoning_tokens":1}}}"#,
    ),
    (
        OLLAMA,
        r#"data: {CHUNK "choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]}

data: {CHUNK "choices":[{"index":0,"delta":{"reasoning":"The "},"finish_reason":null}]}

data: {CHUNK "choices":[{"index":0,"delta":{"content":"Hello "},"finish_reason":null}]}

data: {CHUNK "choices":[{"index":0,"delta":{"content":"🙂!"},"finish_reason":null}]}

data: {CHUNK "choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}

data: [DONE]

"#,
        r#"{BODY "system_fingerprint":null,"choices":[{"index":0,"logprobs":null,"finish_reason":"stop","message":{"role":"assistant","content":"Hello 🙂!","refusal":null,"reasoning":"The "}}],"usage":{"prompt_tokens":6,"completion_tokens":4,"total_tokens":10,"completion_tokens_details":{"reasoning_tokens":1}}}"#,
    ),
    (
        OLLAMA_NATIVE,
        r#"{"model":"gemma-4-31b-it","created_at":NOW,"message":{"role":"assistant","content":"","thinking":"The "},"done":false}
{"model":"gemma-4-31b-it","created_at":NOW,"message":{"role":"assistant","content":"Hello "},"done":false}
{"model":"gemma-4-31b-it","created_at":NOW,"message":{"role":"assistant","content":"🙂!"},"done":false}
{"model":"gemma-4-31b-it","created_at":NOW,"message":{"role":"assistant","content":""},"done":true,"done_reason":"stop","total_duration":80000000,"load_duration":8000000,"prompt_eval_count":6,"prompt_eval_duration":48000000,"eval_count":4,"eval_duration":32000000}
"#,
        r#"{"model":"gemma-4-31b-it","created_at":NOW,"message":{"role":"assistant","content":"Hello 🙂!","thinking":"The "},"done":true,"done_reason":"stop","total_duration":80000000,"load_duration":8000000,"prompt_eval_count":6,"prompt_eval_duration":48000000,"eval_count":4,"eval_duration":32000000}"#,
    ),
    (
        LM_STUDIO,
        r#"data: {CHUNK "choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]}

data: {CHUNK "choices":[{"index":0,"delta":{"reasoning_content":"The "},"finish_reason":null}]}

data: {CHUNK "choices":[{"index":0,"delta":{"content":"Hello "},"finish_reason":null}]}

data: {CHUNK "choices":[{"index":0,"delta":{"content":"🙂!"},"finish_reason":null}]}

data: {CHUNK "choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}

data: [DONE]

"#,
        r#"{BODY "system_fingerprint":null,"choices":[{"index":0,"logprobs":null,"finish_reason":"stop","message":{"role":"assistant","content":"Hello 🙂!","refusal":null,"reasoning_content":"The "}}],"usage":{"prompt_tokens":6,"completion_tokens":4,"total_tokens":10,"completion_tokens_details":{"reasoning_tokens":1}}}"#,
    ),
    (
        VLLM,
        r#"data: {CHUNK "choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]}

data: {CHUNK "choices":[{"index":0,"delta":{"reasoning_content":"The "},"finish_reason":null}]}

data: {CHUNK "choices":[{"index":0,"delta":{"content":"Hello "},"finish_reason":null}]}

data: {CHUNK "choices":[{"index":0,"delta":{"content":"🙂!"},"finish_reason":null}]}

data: {CHUNK "choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}

data: [DONE]

"#,
        r#"{BODY "system_fingerprint":null,"choices":[{"index":0,"logprobs":null,"finish_reason":"stop","message":{"role":"assistant","content":"Hello 🙂!","refusal":null,"reasoning_content":"The "}}],"usage":{"prompt_tokens":6,"completion_tokens":4,"total_tokens":10,"completion_tokens_details":{"reasoning_tokens":1}}}"#,
    ),
];

#[tokio::test]
async fn every_dialect_answers_in_its_own_bytes() {
    assert_eq!(ANSWERS.len(), FORMS.len());
    for (form, streamed, whole) in ANSWERS {
        let simulator = greeting(*form).await;
        let reply = form.answer(&simulator, true).await;
        assert_eq!((reply.status, reply.end), (200, End::Whole), "{form:?}");
        let text = short(*form, &simulator, &reply.text());
        assert_eq!(text.contains("\r\n\r\n"), form.protocol == Protocol::Gemini, "{form:?}");
        assert_eq!(text.replace("\r\n", "\n"), *streamed, "{form:?}");

        let simulator = greeting(*form).await;
        let reply = form.answer(&simulator, false).await;
        assert_eq!(reply.header("Content-Type"), Some("application/json"), "{form:?}");
        assert_eq!(short(*form, &simulator, &reply.text()), *whole, "{form:?}");
    }
}

#[tokio::test]
async fn the_ledger_holds_the_price_whatever_the_dialect_says_about_it() {
    for form in FORMS {
        let simulator = greeting(form).await;
        form.answer(&simulator, true).await;
        let charge = simulator.ledger().charges.pop().unwrap();
        assert_eq!(
            (charge.prompt_tokens, charge.completion_tokens, charge.streamed),
            (6, 4, true),
            "{form:?}"
        );
        let is_free = charge.model.ends_with(":free");
        assert_eq!(charge.cost_pico_usd == 0, is_free, "{form:?}");
        assert_eq!(simulator.requests()[0].generation_id, Some(charge.generation_id), "{form:?}");
    }
}

#[tokio::test]
async fn usage_is_sent_where_it_was_requested() {
    for (form, unasked, asked) in [
        (OPENAI, 0, 1),
        (ANTHROPIC_COMPAT, 0, 1),
        (GEMINI_COMPAT, 0, 1),
        (AZURE, 0, 1),
        (GROQ, 1, 2),
        (DEEPSEEK, 0, 1),
        (OLLAMA, 0, 1),
        (LM_STUDIO, 0, 1),
        (VLLM, 0, 1),
        (XAI, 1, 1),
        (TOGETHER, 1, 1),
        (MOONSHOT, 1, 1),
    ] {
        let simulator = greeting(form).await;
        let mut body = form.body("Hi", true);
        let counted = async |body: &Value| {
            let text = send(&simulator, &form.ask(&simulator, body, true)).await.text();
            text.matches("\"usage\":{").count()
        };
        assert_eq!(counted(&body).await, unasked, "{form:?}");
        body["stream_options"] = json!({"include_usage": true});
        assert_eq!(counted(&body).await, asked, "{form:?}");
    }
}

#[tokio::test]
async fn gemini_shows_thoughts_on_request_and_sends_a_list_without_events() {
    let simulator = greeting(GEMINI).await;
    let mut body = GEMINI.body("Hi", true);
    body["generationConfig"] = json!({"thinkingConfig": {"includeThoughts": true}});
    let reply = send(&simulator, &GEMINI.ask(&simulator, &body, true)).await;
    assert!(reply.text().contains(r#""parts":[{"text":"The ","thought":true}]"#), "{}", reply.text());
    let mut ask = GEMINI.ask(&simulator, &body, true);
    ask.path = ask.path.replace("?alt=sse", "");
    let list = send(&simulator, &ask).await.json();
    assert_eq!(list[0]["candidates"][0]["content"]["parts"][1]["text"], "Hello \u{1f642}!");
}

#[tokio::test]
async fn each_dialect_has_its_own_keep_alive() {
    for (form, beginning) in [
        (DEEPSEEK, ": keep-alive\n\n: keep-alive\n\n: keep-alive\n\ndata: "),
        (OPENAI, "data: "),
        (OLLAMA_NATIVE, "{\"model\""),
    ] {
        let mut config = SimulatorConfig { time_scale: 1.0, ..SimulatorConfig::instant() };
        config.behaviour.ttft_ms.mean = 50;
        config.behaviour.comment_every_ms = 20;
        let simulator = Simulator::start(config.clone()).await.unwrap();
        let text = form.answer(&simulator, true).await.text();
        assert!(text.starts_with(beginning), "{text}");
        let simulator = Simulator::start(config).await.unwrap();
        let text = ANTHROPIC.answer(&simulator, true).await.text();
        assert_eq!(text.matches("event: ping").count(), 4, "{text}");
        assert!(text.starts_with("event: message_start\n"), "{text}");
    }
}

#[tokio::test]
async fn a_long_prompt_is_cut_silently_in_dialects_that_do_so() {
    let simulator = Simulator::start(SimulatorConfig::instant()).await.unwrap();
    let long = "x".repeat(40_000);
    let body = OLLAMA.body(&long, false);
    let reply = send(&simulator, &OLLAMA.ask(&simulator, &body, false)).await.json();
    assert_eq!(reply["usage"]["prompt_tokens"], 4096);
    let mut body = OLLAMA_NATIVE.body(&long, false);
    body["options"] = json!({"num_ctx": 8192, "num_predict": 2});
    let reply = send(&simulator, &OLLAMA_NATIVE.ask(&simulator, &body, false)).await.json();
    assert_eq!((&reply["prompt_eval_count"], &reply["eval_count"]), (&json!(8192), &json!(2)));
    assert_eq!(reply["done_reason"], "length");
}
