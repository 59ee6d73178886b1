//! The request format of every provider, against a strict server: an ordinary question takes one request, one with
//! every option at most two, and an option that a provider refuses is left out of the second.

use parallel_llm_provider::Known;
use parallel_llm_testkit::simulator::{Behaviour, RecordedRequest, SimulatorConfig};
use parallel_llm_testkit::{Sandbox, each};
use serde_json::Value;

/// A model that each provider offers; servers that accept any name also accept this one.
fn model(provider: &str) -> &'static str {
    match provider {
        "openrouter" => "openai/gpt-6.1-sol",
        "anthropic" => "claude-opus-5.5",
        "gemini" => "gemini-4-argon",
        "deepseek" => "deepseek-v4-pro-0813",
        "xai" => "grok-4.7",
        "mistral" => "mistral-large-4-0",
        "moonshot" => "kimi-k3.1-pro",
        _ => "gpt-6.1-sol",
    }
}

/// The fields that not every request has, in their order on the wire, including those within `generationConfig`.
fn fields(request: &RecordedRequest) -> String {
    const EVERYWHERE: [&str; 4] = ["model", "messages", "stream", "contents"];
    let Value::Object(body) = &request.body else { return "no body".to_owned() };
    let inner = body.get("generationConfig").and_then(Value::as_object);
    let names = body.keys().chain(inner.into_iter().flat_map(|inner| inner.keys()));
    let names = names.filter(|name| !EVERYWHERE.contains(&name.as_str()) && *name != "generationConfig");
    names.cloned().collect::<Vec<_>>().join(" ")
}

/// The fields of each request that a provider received, and the result of the seat.
fn requests_to(provider: &Known, options: &[(&str, &str)], reference: &str) -> String {
    let config = SimulatorConfig { behaviour: Behaviour::instant(), ..SimulatorConfig::default() };
    let sandbox = Sandbox::with(env!("CARGO_BIN_EXE_parallel-llm-mcp"), config);
    let base_url = sandbox.simulator().base_url_of(provider.id).expect("the simulator speaks it");
    let call = sandbox
        .call(["ask", "--json", "Which of two designs is safer?"])
        .env(provider.base_url_variable, &base_url)
        .env(provider.key_variable, sandbox.simulator().api_key())
        .settings([("panel", reference)])
        .settings(options.iter().copied());
    let report = call.run().json();
    let seat = &report["answers"][0];
    let is_call = |request: &RecordedRequest| request.method == "POST";
    let requests: Vec<RecordedRequest> = sandbox.simulator().requests().into_iter().filter(is_call).collect();
    assert_eq!(seat["attempts"].as_u64(), u64::try_from(requests.len()).ok(), "{}: {report:#}", provider.id);
    let left_out = seat["without"].as_array().map_or(0, Vec::len);
    assert_eq!(left_out + 1, requests.len(), "{}: the report names what was left out: {seat}", provider.id);
    let lines: Vec<String> = requests.iter().map(|request| format!("[{}]", fields(request))).collect();
    let code = seat["error"]["code"].as_str().map(|code| format!(" {code}")).unwrap_or_default();
    format!("{:<10} {}{code} {}", provider.id, seat["status"].as_str().unwrap_or("-"), lines.join(" "))
}

fn table(options: &[(&str, &str)], suffix: &str) -> String {
    each(Known::ALL, |provider| {
        let prefix = if provider.id == "openrouter" { String::new() } else { format!("{}:", provider.id) };
        requests_to(provider, options, &format!("{prefix}{}{suffix}", model(provider.id)))
    })
    .join("\n")
}

