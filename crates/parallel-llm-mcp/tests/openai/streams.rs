//! Streams: what is sent, when, and what a client gets that leaves or whose text turns out not to be the answer.

use parallel_llm_testkit::simulator::{Answer, Behaviour, Fault, Latency, Script};
use serde_json::{Value, json};

use super::{chat, get, mask, panel, send};
use crate::http::client::{Wire, post};
use crate::http::program::{PANEL, sandbox_with, serve};

/// A text with everything that could end an event, or be taken for one.
const HOSTILE: &str = "One is safer\n\ndata: [DONE]\n\r\nevent: error\u{2028}\u{0}\u{85} \"two\" \\ : three";

/// The events of a body, masked, without comments.
fn events(text: &str) -> Vec<String> {
    let masked = |data: &str| match serde_json::from_str::<Value>(data) {
        Ok(mut json) => {
            mask(&mut json);
            json.to_string()
        }
        Err(_) => data.to_owned(),
    };
    let event = |event: &str| {
        let mut lines = event.lines();
        let kind = lines.find(|line| line.starts_with("event: ")).map(|kind| format!("{} ", &kind[7..]));
        let data = event.lines().find_map(|line| line.strip_prefix("data: "))?;
        Some(kind.unwrap_or_default() + &masked(data))
    };
    text.split("\n\n").filter_map(event).collect()
}

fn streamed(mut asked: Value, more: &Value) -> Value {
    asked["stream"] = true.into();
    for (name, value) in more.as_object().into_iter().flatten() {
        asked[name] = value.clone();
    }
    asked
}

