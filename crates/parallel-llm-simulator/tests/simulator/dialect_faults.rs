//! Every fault in every dialect: it plays in the dialect's own bytes and leaves nothing behind.

use std::time::Duration;

use parallel_llm_simulator::{Answer, Behaviour, Fault, Script, Simulator, SimulatorConfig};
use tokio::io::AsyncReadExt;
use tokio::time::timeout;

use crate::client::{connect, send, until};
use crate::dialect::*;

#[tokio::test]
async fn every_fault_plays_in_every_dialect_it_applies_to() {
    for form in FORMS {
        let simulator = Simulator::start(SimulatorConfig::instant()).await.unwrap();
        let mut asked = 0;
        for fault in Fault::ALL {
            for stream in [true, false] {
                let body = form.body("How do we name things?", stream);
                let ask = form.ask(&simulator, &body, stream).scenario(fault.name());
                if !fault.applies_to(form.dialect) {
                    let reply = send(&simulator, &ask).await;
                    assert_eq!(reply.status, 400, "{form:?} {fault}");
                    assert!(reply.text().contains(&format!("`{fault}` is no fault of")), "{}", reply.text());
                    asked += 1;
                    continue;
                }
                let mut connection = connect(&simulator, &ask).await;
                let mut piece = [0; 1024];
                // Some faults send nothing, and some break the connection: neither has a first piece.
                let _first = timeout(Duration::from_millis(40), connection.read(&mut piece)).await;
                asked += 1;
            }
        }
        until(|| simulator.stats().in_flight == 0).await;
        let requests = simulator.requests();
        assert_eq!(requests.len(), asked, "{form:?}");
        assert!(requests.iter().all(|request| request.last_byte_us.is_some()), "{form:?}");
    }
}

#[tokio::test]
async fn few_faults_belong_to_one_provider() {
    for name in Simulator::dialects() {
        let left_out: Vec<&str> =
            Fault::ALL.iter().filter(|fault| !fault.applies_to(name)).map(|fault| fault.name()).collect();
        assert!(left_out.len() <= 10, "{name} {left_out:?}");
    }
    assert!(Fault::ALL.iter().all(|fault| fault.applies_to("openrouter")));
    let gemini = Fault::ALL.iter().filter(|fault| !fault.applies_to("gemini"));
    let gemini: Vec<&str> = gemini.map(|fault| fault.name()).collect();
    assert_eq!(gemini, ["in_flight", "key_limit", "no_endpoints", "data_policy", "ok_error_body", "zod_400"]);
}