#[test]
fn an_ordinary_question_is_one_request_everywhere() {
    insta::assert_snapshot!(table(&[], ""), @"
    openrouter answered [max_completion_tokens session_id usage]
    openai     answered [max_completion_tokens stream_options]
    anthropic  answered [max_tokens]
    gemini     answered [maxOutputTokens]
    azure      answered [max_completion_tokens stream_options]
    groq       answered [max_completion_tokens stream_options]
    deepseek   answered [max_tokens stream_options]
    xai        answered [max_completion_tokens stream_options]
    mistral    answered [max_tokens]
    together   answered [max_tokens stream_options]
    moonshot   answered [max_tokens stream_options]
    ollama     answered [max_tokens stream_options]
    lmstudio   answered [max_tokens stream_options]
    vllm       answered [max_tokens stream_options]
    ");
}

#[test]
fn an_effort_is_requested_in_the_format_of_each_provider() {
    insta::assert_snapshot!(table(&[("reasoning_effort", "high")], ""), @"
    openrouter answered [max_completion_tokens reasoning session_id usage]
    openai     answered [max_completion_tokens reasoning_effort stream_options]
    anthropic  answered [max_tokens output_config thinking]
    gemini     answered [maxOutputTokens thinkingConfig]
    azure      answered [max_completion_tokens reasoning_effort stream_options]
    groq       answered [max_completion_tokens reasoning_effort stream_options]
    deepseek   answered [max_tokens reasoning_effort stream_options thinking]
    xai        answered [max_completion_tokens reasoning_effort stream_options] [max_completion_tokens stream_options]
    mistral    answered [max_tokens]
    together   answered [max_tokens reasoning stream_options]
    moonshot   answered [max_tokens stream_options]
    ollama     answered [max_tokens reasoning_effort stream_options]
    lmstudio   answered [max_tokens reasoning_effort stream_options]
    vllm       answered [max_tokens reasoning_effort stream_options]
    ");
}

#[test]
fn thinking_is_switched_off_if_possible() {
    insta::assert_snapshot!(table(&[("reasoning_effort", "none")], ""), @"
    openrouter answered [max_completion_tokens reasoning session_id usage] [max_completion_tokens session_id usage]
    openai     answered [max_completion_tokens reasoning_effort stream_options] [max_completion_tokens stream_options]
    anthropic  answered [max_tokens thinking] [max_tokens]
    gemini     answered [maxOutputTokens thinkingConfig] [maxOutputTokens]
    azure      answered [max_completion_tokens reasoning_effort stream_options] [max_completion_tokens stream_options]
    groq       answered [max_completion_tokens reasoning_effort stream_options] [max_completion_tokens stream_options]
    deepseek   answered [max_tokens stream_options thinking]
    xai        answered [max_completion_tokens reasoning_effort stream_options] [max_completion_tokens stream_options]
    mistral    answered [max_tokens]
    together   answered [max_tokens reasoning stream_options] [max_tokens stream_options]
    moonshot   answered [max_tokens stream_options]
    ollama     answered [max_tokens reasoning_effort stream_options] [max_tokens stream_options]
    lmstudio   answered [max_tokens reasoning_effort stream_options] [max_tokens stream_options]
    vllm       answered [max_tokens reasoning_effort stream_options] [max_tokens stream_options]
    ");
}

#[test]
fn a_temperature_is_lowered_or_left_out() {
    insta::assert_snapshot!(table(&[], "@temperature=1.9"), @"
    openrouter answered [max_completion_tokens session_id temperature usage]
    openai     answered [max_completion_tokens stream_options temperature] [max_completion_tokens stream_options]
    anthropic  answered [max_tokens temperature]
    gemini     answered [maxOutputTokens temperature]
    azure      answered [max_completion_tokens stream_options temperature] [max_completion_tokens stream_options]
    groq       answered [max_completion_tokens stream_options temperature]
    deepseek   answered [max_tokens stream_options temperature]
    xai        answered [max_completion_tokens stream_options temperature]
    mistral    answered [max_tokens temperature]
    together   answered [max_tokens stream_options temperature]
    moonshot   answered [max_tokens stream_options temperature]
    ollama     answered [max_tokens stream_options temperature]
    lmstudio   answered [max_tokens stream_options temperature]
    vllm       answered [max_tokens stream_options temperature]
    ");
}

#[test]
fn privacy_and_routing_options_go_only_to_the_router() {
    let terms = [("zdr", "on"), ("data_collection", "deny"), ("session", "seat"), ("service_tier", "flex")];
    insta::assert_snapshot!(table(&terms, ""), @"
    openrouter answered [max_completion_tokens provider service_tier session_id usage]
    openai     answered [max_completion_tokens stream_options]
    anthropic  answered [max_tokens]
    gemini     answered [maxOutputTokens]
    azure      answered [max_completion_tokens stream_options]
    groq       answered [max_completion_tokens stream_options]
    deepseek   answered [max_tokens stream_options]
    xai        answered [max_completion_tokens stream_options]
    mistral    answered [max_tokens]
    together   answered [max_tokens stream_options]
    moonshot   answered [max_tokens stream_options]
    ollama     answered [max_tokens stream_options]
    lmstudio   answered [max_tokens stream_options]
    vllm       answered [max_tokens stream_options]
    ");
}
