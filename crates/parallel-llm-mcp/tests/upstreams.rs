//! The real program against servers by other authors, which show how others read the protocols.
//!
//! `cargo xtask ci` starts each server and passes its address; otherwise the tests are ignored. The configurations of
//! the servers are in `upstreams/`. A table has a line per seat, with every field of the report that depends on the
//! server.

use parallel_llm_testkit::{Output, Sandbox, synthesis};
use serde_json::Value;

/// The variable with the server's address, `127.0.0.1:PORT`, and the one with its only valid key.
const ADDRESS: &str = "UPSTREAM_ADDRESS";
const KEY: &str = "UPSTREAM_KEY";

const QUESTION: &str = "Why are there tides?";

#[expect(clippy::disallowed_methods, reason = "the address of a test server is no setting of the program")]
fn variable(name: &str) -> String {
    std::env::var(name).expect("`cargo xtask ci` starts the server and sets the variable")
}

/// Asks models of this server, whose prices nobody knows, with this key; the first one fuses.
fn ask(provider: &str, models: &[&str], key: &str) -> Output {
    let address = variable(ADDRESS);
    let references: Vec<String> = models.iter().map(|model| format!("{provider}:{model}")).collect();
    let sandbox = Sandbox::new(env!("CARGO_BIN_EXE_parallel-llm-mcp"));
    let call = sandbox
        .call(["ask", "--json", "--budget", "none", QUESTION])
        .settings([("synthesizer", references[0].as_str())]);
    let call = call.args(references.iter().flat_map(|reference| ["-m", reference]));
    let (name, path) = (provider.to_uppercase(), if provider == "gemini" { "v1beta" } else { "v1" });
    let call = call.env(&format!("{name}_BASE_URL"), &format!("http://{address}/{path}"));
    let output = call.env(&format!("{name}_API_KEY"), key).run();
    assert_eq!(sandbox.chats(), [], "no request goes to another server");
    sandbox.assert_nowhere(key.as_bytes());
    assert!(!output.text().contains(key) && !output.stderr.contains(key), "the key is nowhere in the output");
    output
}

/// A line for each seat, and one for the end of the run.
fn rendered(output: &Output) -> String {
    let report = output.json();
    let seats = report["answers"].as_array().expect("a report has answers");
    let seats: Vec<String> = seats.iter().map(seat).collect();
    let error = report["error"]["code"].as_str().map(|code| format!(", {code}")).unwrap_or_default();
    format!("{}\nexit {:?}: {}{error}", seats.join("\n"), output.code.unwrap_or(-1), synthesis(&report))
}

/// A seat without what differs from run to run: the port, and the id of the reply, of which only the presence counts.
fn seat(seat: &Value) -> String {
    let word = |value: &Value| value.as_str().unwrap_or("-").to_owned();
    let first = format!("{} x{} ${}", word(&seat["model"]), seat["attempts"], seat["cost_usd"]);
    if seat["status"] != "answered" {
        let message = word(&seat["error"]["message"]).replace(&variable(ADDRESS), "<server>");
        return format!("{first} {}: {message}", word(&seat["error"]["code"]));
    }
    let usage = &seat["usage"];
    format!(
        "{first} {} + {} tokens, {} by {}{}: {}",
        usage["input_tokens"],
        usage["output_tokens"],
        word(&seat["finish"]),
        word(&seat["served_model"]),
        if seat["generation_id"].is_string() { ", named" } else { "" },
        word(&seat["text"]),
    )
}

const AIMOCK: [&str; 6] =
    ["mock-plain", "mock-thinking", "mock-long", "mock-limited", "mock-broken", "mock-cut"];