/// The ends of broken answers: the last lines of a stream, and the body without streaming.
const BROKEN: &[(Encoder, Fault, &str, &str)] = &[
    (
        ANTHROPIC,
        Fault::SseErrorFirst,
        "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"},\"request_id\":\"req_LETTERS\"}\n\n",
        r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"},"request_id":"req_LETTERS"}"#,
    ),
    (
        ANTHROPIC,
        Fault::SseErrorBare,
        "\"text\":\"One two \"}}\n\ndata: {\"type\":\"error\",\"error\":{\"type\":\"api_error\",\"message\":\"Internal server error\"},\"request_id\":\"req_LETTERS\"}\n\n",
        r#"{"type":"error","error":{"type":"api_error","message":"Internal server error"},"request_id":"req_LETTERS"}"#,
    ),
    (
        ANTHROPIC,
        Fault::Refusal,
        "event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"refusal\",\"stop_sequence\":null},\"usage\":{\"input_tokens\":6,\"cache_creation_input_tokens\":0,\"cache_read_input_tokens\":0,\"output_tokens\":8}}\n\nevent: message_stop\ndata: {\"type\":\"message_stop\"}\n\n",
        r#"{"id":"ID","type":"message","role":"assistant","model":"claude-haiku-5.5","content":[{"type":"text","text":"I can't help with that request."}],"stop_reason":"refusal","stop_sequence":null,"usage":{"input_tokens":6,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"output_tokens":8}}"#,
    ),
    (
        ANTHROPIC,
        Fault::ReasoningBurn,
        "event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":0}\n\nevent: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"max_tokens\",\"stop_sequence\":null},\"usage\":{\"input_tokens\":6,\"cache_creation_input_tokens\":0,\"cache_read_input_tokens\":0,\"output_tokens\":76}}\n\nevent: message_stop\ndata: {\"type\":\"message_stop\"}\n\n",
        r#"}],"stop_reason":"max_tokens","stop_sequence":null,"usage":{"input_tokens":6,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"output_tokens":76}}"#,
    ),
    (ANTHROPIC, Fault::SseNoDone, "\"output_tokens\":5}}\n\n", r#""output_tokens":5}}"#),
    (
        GEMINI,
        Fault::SseErrorMid,
        "data: {\"error\":{\"code\":429,\"message\":\"Resource has been exhausted (e.g. check quota).\",\"status\":\"RESOURCE_EXHAUSTED\"}}\r\n\r\n",
        r#"{"error":{"code":429,"message":"Resource has been exhausted (e.g. check quota).","status":"RESOURCE_EXHAUSTED"}}"#,
    ),
    (
        GEMINI,
        Fault::ContentFilter,
        "data: {\"candidates\":[{\"finishReason\":\"SAFETY\",\"index\":0}],\"usageMetadata\":{\"promptTokenCount\":6,\"totalTokenCount\":6},\"modelVersion\":\"gemini-3.8-flash\",\"responseId\":\"ID\"}\r\n\r\n",
        r#"{"candidates":[{"finishReason":"SAFETY","index":0}],"usageMetadata":{"promptTokenCount":6,"totalTokenCount":6},"modelVersion":"gemini-3.8-flash","responseId":"ID"}"#,
    ),
    (
        GEMINI,
        Fault::ReasoningBurn,
        "\"finishReason\":\"MAX_TOKENS\",\"index\":0}],\"usageMetadata\":{\"promptTokenCount\":6,\"totalTokenCount\":82,\"thoughtsTokenCount\":76},\"modelVersion\":\"gemini-3.8-flash\",\"responseId\":\"ID\"}\r\n\r\n",
        r#"{"candidates":[{"content":{"role":"model"},"finishReason":"MAX_TOKENS","index":0}],"usageMetadata":{"promptTokenCount":6,"totalTokenCount":82,"thoughtsTokenCount":76},"modelVersion":"gemini-3.8-flash","responseId":"ID"}"#,
    ),
    (
        GEMINI,
        Fault::OkFinishError,
        "data: {\"candidates\":[{\"finishReason\":\"OTHER\",\"index\":0}],\"usageMetadata\":{\"promptTokenCount\":6,\"candidatesTokenCount\":2,\"totalTokenCount\":8},\"modelVersion\":\"gemini-3.8-flash\",\"responseId\":\"LETTERS\"}\r\n\r\n",
        r#""finishReason":"OTHER","index":0}],"usageMetadata":{"promptTokenCount":6,"candidatesTokenCount":5,"totalTokenCount":11},"modelVersion":"gemini-3.8-flash","responseId":"LETTERS"}"#,
    ),
    (
        GEMINI,
        Fault::Moderation,
        "data: {\"promptFeedback\":{\"blockReason\":\"SAFETY\",\"safetyRatings\":[{\"category\":\"HARM_CATEGORY_DANGEROUS_CONTENT\",\"probability\":\"HIGH\"}]},\"usageMetadata\":{\"promptTokenCount\":6,\"totalTokenCount\":6},\"modelVersion\":\"gemini-3.8-flash\",\"responseId\":\"LETTERS\"}\r\n\r\n",
        r#"{"promptFeedback":{"blockReason":"SAFETY","safetyRatings":[{"category":"HARM_CATEGORY_DANGEROUS_CONTENT","probability":"HIGH"}]},"usageMetadata":{"promptTokenCount":6,"totalTokenCount":6},"modelVersion":"gemini-3.8-flash","responseId":"LETTERS"}"#,
    ),
    (
        OLLAMA_NATIVE,
        Fault::SseErrorBare,
        "\"content\":\"One two \"},\"done\":false}\n{\"error\":\"llama runner process has terminated: exit status 2\"}\n",
        r#"{"error":"llama runner process has terminated: exit status 2"}"#,
    ),
    (
        OLLAMA_NATIVE,
        Fault::SseCut,
        "\"message\":{\"role\":\"assistant\",\"content\":\"One two \"},\"done\":false}\n",
        r#"{"model""#,
    ),
    (
        MISTRAL,
        Fault::SseErrorMid,
        "data: {\"message\":\"Requests rate limit exceeded\",\"request_id\":\"LETTERS\"}\n\n",
        r#"{"message":"Requests rate limit exceeded","request_id":"LETTERS"}"#,
    ),
    (
        OPENAI,
        Fault::SseErrorFirst,
        "data: {\"error\":{\"message\":\"The engine is currently overloaded, please try again later.\",\"type\":\"server_error\",\"param\":null,\"code\":null}}\n\n",
        r#"{"error":{"message":"The engine is currently overloaded, please try again later.","type":"server_error","param":null,"code":null}}"#,
    ),
];

