//! Faults and rules that end with an error status: each row of the specification, byte for byte.

use parallel_llm_simulator::{Fault, Script, Simulator, SimulatorConfig};
use serde_json::{Value, json};

use crate::client::{End, MODEL, Reply, chat, get, question, send};

/// Each fault with the status and the body of its refusal.
const REFUSALS: &[(Fault, u16, &str)] = &[
    (Fault::AuthMissing, 401, r#"{"error":{"message":"No cookie auth credentials found","code":401}}"#),
    (Fault::AuthBad, 401, r#"{"error":{"message":"User not found.","code":401}}"#),
    (
        Fault::BadModel,
        400,
        r#"{"error":{"message":"openai/gpt-6.1-terra is not a valid model ID","code":400},"user_id":"user_sim"}"#,
    ),
    (
        Fault::CtxOverflow,
        400,
        r#"{"error":{"message":"This endpoint's maximum context length is 1050000 tokens. However, you requested about 6 tokens (6 of text input, 0 in the output). Please reduce the length of either one, or use the context-compression plugin to compress your prompt automatically.","code":400,"metadata":{"provider_name":null,"error_type":"context_length_exceeded"}}}"#,
    ),
    (
        Fault::ReasoningMandatory,
        400,
        r#"{"error":{"message":"Reasoning is mandatory for this endpoint and cannot be disabled.","code":400,"metadata":{"provider_name":null}}}"#,
    ),
    (
        Fault::Credits,
        402,
        r#"{"error":{"message":"This request requires more credits, or fewer max_tokens. You requested up to 65536 tokens, but can only afford 3395. To increase, visit https://openrouter.ai/settings/credits and upgrade to a paid account","code":402,"metadata":{"provider_name":null,"limit_source":"openrouter_credits","remedy_hint":"Add credits or lower max_tokens."}}}"#,
    ),
    (
        Fault::InFlight,
        402,
        r#"{"error":{"message":"This request would exceed your available credits given your current in-flight requests. Retry after in-flight requests settle, or add credits.","code":402,"metadata":{"reason":"in_flight_budget_exhausted","limit_source":"openrouter_in_flight_budget","remedy_hint":"Retry after in-flight requests settle, or add credits."}}}"#,
    ),
    (
        Fault::Moderation,
        403,
        r#"{"error":{"message":"Your input was flagged","code":403,"metadata":{"reasons":["violence"],"flagged_input":"How do we name things?","provider_name":"OpenAI","model_slug":"openai/gpt-6.1-terra"}}}"#,
    ),
    (
        Fault::NoEndpoints,
        404,
        r#"{"error":{"message":"No endpoints found for openai/gpt-6.1-terra.","code":404}}"#,
    ),
    (
        Fault::DataPolicy,
        404,
        r#"{"error":{"message":"No endpoints found matching your data policy (Free model training). Configure: https://openrouter.ai/settings/privacy","code":404,"metadata":{"routing_funnel":[{"step":"all","endpoint_count":3},{"step":"data_policy","endpoint_count":0}],"failed_routing_step":"data_policy"}}}"#,
    ),
    (
        Fault::Timeout408,
        408,
        r#"{"error":{"message":"Operation timed out. Please try again later.","code":408}}"#,
    ),
    (Fault::TooLarge413, 413, r#"{"error":{"message":"Request payload too large","code":413}}"#),
    (Fault::Invalid422, 422, r#"{"error":{"message":"Invalid argument","code":422}}"#),
    (
        Fault::RateUpstreamB,
        429,
        r#"{"error":{"message":"Provider returned error","code":429,"metadata":{"raw":"openai/gpt-6.1-terra is temporarily rate-limited upstream. Please retry shortly, or add your own key to accumulate your rate limits: https://openrouter.ai/settings/integrations","provider_name":"Google AI Studio","is_byok":false,"provider_error_code":"429","limit_source":"upstream_provider_shared_pool","remedy_hint":"Add your own provider key to accumulate your rate limits.","retry_after_seconds":1,"retry_after_seconds_raw":1,"headers":{"Retry-After":"1"}}},"user_id":"user_sim"}"#,
    ),
    (Fault::Server500, 500, r#"{"error":{"message":"Internal Server Error","code":500}}"#),
    (
        Fault::BadGateway,
        502,
        r#"{"error":{"message":"Provider returned error","code":502,"metadata":{"raw":"{\"error\":\"upstream exploded\"}","provider_name":"Sim","error_type":"provider_unavailable"}}}"#,
    ),
    (Fault::Unavailable503, 503, r#"{"error":{"message":"Service temporarily unavailable","code":503}}"#),
    (Fault::Overloaded529, 529, r#"{"error":{"message":"Provider returned error","code":529}}"#),
];

async fn refused(fault: Fault) -> (Simulator, Reply) {
    let simulator = Simulator::start(SimulatorConfig::instant()).await.unwrap();
    simulator.script(MODEL, Script::fault(fault));
    let reply = send(&simulator, &question(&simulator, MODEL, true)).await;
    (simulator, reply)
}

#[tokio::test]
async fn every_refusal_has_its_exact_body() {
    for &(fault, status, body) in REFUSALS {
        let (simulator, reply) = refused(fault).await;
        assert_eq!((reply.status, reply.text().as_str(), reply.end), (status, body, End::Whole), "{fault}");
        assert_eq!(simulator.ledger().charged_pico_usd, 0, "{fault}");
    }
}

#[tokio::test]
async fn the_head_has_the_headers_of_the_captures() {
    let (_simulator, reply) = refused(Fault::Server500).await;
    let names: Vec<&str> = reply.head.lines().skip(1).filter_map(|line| line.split(':').next()).collect();
    assert_eq!(names, ["Content-Type", "Server", "Cf-Ray", "X-Generation-Id", "Transfer-Encoding"]);
    let (_simulator, reply) = refused(Fault::AuthMissing).await;
    assert_eq!(reply.header("X-Generation-Id"), None);
}

#[tokio::test]
async fn each_429_gives_its_own_hint() {
    let hints = async |fault| {
        let (_simulator, reply) = refused(fault).await;
        let in_body = reply.json()["error"]["metadata"]["retry_after_seconds"].as_u64();
        (reply.header("Retry-After").map(str::to_owned), in_body)
    };
    assert_eq!(hints(Fault::RateUpstream).await, (Some("1".to_owned()), Some(1)));
    assert_eq!(hints(Fault::RateUpstreamB).await, (None, Some(1)));
    assert_eq!(hints(Fault::RateUpstreamC).await, (None, None));
    assert!(hints(Fault::RateUpstreamD).await.0.unwrap().ends_with(" GMT"));
    assert_eq!(hints(Fault::RateUpstreamE).await, (Some("3600".to_owned()), None));
    assert!(hints(Fault::Unavailable503).await.0.unwrap().ends_with(" GMT"));
    assert_eq!(hints(Fault::InFlight).await.0.as_deref(), Some("1"));

    let (_simulator, reply) = refused(Fault::RateFreeDay).await;
    let reset = reply.header("X-Ratelimit-Reset").unwrap();
    assert_eq!(reply.header("X-Ratelimit-Remaining"), Some("0"));
    assert_eq!(reply.json()["error"]["metadata"]["headers"]["X-RateLimit-Reset"], reset);
    assert_eq!(reset.parse::<u64>().unwrap() % 86_400_000, 0);
}

#[tokio::test]
async fn a_script_may_choose_the_hint() {
    let simulator = Simulator::start(SimulatorConfig::instant()).await.unwrap();
    simulator.script("*", Script::fault(Fault::RateUpstream).retry_after("120"));
    let reply = send(&simulator, &question(&simulator, MODEL, false)).await;
    assert_eq!(reply.header("Retry-After"), Some("120"));
}

#[tokio::test]
async fn oddities_are_no_error_objects() {
    let (_simulator, reply) = refused(Fault::Cf524Html).await;
    assert_eq!((reply.status, reply.header("Content-Type")), (524, Some("text/html; charset=UTF-8")));
    assert!(
        reply.text().starts_with("<!DOCTYPE html><title>openrouter.ai | 524: A timeout occurred</title>")
    );

    let (_simulator, reply) = refused(Fault::Html200).await;
    assert_eq!((reply.status, reply.header("Content-Type")), (200, Some("text/html; charset=UTF-8")));

    let (_simulator, reply) = refused(Fault::Zod400).await;
    assert_eq!((reply.status, &reply.json()["error"]["name"]), (400, &Value::from("ZodError")));
    assert_eq!(reply.json()["success"], false);

    let (_simulator, reply) = refused(Fault::OkErrorBody).await;
    assert_eq!((reply.status, reply.header("Content-Type")), (200, Some("application/json")));
    assert!(reply.text().starts_with("\n         \n"));
    assert_eq!(reply.json()["error"]["code"], 502);

    let (_simulator, reply) = refused(Fault::AcceptNoReply).await;
    assert_eq!((reply.status, reply.end), (0, End::Open));
    let (_simulator, reply) = refused(Fault::AcceptAndClose).await;
    assert_eq!((reply.status, reply.end), (0, End::Cut));
}

#[tokio::test]
async fn a_key_is_echoed_to_the_client_and_stored_nowhere() {
    let (simulator, reply) = refused(Fault::KeyEcho).await;
    assert!(reply.text().contains(simulator.api_key()));
    let kept = serde_json::to_string(&simulator.requests()).unwrap();
    assert!(!kept.contains(simulator.api_key()));
    assert_eq!(simulator.requests()[0].header("authorization"), Some("ok"));
}

#[tokio::test]
async fn a_redirect_leads_to_a_listener_that_remembers() {
    let (simulator, reply) = refused(Fault::Redirect307).await;
    assert_eq!(reply.status, 307);
    let target = reply.header("Location").unwrap();
    let host = target.strip_prefix("http://").unwrap().strip_suffix("/steal").unwrap();
    assert!(simulator.redirect_target_requests().is_empty());

    let mut stream = tokio::net::TcpStream::connect(host).await.unwrap();
    let follow =
        b"POST /steal HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer mine\r\nContent-Length: 2\r\n\r\n{}";
    tokio::io::AsyncWriteExt::write_all(&mut stream, follow).await.unwrap();
    let mut piece = [0; 64];
    assert!(tokio::io::AsyncReadExt::read(&mut stream, &mut piece).await.unwrap() > 0);
    let followed = &simulator.redirect_target_requests()[0];
    assert_eq!((followed.path.as_str(), followed.header("authorization")), ("/steal", Some("bad")));
    assert_eq!(simulator.stats().requests, 1);
}

#[tokio::test]
async fn the_first_requests_fail_and_later_ones_succeed() {
    let simulator = Simulator::start(SimulatorConfig::instant()).await.unwrap();
    simulator.script(MODEL, Script::fault(Fault::Server500).fail_first(2));
    let mut statuses = Vec::new();
    for _ in 0..4 {
        statuses.push(send(&simulator, &question(&simulator, MODEL, false)).await.status);
    }
    assert_eq!(statuses, [500, 500, 200, 200]);

    let ask = question(&simulator, MODEL, false).scenario("unavailable_503(1)");
    assert_eq!(send(&simulator, &ask).await.status, 503);
    assert_eq!(send(&simulator, &ask).await.status, 200);
    let reply = send(&simulator, &ask.scenario("nonsense")).await;
    assert_eq!(reply.text(), r#"{"error":{"message":"no fault is named `nonsense`","code":400}}"#);
}

/// The results of several requests in order: `x` for a failure.
async fn failures(seed: u64, probability: f64) -> String {
    let simulator = Simulator::start(SimulatorConfig { seed, ..SimulatorConfig::instant() }).await.unwrap();
    simulator.script(MODEL, Script::fault(Fault::Server500).fail_probability(probability));
    let mut line = String::new();
    for _ in 0..24 {
        let failed = send(&simulator, &question(&simulator, MODEL, false)).await.status == 500;
        line.push(if failed { 'x' } else { '.' });
    }
    line
}

#[tokio::test]
async fn a_fault_may_be_random_and_the_seed_determines_it() {
    assert_eq!(failures(1, 0.0).await, ".".repeat(24));
    assert_eq!(failures(1, 1.0).await, "x".repeat(24));
    assert_eq!(failures(1, 0.5).await, "xx..xxx.x.x.xx.x...xx.xx");
    assert_eq!(failures(2, 0.5).await, "..xxx.xx..x.xxx..xx..x..");
    assert_eq!(failures(1, 0.2).await, "x.....x.x....x.x...xx...");
}

/// The rules in the order of their checks: each request breaks its rule and all later ones.
#[tokio::test]
async fn rules_are_checked_in_order() {
    let config = SimulatorConfig { body_bytes_max: 400_000, ..SimulatorConfig::instant() };
    let simulator = Simulator::start(config).await.unwrap();
    simulator.script("*", Script::fault(Fault::Server500));
    let asked = async |body: &Value| send(&simulator, &chat(&simulator, body)).await;
    let message = |reply: &Reply| reply.json()["error"]["message"].as_str().unwrap().to_owned();

    let long = "x".repeat(500_000);
    let mut ask = chat(&simulator, &json!({"model": "x/y", "messages": [{"role": "user", "content": long}]}));
    assert_eq!(send(&simulator, &ask).await.status, 413);
    ask.authorization = None;
    assert_eq!(message(&send(&simulator, &ask).await), "No cookie auth credentials found");
    ask.authorization = Some("Bearer sk-or-v1-wrong".to_owned());
    assert_eq!(message(&send(&simulator, &ask).await), "User not found.");

    assert_eq!(
        message(&asked(&json!({"model": "x/y"})).await),
        r#"Input required: specify "prompt" or "messages""#
    );
    let messages = json!([{"role": "user", "content": "Hi"}]);
    let reply = asked(&json!({"model": "x/y", "messages": messages})).await;
    assert_eq!((reply.status, message(&reply).as_str()), (400, "x/y is not a valid model ID"));
    let reply = asked(&json!({"model": "openai/gpt-5-codex", "messages": messages})).await;
    assert_eq!((reply.status, message(&reply).as_str()), (404, "No endpoints found for openai/gpt-5-codex."));

    let off = json!({"effort": "none"});
    let reply = asked(&json!({"model": "openai/gpt-6.1-sol", "messages": messages, "reasoning": off})).await;
    assert!(message(&reply).starts_with("Reasoning is mandatory"));
    let reply =
        asked(&json!({"model": "~openai/gpt-sol-latest", "messages": messages, "reasoning": off})).await;
    assert_eq!(reply.status, 500);
    let reply = asked(&json!({"model": MODEL, "messages": messages, "max_tokens": 2_000_000_000})).await;
    assert!(message(&reply).contains("about 2000000001 tokens (1 of text input, 2000000000 in the output)"));
    let reply = asked(&json!({"model": MODEL, "messages": messages, "max_tokens": 100})).await;
    assert_eq!(reply.status, 500);
}

#[tokio::test]
async fn only_loopback_is_served() {
    let config = SimulatorConfig { address: "0.0.0.0:0".parse().unwrap(), ..SimulatorConfig::instant() };
    let error = Simulator::start(config).await.unwrap_err();
    assert_eq!(error.to_string(), "the simulator listens on loopback only, not on `0.0.0.0:0`");
    let simulator = Simulator::start(SimulatorConfig::instant()).await.unwrap();
    let reply = send(&simulator, &get(&simulator, "/api/v2/nothing")).await;
    assert_eq!(
        (reply.status, reply.text().as_str()),
        (404, r#"{"error":{"message":"Not Found","code":404}}"#)
    );
}