#[test]
#[ignore = "needs aimock: `cargo xtask ci --only aimock`"]
fn aimock_is_understood_in_the_chat_protocol() {
    insta::assert_snapshot!(rendered(&ask("openai", &AIMOCK, &variable(KEY))), @"
    openai:mock-plain x1 $null 11 + 13 tokens, stop by mock-plain, named: The moon pulls the sea, and the far side bulges too.
    openai:mock-thinking x1 $null 11 + 21 tokens, stop by mock-thinking, named: It is gravity.
    openai:mock-long x1 $null 11 + 5 tokens, length by mock-long, named: The moon pulls the
    openai:mock-limited x3 $0.0 rate_limited: openai answered 429: Slow down.
    openai:mock-broken x3 $0.0 upstream: openai answered 500: Out of order.
    openai:mock-cut x3 $null connection: openai at <server> broke the connection: connection closed before message completed
    exit 0: partial fused by openai:mock-plain
    ");
}

#[test]
#[ignore = "needs aimock: `cargo xtask ci --only aimock`"]
fn aimock_is_understood_in_anthropics_protocol() {
    insta::assert_snapshot!(rendered(&ask("anthropic", &AIMOCK, &variable(KEY))), @"
    anthropic:mock-plain x1 $null 11 + 13 tokens, stop by mock-plain, named: The moon pulls the sea, and the far side bulges too.
    anthropic:mock-thinking x1 $null 11 + 21 tokens, stop by mock-thinking, named: It is gravity.
    anthropic:mock-long x1 $null 11 + 5 tokens, length by mock-long, named: The moon pulls the
    anthropic:mock-limited x3 $0.0 rate_limited: anthropic answered 429: Slow down.
    anthropic:mock-broken x3 $0.0 upstream: anthropic answered 500: Out of order.
    anthropic:mock-cut x3 $null connection: anthropic at <server> broke the connection: connection closed before message completed
    exit 0: partial fused by anthropic:mock-plain
    ");
}

#[test]
#[ignore = "needs aimock: `cargo xtask ci --only aimock`"]
fn aimock_is_understood_in_googles_protocol() {
    insta::assert_snapshot!(rendered(&ask("gemini", &AIMOCK, &variable(KEY))), @"
    gemini:mock-plain x1 $null 11 + 13 tokens, stop by -: The moon pulls the sea, and the far side bulges too.
    gemini:mock-thinking x1 $null 11 + 21 tokens, stop by -: It is gravity.
    gemini:mock-long x1 $null 11 + 5 tokens, length by -: The moon pulls the
    gemini:mock-limited x3 $0.0 rate_limited: gemini answered 429: Slow down.
    gemini:mock-broken x3 $0.0 upstream: gemini answered 500: Out of order.
    gemini:mock-cut x3 $null connection: gemini at <server> broke the connection: connection closed before message completed
    exit 0: partial fused by gemini:mock-plain
    ");
}

#[test]
#[ignore = "needs aimock: `cargo xtask ci --only aimock`"]
fn aimock_refuses_a_wrong_key_in_each_protocol() {
    let wrong = "0".repeat(32);
    let tables =
        ["openai", "anthropic", "gemini"].map(|provider| rendered(&ask(provider, &AIMOCK[..1], &wrong)));
    insta::assert_snapshot!(tables.join("\n"), @"
    openai:mock-plain x1 $0.0 auth: openai refused the key (401): Invalid API key
    exit 4: failed none by -, auth
    anthropic:mock-plain x1 $0.0 auth: anthropic refused the key (401): Invalid API key
    exit 4: failed none by -, auth
    gemini:mock-plain x1 $0.0 auth: gemini refused the key (401): Invalid API key
    exit 4: failed none by -, auth
    ");
}

#[test]
#[ignore = "needs LiteLLM: `cargo xtask ci --only litellm`"]
fn litellm_is_understood_in_the_chat_protocol() {
    let models = ["mock-priced", "mock-unpriced", "mock-limited", "mock-broken", "mock-too-long"];
    insta::assert_snapshot!(rendered(&ask("openai", &models, &variable(KEY))), @"
    openai:mock-priced x1 $0.00009 12 + 6 tokens, stop by mock-priced, named: The moon pulls the sea.
    openai:mock-unpriced x1 $null 13 + 4 tokens, stop by mock-unpriced, named: It is gravity.
    openai:mock-limited x3 $0.0 rate_limited: openai answered 429: litellm.RateLimitError: this is a mock rate limit error  LiteLLM: model group 'mock-limited' failed with the error above. No fallback was attempted.
    openai:mock-broken x3 $0.0 upstream: openai answered 500: litellm.InternalServerError: this is a mock internal server error  LiteLLM: model group 'mock-broken' failed with the error above. No fallback was attempted.
    openai:mock-too-long x1 $0.0 context_length: openai answered 400: litellm.ContextWindowExceededError: litellm.BadRequestError: this is a mock context window exceeded error model=mock-too-long. context_window_fallbacks=None. fallbacks=None.  Set 'context_window_fallback' - https://docs.litellm.ai/docs/routing#fallbacks  LiteLLM: model group 'mock-too-long' failed with the error above. No fallback was attempted.
    exit 0: partial fused by openai:mock-priced
    ");
}

#[test]
#[ignore = "needs LiteLLM: `cargo xtask ci --only litellm`"]
fn litellm_is_understood_in_anthropics_protocol() {
    let models = ["mock-priced", "mock-limited"];
    insta::assert_snapshot!(rendered(&ask("anthropic", &models, &variable(KEY))), @"
    anthropic:mock-priced x1 $null 2095 + 503 tokens, stop by mock-priced, named: The moon pulls the sea.
    anthropic:mock-limited x3 $0.0 rate_limited: anthropic answered 429: litellm.RateLimitError: this is a mock rate limit error  LiteLLM: model group 'mock-limited' failed with the error above. No fallback was attempted.
    exit 0: partial verbatim by anthropic:mock-priced
    ");
}
