//! Streams, healthy and broken, as bytes.

use parallel_llm_simulator::{Behaviour, Fault, Script, Simulator, SimulatorConfig};
use serde_json::Value;

use crate::client::{End, MODEL, Reply, question, scrub, send};

/// The scripted answer, a little longer than the part that a fault sends.
const TEXT: &str = "One two three four five six seven eight nine ten eleven twelve thirteen.";

async fn streamed(script: Script) -> (Simulator, Reply) {
    let simulator = Simulator::start(SimulatorConfig::instant()).await.unwrap();
    simulator.script(MODEL, script);
    let reply = send(&simulator, &question(&simulator, MODEL, true)).await;
    (simulator, reply)
}

async fn broken(fault: Fault) -> (Simulator, Reply) {
    streamed(Script { fault: Some(fault), ..Script::answering(TEXT).after_tokens(4) }).await
}

fn last_event(reply: &Reply) -> Value {
    serde_json::from_str(reply.events().last().unwrap()).unwrap()
}

#[tokio::test]
async fn a_healthy_stream_is_openrouters() {
    let behaviour = Behaviour {
        answer: parallel_llm_simulator::Answer::Fixed("Hello \u{1f642}!".to_owned()),
        reasoning_tokens: 1,
        chunk_tokens: 2,
        ..Behaviour::instant()
    };
    let (_simulator, reply) = streamed(Script::behaving(behaviour)).await;
    assert_eq!((reply.status, reply.end), (200, End::Whole));
    assert_eq!(reply.header("Content-Type"), Some("text/event-stream"));
    assert_eq!(reply.header("Cache-Control"), Some("no-cache"));
    assert_eq!(reply.chunks.len(), 1);
    let head = r#"data: {"id":"gen-ID","object":"chat.completion.chunk","created":NOW,"model":"openai/gpt-6.1-terra","provider":"OpenAI","choices":[{"index":0,"delta":"#;
    let tail = r#","finish_reason":null,"native_finish_reason":null}]}"#;
    let end = r#"{"content":"","role":"assistant"},"finish_reason":"stop","native_finish_reason":"stop"}]"#;
    let usage = r#""usage":{"prompt_tokens":6,"completion_tokens":4,"total_tokens":10,"cost":0.000026,"is_byok":false,"prompt_tokens_details":{"cached_tokens":0,"cache_write_tokens":0,"audio_tokens":0,"video_tokens":0},"cost_details":{"upstream_inference_cost":0.000026,"upstream_inference_prompt_cost":0.000006,"upstream_inference_completions_cost":0.00002},"completion_tokens_details":{"reasoning_tokens":1,"image_tokens":0,"audio_tokens":0}}"#;
    let expected = format!(
        "{head}{{\"content\":\"\",\"role\":\"assistant\",\"reasoning\":\"The \",\"reasoning_details\":[{{\"type\":\"reasoning.text\",\"text\":\"The \",\"format\":\"unknown\",\"index\":0}}]}}{tail}\n\n\
         {head}{{\"content\":\"Hello \",\"role\":\"assistant\"}}{tail}\n\n\
         {head}{{\"content\":\"🙂!\",\"role\":\"assistant\"}}{tail}\n\n\
         {head}{end}}}\n\n\
         {head}{end},{usage}}}\n\n\
         data: [DONE]\n\n"
    );
    assert_eq!(scrub(&reply.text()), expected);
}

#[tokio::test]
async fn comments_are_sent_before_the_answer() {
    let mut config = SimulatorConfig::instant();
    config.time_scale = 1.0;
    config.behaviour.ttft_ms.mean = 50;
    config.behaviour.comment_every_ms = 20;
    let simulator = Simulator::start(config).await.unwrap();
    let reply = send(&simulator, &question(&simulator, MODEL, true)).await;
    assert!(reply.text().starts_with(
        ": OPENROUTER PROCESSING\n\n: OPENROUTER PROCESSING\n\n: OPENROUTER PROCESSING\n\ndata: "
    ));
    assert!(reply.chunks.len() >= 4);
}

#[tokio::test]
async fn an_error_in_the_middle_ends_the_stream() {
    let (simulator, reply) = broken(Fault::SseErrorMid).await;
    assert_eq!((reply.status, reply.end), (200, End::Whole));
    assert_eq!(reply.streamed_text(), &TEXT[..16]);
    let error = reply.events().last().unwrap().split_once("\"provider\":\"OpenAI\",").unwrap().1.to_owned();
    assert_eq!(
        error,
        r#""error":{"code":429,"message":"Rate limit exceeded","metadata":{"error_type":"rate_limit_exceeded"}},"choices":[{"index":0,"delta":{"content":""},"finish_reason":"error"}]}"#
    );
    assert_eq!(simulator.ledger().charged_pico_usd, 0);

    let (_simulator, reply) = broken(Fault::SseErrorFirst).await;
    assert!(reply.text().starts_with(": OPENROUTER PROCESSING\n\ndata: "));
    assert_eq!((reply.events().len(), &last_event(&reply)["error"]["code"]), (1, &Value::from(502)));

    let (_simulator, reply) = broken(Fault::SseErrorBare).await;
    assert_eq!(
        reply.events().last().unwrap(),
        r#"{"error":{"message":"Upstream idle timeout exceeded","code":"server_error"},"user_id":"user_sim"}"#
    );
}