#[test]
fn a_chat_streams_the_answer_and_its_tokens() {
    let sandbox = sandbox_with(None).scripted("z-ai/glm-5.3", Script::answering(HOSTILE));
    let (_running, address) = serve(&sandbox, &["--no-auth"], &[]);
    let own = json!({"synthesizer": "z-ai/glm-5.3"});
    let asked =
        streamed(chat(&panel()), &json!({"stream_options": {"include_usage": true}, "parallel_llm": own}));
    let reply = send(address, "/v1/chat/completions", "", &asked);
    assert_eq!((reply.status, reply.header("content-type")), (200, Some("text/event-stream")), "{reply:?}");
    let events = events(&reply.text());
    insta::assert_snapshot!(events.join("\n"), @r#"
    {"choices":[{"delta":{"content":"","role":"assistant"},"finish_reason":null,"index":0,"logprobs":null}],"created":"<created>","id":"chatcmpl-<run>","model":"panel/openai/gpt-6.1-sol+google/gemini-4-argon+x-ai/grok-4.7","object":"chat.completion.chunk","usage":null}
    {"choices":[{"delta":{"content":"One is safer\n\ndata: [DONE]\n\r\nevent: error \u0000 \"two\" \\ : three"},"finish_reason":null,"index":0,"logprobs":null}],"created":"<created>","id":"chatcmpl-<run>","model":"panel/openai/gpt-6.1-sol+google/gemini-4-argon+x-ai/grok-4.7","object":"chat.completion.chunk","usage":null}
    {"choices":[{"delta":{},"finish_reason":"stop","index":0,"logprobs":null}],"created":"<created>","id":"chatcmpl-<run>","model":"panel/openai/gpt-6.1-sol+google/gemini-4-argon+x-ai/grok-4.7","object":"chat.completion.chunk","parallel_llm":{"by":"z-ai/glm-5.3","cost_is_estimate":false,"cost_usd":0.0027424712,"elapsed_ms":"<elapsed_ms>","missing":[],"run_id":"<run>","status":"complete","synthesis":"fused","usage_lacks_calls":false,"warnings":[]},"usage":null}
    {"choices":[],"created":"<created>","id":"chatcmpl-<run>","model":"panel/openai/gpt-6.1-sol+google/gemini-4-argon+x-ai/grok-4.7","object":"chat.completion.chunk","usage":{"completion_tokens":313,"completion_tokens_details":{"reasoning_tokens":0},"cost":0.0027424712,"prompt_tokens":906,"prompt_tokens_details":{"cached_tokens":0},"total_tokens":1219}}
    [DONE]
    "#);
    let content = |event: &String| {
        let json: Value = serde_json::from_str(event).ok()?;
        Some(json["choices"][0]["delta"]["content"].as_str()?.to_owned())
    };
    assert_eq!(events.iter().filter_map(content).collect::<String>(), HOSTILE);
}

#[test]
fn a_response_streams_its_events() {
    let sandbox = sandbox_with(None).scripted("z-ai/glm-5.3", Script::answering(HOSTILE));
    let (_running, address) = serve(&sandbox, &["--no-auth"], &[]);
    let own = json!({"synthesizer": "z-ai/glm-5.3"});
    let asked = json!({"model": panel(), "input": "Which is safer?", "parallel_llm": own});
    let reply = send(address, "/v1/responses", "", &streamed(asked.clone(), &json!({})));
    assert_eq!(reply.status, 200, "{reply:?}");
    insta::assert_snapshot!(events(&reply.text()).join("\n"), @r#"
    response.created {"response":{"background":false,"created_at":"<created_at>","error":null,"id":"resp_<run>","incomplete_details":null,"instructions":null,"max_output_tokens":null,"metadata":{},"model":"panel/openai/gpt-6.1-sol+google/gemini-4-argon+x-ai/grok-4.7","object":"response","output":[],"parallel_llm":null,"parallel_tool_calls":false,"previous_response_id":null,"reasoning":{"effort":null,"summary":null},"status":"in_progress","store":true,"temperature":null,"text":{"format":{"type":"text"}},"tool_choice":"none","tools":[],"top_p":null,"truncation":"disabled","usage":null,"user":null},"sequence_number":0,"type":"response.created"}
    response.in_progress {"response":{"background":false,"created_at":"<created_at>","error":null,"id":"resp_<run>","incomplete_details":null,"instructions":null,"max_output_tokens":null,"metadata":{},"model":"panel/openai/gpt-6.1-sol+google/gemini-4-argon+x-ai/grok-4.7","object":"response","output":[],"parallel_llm":null,"parallel_tool_calls":false,"previous_response_id":null,"reasoning":{"effort":null,"summary":null},"status":"in_progress","store":true,"temperature":null,"text":{"format":{"type":"text"}},"tool_choice":"none","tools":[],"top_p":null,"truncation":"disabled","usage":null,"user":null},"sequence_number":1,"type":"response.in_progress"}
    response.output_item.added {"item":{"content":[],"id":"msg_<run>","role":"assistant","status":"in_progress","type":"message"},"output_index":0,"sequence_number":2,"type":"response.output_item.added"}
    response.content_part.added {"content_index":0,"item_id":"msg_<run>","output_index":0,"part":{"annotations":[],"logprobs":[],"text":"","type":"output_text"},"sequence_number":3,"type":"response.content_part.added"}
    response.output_text.delta {"content_index":0,"delta":"One is safer\n\ndata: [DONE]\n\r\nevent: error \u0000 \"two\" \\ : three","item_id":"msg_<run>","logprobs":[],"output_index":0,"sequence_number":4,"type":"response.output_text.delta"}
    response.output_text.done {"content_index":0,"item_id":"msg_<run>","logprobs":[],"output_index":0,"sequence_number":5,"text":"One is safer\n\ndata: [DONE]\n\r\nevent: error \u0000 \"two\" \\ : three","type":"response.output_text.done"}
    response.content_part.done {"content_index":0,"item_id":"msg_<run>","output_index":0,"part":{"annotations":[],"logprobs":[],"text":"One is safer\n\ndata: [DONE]\n\r\nevent: error \u0000 \"two\" \\ : three","type":"output_text"},"sequence_number":6,"type":"response.content_part.done"}
    response.output_item.done {"item":{"content":[{"annotations":[],"logprobs":[],"text":"One is safer\n\ndata: [DONE]\n\r\nevent: error \u0000 \"two\" \\ : three","type":"output_text"}],"id":"msg_<run>","role":"assistant","status":"completed","type":"message"},"output_index":0,"sequence_number":7,"type":"response.output_item.done"}
    response.completed {"response":{"background":false,"created_at":"<created_at>","error":null,"id":"resp_<run>","incomplete_details":null,"instructions":null,"max_output_tokens":null,"metadata":{},"model":"panel/openai/gpt-6.1-sol+google/gemini-4-argon+x-ai/grok-4.7","object":"response","output":[{"content":[{"annotations":[],"logprobs":[],"text":"One is safer\n\ndata: [DONE]\n\r\nevent: error \u0000 \"two\" \\ : three","type":"output_text"}],"id":"msg_<run>","role":"assistant","status":"completed","type":"message"}],"parallel_llm":{"by":"z-ai/glm-5.3","cost_is_estimate":false,"cost_usd":0.0027303314,"elapsed_ms":"<elapsed_ms>","missing":[],"run_id":"<run>","status":"complete","synthesis":"fused","usage_lacks_calls":false,"warnings":[]},"parallel_tool_calls":false,"previous_response_id":null,"reasoning":{"effort":null,"summary":null},"status":"completed","store":true,"temperature":null,"text":{"format":{"type":"text"}},"tool_choice":"none","tools":[],"top_p":null,"truncation":"disabled","usage":{"input_tokens":898,"input_tokens_details":{"cached_tokens":0},"output_tokens":313,"output_tokens_details":{"reasoning_tokens":0},"total_tokens":1211},"user":null},"sequence_number":8,"type":"response.completed"}
    "#);
    // With the progress as reasoning, which is an item of its own in front.
    let more =
        json!({"parallel_llm": {"progress": "reasoning", "fresh": true, "synthesizer": "z-ai/glm-5.3"}});
    let reply = send(address, "/v1/responses", "", &streamed(asked, &more));
    let kinds: Vec<String> = events(&reply.text())
        .into_iter()
        .map(|event| {
            let (kind, data) = event.split_once(' ').unwrap();
            let data: Value = serde_json::from_str(data).unwrap();
            format!("{kind} {}", data["output_index"])
        })
        .collect();
    let mut kinds = kinds;
    kinds.dedup();
    insta::assert_snapshot!(kinds.join("\n"), @"
    response.created null
    response.in_progress null
    response.output_item.added 0
    response.reasoning_summary_part.added 0
    response.reasoning_summary_text.delta 0
    response.reasoning_summary_text.done 0
    response.reasoning_summary_part.done 0
    response.output_item.done 0
    response.output_item.added 1
    response.content_part.added 1
    response.output_text.delta 1
    response.output_text.done 1
    response.content_part.done 1
    response.output_item.done 1
    response.completed null
    ");
}

/// The simulated synthesizer replies in the very form of the prompt, with a line that ends the answer.
#[test]
fn a_fusion_in_the_form_of_the_prompt_is_streamed_to_its_end() {
    let sandbox = sandbox_with(None);
    let (_running, address) = serve(&sandbox, &["--no-auth"], &[("synthesizer", PANEL[1])]);
    let reply = send(address, "/v1/chat/completions", "", &streamed(chat(&panel()), &json!({})));
    let shown = events(&reply.text());
    assert!(shown.last().is_some_and(|last| last == "[DONE]"), "{shown:?}");
    let content = |event: &String| {
        let json: Value = serde_json::from_str(event).ok()?;
        Some(json["choices"][0]["delta"]["content"].as_str()?.to_owned())
    };
    let run = reply.header("x-request-id").unwrap();
    let stored = get(address, &format!("/v1/chat/completions/{run}")).json();
    assert_eq!(
        stored["choices"][0]["message"]["content"],
        shown.iter().filter_map(content).collect::<String>()
    );
}

/// White space around a text is no part of the answer, with or without the form.
#[test]
fn white_space_around_a_fusion_is_not_streamed() {
    let safer = "The first is safer: it keeps what was paid for, asks nobody twice, and says truthfully what happened. The second is \
                 quicker to build and loses an answer whenever the machine stops between two writes, which people notice only once \
                 they look for it. Whoever can wait a day more should take the first, and keep the second for a demonstration.";
    let spaced = format!("\n\n  {safer}\n \n");
    let sandbox = sandbox_with(None).scripted("z-ai/glm-5.3", Script::answering(&spaced));
    let (_running, address) = serve(&sandbox, &["--no-auth"], &[("synthesizer", "z-ai/glm-5.3")]);
    let reply = send(address, "/v1/chat/completions", "", &streamed(chat(&panel()), &json!({})));
    let shown = events(&reply.text());
    assert!(shown[1].contains(r#""content":"The first"#), "{shown:?}");
    assert!(shown.last().is_some_and(|last| last == "[DONE]"), "{shown:?}");
}

#[test]
fn the_text_of_an_only_model_is_streamed_too() {
    let text = "A text of an only model, which is long enough for several pieces. ".repeat(8);
    let slow = Behaviour { answer: Answer::Fixed(text.clone()), tokens_per_s: 400, ..Behaviour::instant() };
    let sandbox = sandbox_with(None).scripted(PANEL[0], Script::behaving(slow));
    let (_running, address) = serve(&sandbox, &["--no-auth"], &[]);
    let asked = streamed(chat(&format!("panel/{}", PANEL[0])), &json!({}));
    let reply = send(address, "/v1/chat/completions", "", &asked);
    let pieces = events(&reply.text());
    assert!(pieces.len() > 6, "{pieces:?}");
    assert!(pieces.last().is_some_and(|last| last == "[DONE]"), "{pieces:?}");
}

/// The first synthesizer breaks off after a part of its text was sent, and the next one writes another text.
#[test]
fn a_text_that_is_not_the_answer_ends_in_an_error() {
    let broken =
        "The first synthesizer writes a text that is long enough to be shown as it comes. ".repeat(6);
    let broken = Script { fault: Some(Fault::SseCut), after_tokens: Some(60), ..Script::answering(&broken) };
    let sandbox = sandbox_with(None)
        .scripted("z-ai/glm-5.3", broken)
        .scripted("anthropic/claude-opus-5.5", Script::answering("Another text."));
    let chain = "z-ai/glm-5.3 anthropic/claude-opus-5.5";
    let (_running, address) = serve(&sandbox, &["--no-auth"], &[("synthesizer", chain)]);
    let reply = send(address, "/v1/chat/completions", "", &streamed(chat(&panel()), &json!({})));
    assert_eq!(reply.status, 200, "{reply:?}");
    let shown = events(&reply.text());
    assert!(shown[1].contains("The first synthesizer"), "{shown:?}");
    insta::assert_snapshot!(shown.last().unwrap(), @r#"{"error":{"code":"incomplete","message":"the text so far is not the answer of run <run>: its synthesizer failed, and another text was made: look at the run with `GET /v1/responses/{id}`","parallel_llm":{"code":"incomplete","next":"look at the run with `GET /v1/responses/{id}`","retryable":false,"run_id":"<run>"},"param":null,"type":"server_error"}}"#);
    let run = reply.header("x-request-id").unwrap();
    let stored = get(address, &format!("/v1/responses/resp_{run}")).json();
    assert_eq!(stored["output"][0]["content"][0]["text"], "Another text.", "{stored}");
    // The same without a stream is an answer like any other.
    let whole = send(address, "/v1/chat/completions", "", &chat(&panel())).json();
    assert_eq!(whole["choices"][0]["message"]["content"], "Another text.", "{whole}");
}

#[test]
fn a_stream_that_fails_early_has_its_status() {
    let sandbox = sandbox_with(Some(&Script::fault(Fault::Moderation)));
    let (_running, address) = serve(&sandbox, &["--no-auth"], &[]);
    let shown = json!({"parallel_llm": {"progress": "reasoning"}});
    let reply = send(address, "/v1/chat/completions", "", &streamed(chat(&panel()), &shown));
    assert_eq!(reply.status, 424, "progress is nothing real: {reply:?}");
    let reply = send(address, "/v1/chat/completions", "", &streamed(chat(&panel()), &json!({})));
    assert_ne!(reply.status, 200);
    assert_eq!(reply.header("content-type"), Some("application/json"));
    insta::assert_snapshot!(format!("{} {}", reply.status, super::masked(&reply.json())), @r#"424 {"error":{"code":"moderated","message":"no model answered (openai/gpt-6.1-sol: openrouter (OpenAI) answered 403: Your input was flagged; google/gemini-4-argon: openrouter (Google) answered 403: Your input was flagged; x-ai/grok-4.7: openrouter (xAI) answered 403: Your input was flagged): rephrase the question, or ask a model of another provider","parallel_llm":{"code":"moderated","next":"rephrase the question, or ask a model of another provider","retryable":false,"run_id":"<run>"},"param":null,"type":"server_error"}}"#);
}

/// Clients say when they give up, each in its own header. What MCP clients do is a setting that says nothing of these.
#[test]
fn a_client_is_answered_before_it_gives_up() {
    let sandbox = sandbox_with(Some(&Script::fault(Fault::Stall)));
    let settings = [("client_wall_ms", "1")];
    let (_running, address) = serve(&sandbox, &["--no-auth"], &settings);
    for header in ["X-Stainless-Timeout: 2\r\n", "X-Stainless-Read-Timeout: 2.0\r\n"] {
        let mut asked = chat(&panel());
        asked["parallel_llm"] = json!({"fresh": true});
        let reply = send(address, "/v1/chat/completions", header, &asked);
        insta::allow_duplicates! {
            insta::assert_snapshot!(format!("{} {}", reply.status, super::masked(&reply.json())), @r#"504 {"error":{"code":"timeout","message":"run <run> goes on, and has no answer yet: wait for the run with `GET /v1/responses/{id}`, or ask again","parallel_llm":{"code":"timeout","next":"wait for the run with `GET /v1/responses/{id}`, or ask again","retryable":true,"run_id":"<run>"},"param":null,"type":"server_error"}}"#);
        }
        let mut wire = Wire::to(address);
        wire.write(post(address, "/v1/chat/completions", header, &streamed(asked, &json!({})).to_string()));
        assert!(wire.event().is_some(), "the stream begins");
    }
}

/// A caller that leaves gives up its own interest only: calls that still cost are closed, unless another caller waits.
#[test]
fn leaving_cancels_the_calls_unless_another_caller_waits() {
    let slow = Behaviour { ttft_ms: Latency::of(2_000), ..Behaviour::instant() };
    let slow = Behaviour { answer: Answer::Fixed("Yes.".to_owned()), ..slow };
    // One model answers at once, so that the streams begin.
    let sandbox = sandbox_with(Some(&Script::behaving(slow))).scripted(PANEL[1], Script::answering("Yes."));
    let (_running, address) = serve(&sandbox, &["--no-auth"], &[]);
    let stalled = Script::fault(Fault::Stall);
    let body = |text: &str, stream: bool| {
        let mut asked = chat(&panel());
        asked["messages"][0]["content"] = text.into();
        asked["stream"] = stream.into();
        asked["parallel_llm"] = json!({"progress": "reasoning"});
        post(address, "/v1/chat/completions", "", &asked.to_string())
    };
    // Two callers ask the same; one leaves, the other gets the answer.
    let (mut leaving, mut staying) = (Wire::to(address), Wire::to(address));
    leaving.write(body("Shared?", true));
    assert!(leaving.event().is_some(), "the stream begins");
    staying.write(body("Shared?", true));
    assert!(staying.event().is_some(), "it has joined");
    drop(leaving);
    let mut answer = String::new();
    while let Some(event) = staying.event() {
        answer += &event;
    }
    assert!(answer.contains("Yes.") && answer.ends_with("[DONE]"), "{answer}");
    assert_eq!([PANEL[0], PANEL[2]].map(|model| sandbox.asked(model)), [1, 1], "it is one run");
    assert_eq!(sandbox.simulator().stats().client_cancelled, 0);
    // Alone, both kinds of calls are closed upstream.
    for model in [PANEL[0], PANEL[2]] {
        sandbox.simulator().script(model, stalled.clone());
    }
    for (stream, cancelled) in [(true, 2), (false, 4)] {
        let mut alone = Wire::to(address);
        alone.write(body(if stream { "Streamed?" } else { "Whole?" }, stream));
        let asked = if stream { 2 } else { 3 };
        sandbox.until("it is asked", || PANEL.iter().all(|model| sandbox.asked(model) >= asked));
        if stream {
            assert!(alone.event().is_some(), "the stream begins");
        }
        drop(alone);
        let stats = || sandbox.simulator().stats().client_cancelled;
        sandbox.until("the calls are closed", || stats() >= cancelled);
    }
}