#[tokio::test]
async fn a_broken_answer_breaks_in_its_dialects_bytes() {
    for (form, fault, stream_end, whole_end) in BROKEN {
        for (stream, end) in [(true, stream_end), (false, whole_end)] {
            let simulator = Simulator::start(SimulatorConfig::instant()).await.unwrap();
            let answer = Answer::Fixed("One two three four.".to_owned());
            let behaviour = Behaviour { answer, chunk_tokens: 64, ..Behaviour::instant() };
            let script = Script { fault: Some(*fault), ..Script::behaving(behaviour) };
            simulator.script("*", script.after_tokens(2));
            let reply = form.answer(&simulator, stream).await;
            let text = scrub(&simulator, &reply.text()).replace(FIRST_LETTERS, "LETTERS");
            assert!(text.ends_with(end), "{form:?} {fault} {stream}\n{text}\n{end}");
        }
    }
}

#[tokio::test]
async fn a_scenario_name_plays_its_fault_in_every_dialect() {
    for form in FORMS {
        let simulator = Simulator::start(SimulatorConfig::instant()).await.unwrap();
        let mark = if form.dialect == "openrouter" { "sim/" } else { "" };
        let named = |name: &'static str| Encoder { model: name, ..form };
        let name = |name: &str| -> &'static str { format!("{mark}{name}").leak() };
        let twice = named(name("fault-server_500(2)"));
        let mut statuses = Vec::new();
        for _ in 0..3 {
            statuses.push(twice.answer(&simulator, false).await.status);
        }
        assert_eq!(statuses, [500, 500, 200], "{form:?}");
        assert_eq!(named(name("fault-server_500")).answer(&simulator, true).await.status, 500, "{form:?}");
        let unknown = named(name("fault-nonsense")).answer(&simulator, true).await.status;
        assert!(unknown == 400 || unknown == 404, "{form:?} {unknown}");
        let header = form.ask(&simulator, &twice.body("Hi", false), false).scenario("invalid_422");
        let header = send(&simulator, &header).await.status;
        assert!(header == 422 || header == 400, "{form:?} {header}");
    }
}

#[tokio::test]
async fn every_base_url_is_listed() {
    let simulator = Simulator::start(SimulatorConfig::instant()).await.unwrap();
    assert_eq!(
        Simulator::dialects(),
        [
            "openrouter",
            "openai",
            "anthropic",
            "gemini",
            "azure",
            "groq",
            "deepseek",
            "xai",
            "mistral",
            "together",
            "moonshot",
            "ollama",
            "lmstudio",
            "vllm",
        ]
    );
    let origin = simulator.origin();
    assert_eq!(simulator.base_url_of("openrouter"), Some(simulator.base_url()));
    assert_eq!(simulator.base_url_of("gemini"), Some(format!("{origin}/gemini/v1beta")));
    assert_eq!(simulator.base_url_of("deepseek"), Some(format!("{origin}/deepseek")));
    assert_eq!(simulator.base_url_of("nobody"), None);
}

#[tokio::test]
async fn an_unknown_path_is_refused_in_the_shape_of_its_dialect() {
    let simulator = Simulator::start(SimulatorConfig::instant()).await.unwrap();
    for (form, path, body) in [
        (
            GEMINI,
            "/gemini/v1beta/nothing",
            r#"{"error":{"code":404,"message":"Requested entity was not found.","status":"NOT_FOUND"}}"#,
        ),
        (
            GEMINI,
            "/gemini/v1beta/models/gemini-3.8-flash:embedContent",
            r#"{"error":{"code":404,"message":"Requested entity was not found.","status":"NOT_FOUND"}}"#,
        ),
        (
            MISTRAL,
            "/mistral/v1/embeddings",
            r#"{"message":"no Route matched with those values","request_id":""}"#,
        ),
        (OLLAMA_NATIVE, "/ollama/api/pull", r#"{"error":"404 page not found"}"#),
    ] {
        let mut ask = form.ask(&simulator, &form.body("Hi", false), false);
        ask.path = path.to_owned();
        let reply = send(&simulator, &ask).await;
        assert_eq!((reply.status, reply.text().as_str()), (404, body), "{path}");
    }
}