#[tokio::test]
async fn a_stream_breaks_in_each_way_of_a_connection() {
    let cases = [
        (Fault::SseCut, End::Whole),
        (Fault::SseReset, End::Reset),
        (Fault::SseEofInChunk, End::Cut),
        (Fault::Stall, End::Open),
        (Fault::BadJsonChunk, End::Whole),
    ];
    for (fault, end) in cases {
        let (simulator, reply) = broken(fault).await;
        assert_eq!((reply.end, reply.streamed_text().as_str()), (end, &TEXT[..16]), "{fault}");
        assert!(!reply.text().contains("[DONE]") && !reply.text().contains("stop"), "{fault}");
        if fault != Fault::Stall {
            assert_eq!(simulator.ledger().charges[0].completion_tokens, 4, "{fault}");
            assert_eq!(simulator.stats().client_cancelled, 0, "{fault}");
        }
    }
    let (_simulator, reply) = broken(Fault::BadJsonChunk).await;
    assert!(reply.text().ends_with("data: {\"id\":\"gen-1\",\"choices\":[{\"delta\":{\"cont\n\n"));
}

#[tokio::test]
async fn the_end_mark_may_be_missing() {
    let (_simulator, reply) = broken(Fault::SseNoDone).await;
    assert_eq!((reply.end, reply.streamed_text().as_str()), (End::Whole, TEXT));
    assert_eq!(last_event(&reply)["choices"][0]["finish_reason"], "stop");
}

#[tokio::test]
async fn endless_streams_do_not_end() {
    let (_simulator, reply) = broken(Fault::Flood).await;
    assert_eq!(reply.end, End::Endless);
    let (_simulator, reply) = broken(Fault::HugeLine).await;
    assert_eq!(reply.end, End::Whole);
    assert!(reply.body().len() > 64 * 1024 * 1024);
    assert_eq!(reply.events().len(), 1);
}

#[tokio::test]
async fn odd_framing_uses_what_the_format_allows() {
    let (_simulator, reply) = broken(Fault::OddFraming).await;
    let text = scrub(&reply.text());
    let expected = "\u{feff}: \r\nevent: message\r\nid: 7\r\nretry: 1000\r\ndata:{\"id\":\"gen-ID\",\r\ndata:\"object\":\"chat.completion.chunk\",";
    assert!(text.starts_with(expected), "{text}");
    assert!(text.ends_with("data:[DONE]\r\n\r\n"));
}

#[tokio::test]
async fn each_byte_may_be_a_chunk() {
    let (_simulator, reply) = broken(Fault::ByteSplit).await;
    assert!(reply.chunks.iter().all(|chunk| chunk.len() == 1));
    assert!(reply.streamed_text().starts_with(TEXT));
    assert!(reply.streamed_text().ends_with("· 再試行は安全に · 🙂🚀👩‍👩‍👧"));
}

#[tokio::test]
async fn answers_without_an_answer() {
    let (_simulator, reply) = broken(Fault::ReasoningBurn).await;
    let usage = last_usage(&reply);
    assert_eq!(reply.streamed_text(), "");
    assert_eq!(usage["completion_tokens"], usage["completion_tokens_details"]["reasoning_tokens"]);
    assert!(reply.text().contains("\"finish_reason\":\"length\""));

    let (_simulator, reply) = broken(Fault::TruncatedLength).await;
    assert_eq!(reply.streamed_text(), &TEXT[..36]);
    assert!(reply.text().contains("\"finish_reason\":\"length\""));

    let (_simulator, reply) = broken(Fault::Refusal).await;
    assert!(reply.text().contains("\"refusal\":\"I can't help with that request.\""));
    let (_simulator, reply) = broken(Fault::ContentFilter).await;
    assert!(reply.text().contains("\"finish_reason\":\"content_filter\""));
    for fault in [Fault::EmptyContent, Fault::NullContent, Fault::EmptyChoices] {
        let (_simulator, reply) = broken(fault).await;
        assert_eq!((reply.streamed_text().as_str(), reply.end), ("", End::Whole), "{fault}");
    }
}

fn last_usage(reply: &Reply) -> Value {
    let events = reply.events();
    let chunk: Value = serde_json::from_str(&events[events.len() - 2]).unwrap();
    chunk["usage"].clone()
}

#[tokio::test]
async fn unknown_fields_are_everywhere() {
    let (_simulator, reply) = broken(Fault::UnknownFields).await;
    assert_eq!(reply.streamed_text(), TEXT);
    let first: Value = serde_json::from_str(&reply.events()[0]).unwrap();
    assert_eq!(first["x_trace"]["hops"][1], 2);
    assert_eq!(first["choices"][0]["delta"]["mood"], "calm");
    assert!(first.as_object().unwrap()["usage"].is_null());
    assert!(reply.text().contains("\"finish_reason\":\"compacted\""));
}

#[tokio::test]
async fn comments_and_drips_repeat() {
    for (fault, text) in [(Fault::CommentsForever, ": OPENROUTER PROCESSING\n\n"), (Fault::SlowDrip, "drop ")]
    {
        let simulator = Simulator::start(SimulatorConfig::instant()).await.unwrap();
        simulator.script(MODEL, Script::fault(fault));
        let mut stream = crate::client::connect(&simulator, &question(&simulator, MODEL, true)).await;
        let mut bytes = Vec::new();
        while String::from_utf8_lossy(&bytes).matches(text).count() < 5 {
            let mut piece = [0; 4096];
            let count = tokio::io::AsyncReadExt::read(&mut stream, &mut piece).await.unwrap();
            bytes.extend_from_slice(&piece[..count]);
        }
    }
}
